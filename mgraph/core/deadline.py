"""When work must end, and what ctrl-C does meanwhile."""

import contextlib
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any


class Deadline:
    """Over after some seconds, or as soon as it is stopped, or that of which it is a part."""

    def __init__(self, seconds: float = math.inf) -> None:
        """Begin now."""
        self._at = time.perf_counter() + seconds
        self._stopped = threading.Event()

    def within(self, seconds: float) -> "Deadline":
        """A part of this one: over after so many seconds, or with it."""
        part = Deadline(min(seconds, self.left))
        part._stopped = self._stopped
        return part

    def stop(self) -> None:
        """Be over, from any thread."""
        self._stopped.set()

    @property
    def over(self) -> bool:
        """Whether work must end."""
        return self._stopped.is_set() or time.perf_counter() >= self._at

    @property
    def left(self) -> float:
        """Seconds; 0 when it is over."""
        return 0.0 if self.over else self._at - time.perf_counter()


NEVER = Deadline()


@contextlib.contextmanager
def interrupted_later(then: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold ctrl-C back until the block is over, for what must not be left half done.

    That is what Dask starts, since it cannot close it half started, and imports and Numba's code:
    extension modules lose a KeyboardInterrupt, or crash. then: called at once, so that the block
    ends sooner. Where ctrl-C is ignored, or in a thread that does not get it, as is.
    """
    before = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or before in (signal.SIG_IGN, None):
        yield
        return
    held: list[int] = []

    def hold(number: int, frame: Any) -> None:
        if held:  # a second one comes through
            raise KeyboardInterrupt
        held.append(number)
        if then is not None:
            then()

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    except Exception:  # perhaps of a worker that was interrupted, too
        if not held:
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        raise KeyboardInterrupt
