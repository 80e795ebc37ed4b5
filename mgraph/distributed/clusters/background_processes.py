"""Processes that outlive the command that started them, and how a later command recognizes them.

A process is recognized by its number and its start time, since the system reuses numbers.
"""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import psutil
from msgspec import Meta

_TOLERANCE = 0.05  # seconds, between two readings of the same start time


@dataclass(frozen=True)
class BackgroundProcess:
    """A process that leads a session. started: in seconds since the machine's start, or 1970."""

    pid: Annotated[int, Meta(ge=1, le=1 << 31)]
    started: Annotated[float, Meta(ge=0, lt=1 << 31)]

    @property
    def is_alive(self) -> bool:
        """Whether the process is running; a zombie is not."""
        started = _start_time(self.pid)
        return started is not None and abs(started - self.started) < _TOLERANCE

    def tree(self) -> list[psutil.Process]:
        """Return the process, its descendants, and all other processes of its session."""
        processes: set[psutil.Process] = set()
        if self.is_alive:
            with contextlib.suppress(psutil.Error):
                leader = psutil.Process(self.pid)
                processes = {leader, *leader.children(recursive=True)}
        elif _start_time(self.pid) is not None:  # another process has the number by now
            return []
        for process in psutil.process_iter():
            with contextlib.suppress(OSError, psutil.Error):
                if os.getsid(process.pid) == self.pid and process.status() != "zombie":
                    processes.add(process)
        return sorted(processes, key=lambda process: process.pid)


def boot_id() -> str:
    """Return a text that differs each time the machine starts; empty if there is none."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def spawn(command: Sequence[str], environment: dict[str, str], log: str) -> BackgroundProcess:
    """Start a process in a session of its own, which appends its output to ``log``."""
    descriptor = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        process = subprocess.Popen(
            command,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=descriptor,
            stderr=descriptor,
            start_new_session=True,
        )
    finally:
        os.close(descriptor)
    process.returncode = 0  # Python warns of a process that was not waited for
    return BackgroundProcess(process.pid, _start_time(process.pid) or 0.0)


def terminate(processes: Iterable[psutil.Process], seconds: float) -> None:
    """Ask processes to end, wait, and kill those that are still running after ``seconds``."""
    remaining = list(processes)
    for process in remaining:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    kill(wait(remaining, seconds))


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill processes and wait until they are gone."""
    remaining = list(processes)
    for process in remaining:
        with contextlib.suppress(psutil.Error):
            process.kill()
    wait(remaining, 5.0)


def wait(processes: Iterable[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Wait until no process is running; returns those that still are after ``seconds``."""
    deadline = time.monotonic() + seconds
    remaining = [process for process in processes if _is_running(process)]
    while remaining and time.monotonic() < deadline:
        time.sleep(0.05)
        remaining = [process for process in remaining if _is_running(process)]
    return remaining


def _is_running(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _start_time(pid: int) -> float | None:
    """Return when a process started, or None if no such process is running."""
    try:
        # The process's name, in parentheses, may contain anything. Unlike psutil's, this time does
        # not change when the clock is set.
        words = Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        if os.path.exists("/proc/self/stat"):
            return None
    else:
        if words[0] in "ZX":
            return None
        return int(words[19]) / os.sysconf("SC_CLK_TCK")
    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None
