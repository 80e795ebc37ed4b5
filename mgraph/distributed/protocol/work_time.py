"""The time that a cluster works on an operation, without the time in which its workers compile."""

import contextlib
import functools
import os
import time
from collections.abc import Iterator
from typing import Any

from mgraph import compilation, timings
from mgraph.distributed.protocol.broadcast import on_workers


class WorkTime:
    """seconds: of work. compiling: seconds that the slowest worker's compiler took meanwhile."""

    seconds = compiling = 0.0


def compile_times() -> tuple[float, float]:
    """Runs on a worker: its seconds of compiling, and of preparing code in any way."""
    return compilation.COMPILING.seconds, compilation.PREPARING.seconds


@contextlib.contextmanager
def work_time(client: Any) -> Iterator[WorkTime]:
    """Measure a block; the yielded object has its figures after the block.

    Workers compile at the same time, each what it needs, so the maximum of their times is
    subtracted.
    """
    result, before, began = WorkTime(), _ask_compile_times(client), time.perf_counter()
    yield result
    total = time.perf_counter() - began
    differences = [
        [now - then for now, then in zip(after, before.get(address, (0.0, 0.0)), strict=True)]
        for address, after in _ask_compile_times(client).items()
    ]
    result.compiling = max((compiling for compiling, _ in differences), default=0.0)
    preparing = max((preparing for _, preparing in differences), default=0.0)
    result.seconds = max(total - preparing, 1e-6)


def _ask_compile_times(client: Any) -> dict[str, tuple[float, float]]:
    answers = on_workers(client, compile_times)
    return {address: times for address, times in answers.items() if isinstance(times, tuple)}


def report_steps(client: Any) -> None:
    """Fetch the steps of the workers since this command's start, if its timings are reported."""
    if timings.are_workers_reported():
        answers = on_workers(client, functools.partial(_record_steps, timings.process_start()))
        own = os.getpid()
        timings.add_workers(
            steps for process, steps in filter(_is_pair, answers.values()) if process != own
        )


def _record_steps(since: float) -> tuple[int, list[timings.Step]]:
    """Runs on a worker: its process, which may be the client's, and the process's steps."""
    return os.getpid(), timings.recorded(since)


def _is_pair(answer: Any) -> bool:
    return isinstance(answer, tuple)
