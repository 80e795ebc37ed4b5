"""Counters and levels of this process, which monitoring reads while the process works.

Counters only increase: "edges" handled, "bytes" written, "queries" answered. Levels exist while
some work runs: "set_point" and "parallelism" of the self-tuning searches that run, both in arcs per
iteration. A level belongs to the thread that set it, and ``read`` returns the sum over all threads.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator

COUNTERS = ("edges", "bytes", "queries")
LEVELS = ("set_point", "parallelism")

_lock = threading.Lock()
_counters: dict[str, float] = dict.fromkeys(COUNTERS, 0)
_levels: dict[tuple[str, int], Callable[[], float]] = {}


def add(name: str, amount: float) -> None:
    """Add to a counter, which exists from its first use on."""
    with _lock:
        _counters[name] = _counters.get(name, 0) + amount


def set(name: str, value: float | Callable[[], float]) -> None:
    """Set this thread's share of a level: a number, or a function that returns it when read."""
    get_value = value if callable(value) else lambda: value
    with _lock:
        _levels[name, threading.get_ident()] = get_value


def clear(name: str) -> None:
    """Remove this thread's share of a level, if there is one."""
    with _lock:
        _levels.pop((name, threading.get_ident()), None)


@contextlib.contextmanager
def showing(**levels: float | Callable[[], float]) -> Iterator[None]:
    """Set levels for the length of a ``with`` block."""
    for name, value in levels.items():
        set(name, value)
    try:
        yield
    finally:
        for name in levels:
            clear(name)


def read() -> dict[str, float]:
    """Return all counters, and the levels that are set now."""
    with _lock:
        values = dict(_counters)
        for (name, _), get_value in _levels.items():
            values[name] = values.get(name, 0) + get_value()
    return values
