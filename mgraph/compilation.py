"""The time that this process spends on compilation, and the notice of it.

Machine code is compiled in two places, ``core/compiled.py`` (Numba) and ``cuda/source.py`` (NVRTC).
Both keep it on disk, so a machine compiles once. Their time is measured here, as the time in which
at least one thread was compiling:

- ``COMPILING``: a compiler ran;
- ``PREPARING``: code was prepared, that is, compiled or read back from disk.

The first time that a compiler runs in a process, the user is notified, since it may take a minute:
by the function passed to ``set_notifier``, else by the logger ``mgraph``.
"""

import time
from collections.abc import Callable

from mgraph import timings

NOTICE = "compiling for the first use on this machine, up to a minute"
NOTIFY_IN_FORK_SERVER = "MGRAPH_TELL_COMPILING"  # a variable of the fork server's environment


def _log() -> None:
    import logging

    logging.getLogger("mgraph").warning(NOTICE)


_notify: Callable[[], None] | None = _log


def set_notifier(function: Callable[[], None] | None) -> None:
    """Call the function when a compiler first runs from now on; None: do not notify."""
    global _notify
    _notify = function


def _notify_once() -> None:
    global _notify
    notify, _notify = _notify, None
    if notify is not None:
        notify()


COMPILING = timings.clock(timings.COMPILING)
COMPILING.on_enter = _notify_once
PREPARING = timings.clock(timings.LOADING)


class Stopwatch:
    """Measures the time of work, without the time in which code was prepared.

    The time in which other threads prepare code is left out as well.
    """

    def __init__(self) -> None:
        """Start now."""
        self._began, self._prepared = time.perf_counter(), PREPARING.seconds
        self._compiled = COMPILING.seconds

    @property
    def total(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._began

    @property
    def work(self) -> float:
        """The seconds of ``total`` in which no code was prepared."""
        return max(self.total - (PREPARING.seconds - self._prepared), 1e-6)

    @property
    def compiling(self) -> float:
        """The seconds of ``total`` in which a compiler ran; 0 if the code was on disk."""
        return COMPILING.seconds - self._compiled
