"""How cuPPA deals vertices on a GPU, and what its rounds were; no edge depends on either."""

from typing import NamedTuple

import numpy as np

from mgraph.core.graph import MAX_N
from mgraph.core.numbers import check_integer
from mgraph.errors import UsageError

PARTITIONS = "round_robin", "consecutive"
MAX_GROWTH = 32  # vertices in a waiting queue


class Schedule(NamedTuple):
    """How the vertices are dealt; no edge depends on it.

    segments: ``dynamic``, ``fixed``, or the number of vertices per segment. block_threads: a
    multiple of 32, by default 256 and, above d = 32, one thread per slot (the paper's τ). places:
    of a block, by which segments are cut (C), by default 6,144 where segments are those of the
    paper. growth: of dynamic segments (f), at least 2; 0: as far as queues have room. partition:
    ``round_robin`` or ``consecutive``.
    """

    segments: str | int = "dynamic"
    block_threads: int = 0
    places: int | None = None
    growth: int = 0
    partition: str = "round_robin"

    def check(self) -> None:
        """Raise UsageError unless the options are right."""
        if self.segments not in ("dynamic", "fixed"):
            check_integer("segments, if not dynamic or fixed,", self.segments, 1, MAX_N)
        if self.places is not None:
            check_integer("places", self.places, 1, 1 << 20)
        if self.growth:
            check_integer("growth", self.growth, 2, MAX_GROWTH)
        if self.growth and self.segments != "dynamic":
            raise UsageError(f"growth belongs to dynamic segments (they are {self.segments})")
        if self.partition not in PARTITIONS:
            raise UsageError(
                f"partition must be one of {', '.join(PARTITIONS)} (got {self.partition})"
            )


class QueueRound(NamedTuple):
    """A round: its segment, vertices ``first`` to ``stop - 1``, and the queues.

    longest: the maximum number of vertices in one queue. waited: vertices in all queues. overflows:
    how often a queue had no room for its team's next vertices. These depend on the order of events.
    seconds: unknown for the first round, and 0 there.
    """

    first: int
    stop: int
    longest: int
    waited: int
    overflows: int
    seconds: float


def read_rounds(log: np.ndarray, first: int, round_log: np.dtype) -> list[QueueRound]:
    """The rounds of one rank's log; its place 0 is vertex ``first``."""
    records = log.view(round_log).ravel()
    rounds: list[QueueRound] = []
    begin, previous = first, 0
    for record in records[records["stop"] > 0]:
        stop, nanoseconds = first + int(record["stop"]), int(record["nanoseconds"])
        seconds = (nanoseconds - previous) / 1e9 if previous else 0.0
        rounds.append(
            QueueRound(
                begin,
                stop,
                longest=int(record["longest"]),
                waited=int(record["waited"]),
                overflows=int(record["overflows"]),
                seconds=seconds,
            )
        )
        begin, previous = stop, nanoseconds
    return rounds
