"""A set-point that follows measured power, so that a batch of searches keeps to a limit of watts.

S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm" (IPDPS
2018), find that power rises with the set-point P (figure 8), and leave the loop between the two
open, for want of a sensor (section 6). Here it is closed, by an integral controller on log2 P.
"""

import math

GAIN = 6.0  # doublings of P for a power twice the limit
MOST_UP, MOST_DOWN = 1.0, 2.0  # doublings at a time
WINDOW_SECONDS = 1.0  # between two decisions: energy counters move in steps of up to 0.1 s


class PowerGovernor:
    """Tells a set-point, and moves it by what was measured. limit: watts."""

    def __init__(self, limit: float) -> None:
        """Nothing is known before ``begin``."""
        self.limit = limit
        self._log: float | None = None
        self._joules = self._seconds = 0.0

    def begin(self, start: float, least: float, largest: float) -> None:
        """Set-points, in arcs an iteration, to begin with and to stay within; once."""
        if self._log is None:
            self._least, self._largest = math.log2(least), math.log2(max(least, largest))
            self._log = self._within(math.log2(start))

    def _within(self, log: float) -> float:
        return min(max(log, self._least), self._largest)

    @property
    def set_point(self) -> float:
        """What the next searches should aim at."""
        assert self._log is not None
        return float(2.0**self._log)

    def observe(self, joules: float, seconds: float) -> None:
        """Take what the last searches used into account, once it is enough to tell their power."""
        assert self._log is not None
        self._joules += joules
        self._seconds += seconds
        if self._seconds < WINDOW_SECONDS:
            return
        step = GAIN * (1 - self._joules / self._seconds / self.limit)
        self._log = self._within(self._log + min(max(step, -MOST_DOWN), MOST_UP))
        self._joules = self._seconds = 0.0
