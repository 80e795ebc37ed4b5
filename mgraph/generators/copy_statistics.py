"""Statistics of how a graph of the copy model was generated: attempts, chains, segments, queues."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

HISTOGRAM_SIZE = 1 << 16  # the last element counts all larger values, too


class Round(NamedTuple):
    """A segment of the vertices, ``first`` to ``stop - 1``, and the copies that depend on it.

    dependent: copies from vertices of the same segment, which would have to wait if all were drawn
    at once. most_dependent: the maximum of these per vertex. Both depend on the graph and the
    segments only.

    The others describe a run on a GPU and are 0 on a CPU. longest: the maximum number of vertices
    in one team's queue. waited: vertices in all queues. overflows: how often a queue had no room
    for its team's next vertices. seconds: the duration, unknown and 0 for the first round.
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
    """How a graph was generated.

    attempts[k]: the number of edges whose k-th draw was accepted, being different from the
    endpoints of lower slots. chains[k]: the number of edges whose endpoint is k draws away: the
    edge's own draw, that of the copied edge, and so on to a direct edge or the clique. Both int64,
    without the clique's edges; element 65,535 counts longer ones, too. rounds: the segments in
    order, for methods that read endpoints. teams: the number of teams with a queue on the GPU;
    block_threads: threads per block; both 0 on a CPU.
    """

    attempts: np.ndarray
    chains: np.ndarray
    rounds: tuple[Round, ...] = ()
    teams: int = 0
    block_threads: int = 0


def trim_zeros(histogram: np.ndarray) -> np.ndarray:
    """A histogram as int64, without the zeros at its end."""
    return np.trim_zeros(histogram.astype(np.int64), "b")
