"""What a generator of the copy model does to make a graph: draws, chains, segments, queues."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

MOST = 1 << 16  # draws of a slot, or of a chain, that are told apart


class Round(NamedTuple):
    """A segment of the vertices, ``first`` to ``stop - 1``, and what waited in it.

    dependent: copies from a vertex of the same segment, those that would wait if all were drawn at
    once; most_dependent: of one vertex, at most. They depend on the graph and the segments alone.
    The others are those of a run on a GPU, and 0 on a CPU. longest: vertices that waited in one
    team's queue, at most; waited: in all; overflows: how often a queue had no room for what its
    team would work on next; seconds: how long it took, unknown and 0 of the first round.
    """

    first: int
    stop: int
    dependent: int
    most_dependent: int
    longest: int = 0
    waited: int = 0
    overflows: int = 0
    seconds: float = 0.0


@dataclass(frozen=True)
class CopyStatistics:
    """How a graph was made.

    attempts[k]: slots that drew k times, until their endpoint was none of a lower slot's.
    chains[k]: edges whose endpoint is k draws away: the slot's own, its source's, and so on to a
    direct edge or the clique. Both int64, without the clique's edges; element 65,535 counts what is
    longer, too. rounds: of methods that read endpoints, the segments in order. teams: how many had
    a queue on the GPU; block_threads: threads of a block; both 0 on a CPU.
    """

    attempts: np.ndarray
    chains: np.ndarray
    rounds: tuple[Round, ...] = ()
    teams: int = 0
    block_threads: int = 0


def trimmed(histogram: np.ndarray) -> np.ndarray:
    """Without the zeros at its end, as int64."""
    return np.trim_zeros(histogram.astype(np.int64), "b")
