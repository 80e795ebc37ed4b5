"""Processes that outlive the command that started them, and how to know them again.

A process is known by its number and the moment of its start: numbers are used again.
"""

import contextlib
import os
import subprocess
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil

_TOLERANCE = 0.05  # seconds, between two readings of the same start


@dataclass(frozen=True)
class Background:
    """A process that leads a session. started: seconds since the machine's, or 1970."""

    pid: int
    started: float

    @property
    def alive(self) -> bool:
        """Whether it runs still; one that ended and that nobody has waited for does not."""
        found = _started(self.pid)
        return found is not None and abs(found - self.started) < _TOLERANCE

    def family(self) -> list[psutil.Process]:
        """It, its children's children, and whoever else is left of its session."""
        found: set[psutil.Process] = set()
        if self.alive:
            with contextlib.suppress(psutil.Error):
                leader = psutil.Process(self.pid)
                found = {leader, *leader.children(recursive=True)}
        elif _started(self.pid) is not None:  # another process has the number by now
            return []
        for process in psutil.process_iter():
            with contextlib.suppress(OSError, psutil.Error):
                if os.getsid(process.pid) == self.pid and process.status() != "zombie":
                    found.add(process)
        return sorted(found, key=lambda process: process.pid)


def boot() -> str:
    """What differs each time that the machine starts; empty where that is not known."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""


def spawn(command: Sequence[str], environment: dict[str, str], log: str) -> Background:
    """Start a process in a session of its own, which writes to the end of ``log``."""
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
    process.returncode = 0  # nobody will wait for it, and Python need not complain
    return Background(process.pid, _started(process.pid) or 0.0)


def end(processes: Iterable[psutil.Process], seconds: float) -> None:
    """Ask processes to end, wait, and kill those that have not ended after ``seconds``."""
    left = list(processes)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    kill(wait(left, seconds))


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill processes and wait until they are gone."""
    left = list(processes)
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()
    wait(left, 5.0)


def wait(processes: Iterable[psutil.Process], seconds: float) -> list[psutil.Process]:
    """Those that run still after ``seconds``, which is cut short when none does."""
    deadline = time.monotonic() + seconds
    left = [process for process in processes if _runs(process)]
    while left and time.monotonic() < deadline:
        time.sleep(0.05)
        left = [process for process in left if _runs(process)]
    return left


def _runs(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False


def _started(pid: int) -> float | None:
    """When a process started, or None where it does not run."""
    try:
        # Its name, in parentheses, may hold anything. A clock that is set does not move this time.
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
