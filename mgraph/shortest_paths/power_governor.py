"""A set-point that follows measured power, so that a batch of searches keeps to a limit of watts.

S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path algorithm" (IPDPS
2018), find that power rises with the set-point P (figure 8), and leave the loop between the two
open, for want of a sensor (section 6). Here it is closed, by an integral controller on log2 P.
Where even a small P takes more than the limit, each further halving is one of the time at work.

An H200 at work takes a few watts less for half the P, or a hundred less for half the time. So the
gain is small enough for the second, and doubles with each decision that did not go far enough.
"""

GAIN, MOST_GAIN = 1.44, 32.0  # doublings for a power of twice the limit; 1 / ln 2 for proportional
NEAR = 0.01  # of the limit: no reason to hurry
MOST_UP, MOST_DOWN = 1.0, 2.0  # doublings at a time
LARGEST, LEAST, LEAST_BUSY = 2.0, -4.0, -8.0  # log2 of P over the default; at last, of the work
WINDOW_SECONDS = 1.0  # between two decisions: energy counters move in steps of up to 0.1 s


class PowerGovernor:
    """Tells how hard to work, and moves that by what was measured. limit: watts.

    rounds: for its user, how many searches of each group the next launch should have.
    """

    def __init__(self, limit: float) -> None:
        """Begin with the default set-point."""
        self.limit, self.rounds = limit, 1
        self._log = self._joules = self._seconds = 0.0
        self._gain, self._lacking = GAIN, 0.0

    @property
    def factor(self) -> float:
        """The set-point that the next searches should aim at, over the default one."""
        return float(2.0 ** max(self._log, LEAST))

    @property
    def busy(self) -> float:
        """The share of the time that they should take; they should pause for the rest."""
        return float(2.0 ** min(self._log - LEAST, 0))

    def observe(self, joules: float, seconds: float) -> None:
        """Take what the last searches used into account, pauses included.

        It moves once that is enough to tell their power.
        """
        self._joules += joules
        self._seconds += seconds
        if self._seconds < WINDOW_SECONDS:
            return
        lacking = 1 - self._joules / self._seconds / self.limit
        too_slow = lacking * self._lacking > 0 and abs(lacking) > NEAR
        self._gain = min(2 * self._gain, MOST_GAIN) if too_slow else GAIN
        moved = self._log + min(max(self._gain * lacking, -MOST_DOWN), MOST_UP)
        if (self._log - LEAST) * (moved - LEAST) < 0:  # pauses begin or end: begin anew from there
            moved, lacking = LEAST, 0.0
        self._lacking = lacking
        self._log = min(max(moved, LEAST_BUSY), LARGEST)
        self._joules = self._seconds = 0.0
