"""When work must end."""

import math
import threading
import time

from mgraph.core import cancellation


class Deadline:
    """Over after some seconds, or as soon as it is stopped, or that of which it is a part.

    It is over, too, when nobody wants the work any more of the thread that made it: then call
    ``cancellation.raise_if_cancelled`` where what is done so far would be returned.
    """

    def __init__(self, seconds: float = math.inf) -> None:
        """Begin now."""
        self._at = time.perf_counter() + seconds
        self._stopped = threading.Event()
        self._unwanted = cancellation.current_token()

    def within(self, seconds: float) -> "Deadline":
        """A part of this one: over after so many seconds, or with it."""
        part = Deadline(min(seconds, self.left))
        part._stopped, part._unwanted = self._stopped, self._unwanted
        return part

    def stop(self) -> None:
        """Be over, from any thread."""
        self._stopped.set()

    @property
    def stopped(self) -> bool:
        """Whether nobody wants the work any more, or what it is a part of."""
        return self._stopped.is_set() or self._unwanted()

    @property
    def over(self) -> bool:
        """Whether work must end."""
        return time.perf_counter() >= self._at or self.stopped

    @property
    def left(self) -> float:
        """Seconds; 0 when it is over."""
        return 0.0 if self.over else self._at - time.perf_counter()


class _Never(Deadline):
    """Over when the work of the thread that asks is not wanted."""

    def within(self, seconds: float) -> Deadline:
        """A deadline of its own."""
        return Deadline(seconds)

    @property
    def over(self) -> bool:
        """Whether work must end."""
        return cancellation.current_token()()


NEVER = _Never()
