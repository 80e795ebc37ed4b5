"""The time that a cluster works on an operation, without the time in which its workers compile."""

import functools
import os
import time
from typing import Any, NamedTuple

from mgraph import compilation, timings
from mgraph.distributed.protocol.broadcast import on_workers


class CompileTimes(NamedTuple):
    """Seconds of a worker: of compiling, and of preparing code in any way."""

    compiling: float
    preparing: float


class WorkTime:
    """The time of an operation, as far as workers do not compile.

    Workers compile at the same time, each what it needs, so that the longest of their times is left
    out. To ask them takes some milliseconds, and is done once at either end if nothing is prepared.
    """

    def __init__(self, client: Any) -> None:
        """Begin."""
        self._client = client
        self._first = self._before = _ask_compile_times(client)
        self._began, self.seconds, self.compiling = time.perf_counter(), 0.0, 0.0

    def begin_work(self, *, is_first: bool) -> None:
        """Begin to count ``seconds``. is_first: whether the workers have done nothing so far."""
        if not is_first:
            self._before = _ask_compile_times(self._client)
        self._began = time.perf_counter()

    def end(self) -> None:
        """Set ``seconds``, of work, and ``compiling``, seconds of the slowest compiler."""
        total, now = time.perf_counter() - self._began, _ask_compile_times(self._client)
        self.compiling = _longest(self._first, now).compiling
        self.seconds = max(total - _longest(self._before, now).preparing, 1e-6)


def compile_times() -> tuple[float, float]:
    """Runs on a worker: its seconds of compiling, and of preparing code in any way."""
    return compilation.COMPILING.seconds, compilation.PREPARING.seconds


def _ask_compile_times(client: Any) -> dict[str, CompileTimes]:
    answers = on_workers(client, compile_times)
    return {address: CompileTimes(*times) for address, times in answers.items() if _is_pair(times)}


def _longest(before: dict[str, CompileTimes], now: dict[str, CompileTimes]) -> CompileTimes:
    """Return the longest of the workers' times between two answers."""
    differences = [
        [end - begin for end, begin in zip(times, before.get(address, (0.0, 0.0)), strict=True)]
        for address, times in now.items()
    ]
    return CompileTimes(*map(max, zip([0.0, 0.0], *differences, strict=True)))


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
