"""Time limits of work, which also end when the work is cancelled."""

import math
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from mgraph.compilation import PREPARING
from mgraph.core import cancellation


def _now() -> float:
    """Return the time without that in which code was prepared."""
    return time.perf_counter() - PREPARING.seconds


class Deadline:
    """A time limit: over after some seconds, after ``stop``, or when the work is cancelled.

    Time in which code is compiled or loaded does not count. The work is that of the thread that
    made the deadline. Where a result of unfinished work would be returned, call
    ``cancellation.raise_if_cancelled`` first.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        """Start the clock now."""
        self._at = _now() + seconds
        self._stop_event = threading.Event()
        self._is_cancelled = cancellation.current_token()

    def within(self, seconds: float) -> "Deadline":
        """Return a deadline that is over after so many seconds, or together with this one."""
        part = Deadline(min(seconds, self.remaining))
        part._stop_event, part._is_cancelled = self._stop_event, self._is_cancelled
        return part

    def stop(self) -> None:
        """End the deadline now, from any thread."""
        self._stop_event.set()

    @property
    def is_stopped(self) -> bool:
        """Whether ``stop`` was called or the work is cancelled."""
        return self._stop_event.is_set() or self._is_cancelled()

    @property
    def is_over(self) -> bool:
        """Whether work must end."""
        return _now() >= self._at or self.is_stopped

    @property
    def remaining(self) -> float:
        """The remaining seconds; 0 when it is over."""
        return 0.0 if self.is_over else max(self._at - _now(), 0.0)

    @contextmanager
    def raising_flag(self) -> Iterator[np.ndarray]:
        """A (1,) uint8 array for compiled code: 0 until the deadline is over, and 1 from then on.

        A thread watches the deadline until the block ends.
        """
        flag, has_ended = np.zeros(1, np.uint8), threading.Event()

        def watch() -> None:
            while not self.is_over:
                if has_ended.wait(min(cancellation.POLL_SECONDS, self.remaining)):
                    return
            flag[0] = 1

        watcher = threading.Thread(target=watch, daemon=True, name="mgraph-deadline")
        watcher.start()
        try:
            yield flag
        finally:
            has_ended.set()
            watcher.join()


class _Never(Deadline):
    """No time limit: over only when the work of the current thread is cancelled."""

    def within(self, seconds: float) -> Deadline:
        """Return a new deadline."""
        return Deadline(seconds)

    @property
    def is_over(self) -> bool:
        """Whether work must end."""
        return cancellation.current_token()()


NEVER = _Never()
