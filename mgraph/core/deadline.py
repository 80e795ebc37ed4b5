"""When work must end."""

import math
import threading
import time


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
