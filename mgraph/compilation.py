"""How long this process compiles, and the line that says so.

Machine code is made in two places, ``core/compiled.py`` (Numba) and ``cuda/source.py`` (NVRTC), and
kept on disk by both, so a machine compiles once. What they do is counted here, as spans of time in
which some thread was at it:

- ``COMPILING``: a compiler ran;
- ``PREPARING``: code was made ready, compiled or read back from disk.

The first time that a compiler runs, the user is told, since it may take a minute: by what
``tell_with`` was given, else by the logger ``mgraph``.
"""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator

NOTICE = "compiling (once per machine, up to a minute)"
TOLD_BY_FORK_SERVER = "MGRAPH_TELL_COMPILING"  # a variable of the fork server's environment


class Span:
    """A clock that runs while any thread is inside, and of several at once counts time once."""

    def __init__(self, entered: Callable[[], None] = lambda: None) -> None:
        """entered: called each time that a thread enters."""
        self._entered, self._lock = entered, threading.Lock()
        self._inside, self._since, self._total = 0, 0.0, 0.0

    def enter(self) -> None:
        """This thread begins; calls nest."""
        with self._lock:
            if not self._inside:
                self._since = time.perf_counter()
            self._inside += 1
        self._entered()

    def leave(self) -> None:
        """This thread is done."""
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._total += time.perf_counter() - self._since

    @property
    def running(self) -> bool:
        """Whether a thread is inside now."""
        return self._inside > 0

    @property
    def seconds(self) -> float:
        """How long it has run in this process, until now."""
        with self._lock:
            now = time.perf_counter() - self._since if self._inside else 0.0
            return self._total + now

    @contextlib.contextmanager
    def span(self) -> Iterator[None]:
        """Run for the length of a block."""
        self.enter()
        try:
            yield
        finally:
            self.leave()


def _log() -> None:
    import logging

    logging.getLogger("mgraph").warning(NOTICE)


_tell: Callable[[], None] | None = _log


def tell_with(function: Callable[[], None] | None) -> None:
    """Have the function called when a compiler first runs from now on; None: tell nobody."""
    global _tell
    _tell = function


def _tell_once() -> None:
    global _tell
    tell, _tell = _tell, None
    if tell is not None:
        tell()


COMPILING = Span(_tell_once)
PREPARING = Span()


class Stopwatch:
    """How long work takes, without the time in which its code was made ready.

    Where other threads compile meanwhile, their time is left out as well.
    """

    def __init__(self) -> None:
        """Begin."""
        self._began, self._prepared = time.perf_counter(), PREPARING.seconds
        self._compiled = COMPILING.seconds

    @property
    def total(self) -> float:
        """Seconds since it began."""
        return time.perf_counter() - self._began

    @property
    def work(self) -> float:
        """Of these, the seconds in which no code was made ready."""
        return max(self.total - (PREPARING.seconds - self._prepared), 1e-6)

    @property
    def compiling(self) -> float:
        """Of these, the seconds in which a compiler ran; 0 where code was there already."""
        return COMPILING.seconds - self._compiled
