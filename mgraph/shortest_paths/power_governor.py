"""A set-point that follows measured power, so that a batch of searches keeps to a limit in watts.

S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm" (IPDPS
2018), find that power rises with the set-point P (figure 8), and leave the loop between the two
open, for lack of a sensor (section 6). Here it is closed, by an integral controller on log2 P.
Where even a small P takes more than the limit, each further halving halves the duty cycle instead.

A busy H200 takes a few watts less for half the P, or a hundred less for half the duty cycle. So the
gain is small enough for the second, and doubles with each decision that did not go far enough.
"""

GAIN, MAX_GAIN = 1.44, 32.0  # doublings per relative error; 1 / ln 2 would be proportional
CLOSE = 0.01  # relative error below which the gain does not grow
MAX_RISE, MAX_FALL = 1.0, 2.0  # doublings per decision
MAX_LEVEL, MIN_SET_POINT_LEVEL, MIN_LEVEL = 2.0, -4.0, -8.0  # log2 of P over the default, see below
WINDOW_SECONDS = 1.0  # between two decisions: energy counters move in steps of up to 0.1 s


class PowerGovernor:
    """Decides how hard to work, from what was measured. limit: watts.

    Its one state is a level: log2 of the set-point over the default one. Below MIN_SET_POINT_LEVEL
    the set-point stays, and the duty cycle falls. searches_per_group: kept for its user, how many
    searches of each group the next launch should have.
    """

    def __init__(self, limit: float) -> None:
        """Begin with the default set-point."""
        self.limit, self.searches_per_group = limit, 1
        self._level = self._joules = self._seconds = 0.0
        self._gain, self._last_error = GAIN, 0.0

    @property
    def set_point_factor(self) -> float:
        """The set-point that the next searches should aim at, over the default one."""
        return float(2.0 ** max(self._level, MIN_SET_POINT_LEVEL))

    @property
    def duty_cycle(self) -> float:
        """The share of the time that searches should run; they should pause for the rest."""
        return float(2.0 ** min(self._level - MIN_SET_POINT_LEVEL, 0))

    def observe(self, joules: float, seconds: float) -> None:
        """Take into account what the last searches used, pauses included.

        It decides once their time suffices to measure power.
        """
        self._joules += joules
        self._seconds += seconds
        if self._seconds < WINDOW_SECONDS:
            return
        error = 1 - self._joules / self._seconds / self.limit
        is_too_slow = error * self._last_error > 0 and abs(error) > CLOSE
        self._gain = min(2 * self._gain, MAX_GAIN) if is_too_slow else GAIN
        level = self._level + min(max(self._gain * error, -MAX_FALL), MAX_RISE)
        if (self._level - MIN_SET_POINT_LEVEL) * (level - MIN_SET_POINT_LEVEL) < 0:
            level, error = MIN_SET_POINT_LEVEL, 0.0  # pauses begin or end: start again from there
        self._last_error = error
        self._level = min(max(level, MIN_LEVEL), MAX_LEVEL)
        self._joules = self._seconds = 0.0
