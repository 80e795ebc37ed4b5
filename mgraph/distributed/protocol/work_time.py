"""How long a cluster works on an operation, without the time in which its workers compile."""

import contextlib
import time
from collections.abc import Iterator
from typing import Any

from mgraph import compilation
from mgraph.distributed.protocol.broadcast import on_workers


class WorkTime:
    """seconds: of the work. compiling: how long the slowest worker's compiler ran beside it."""

    seconds = compiling = 0.0


def compile_times() -> tuple[float, float]:
    """Runs on a worker: its seconds of compiling, and of making code ready in any way."""
    return compilation.COMPILING.seconds, compilation.PREPARING.seconds


@contextlib.contextmanager
def work_time(client: Any) -> Iterator[WorkTime]:
    """Measure the block: what is given has its figures once the block is over.

    Workers compile side by side, each what it needs, so the longest of their times is left out.
    """
    found, before, began = WorkTime(), _asked(client), time.perf_counter()
    yield found
    total = time.perf_counter() - began
    spent = [
        [now - then for now, then in zip(after, before.get(address, (0.0, 0.0)), strict=True)]
        for address, after in _asked(client).items()
    ]
    found.compiling = max((compiling for compiling, _ in spent), default=0.0)
    prepared = max((preparing for _, preparing in spent), default=0.0)
    found.seconds = max(total - prepared, 1e-6)


def _asked(client: Any) -> dict[str, tuple[float, float]]:
    answers = on_workers(client, compile_times)
    return {address: told for address, told in answers.items() if isinstance(told, tuple)}
