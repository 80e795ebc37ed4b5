"""Timeouts that a setting changes: ``mgraph.distributed``, which reads settings, assigns them."""

from collections.abc import Callable


def _default() -> float:
    return 60.0


store_seconds: Callable[[], float] = _default
