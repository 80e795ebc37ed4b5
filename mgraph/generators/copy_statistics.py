"""What a generator of the copy model does to make a graph: draws, chains, segments, queues."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mgraph.core.graph import MAX_N
from mgraph.errors import UsageError
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_model import CopyModel, whole_number

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


def copy_statistics(
    model: CopyModel,
    *,
    backend: str = "auto",
    segments: str | int | None = None,
    block_threads: int = 0,
) -> CopyStatistics:
    """Make a graph in memory and tell how it was made.

    backend: auto, cpu or gpu. segments: of the methods copy and cuppa; how many vertices each
    segment has; on a GPU also ``dynamic``, the default, and ``fixed``. block_threads: on a GPU, a
    multiple of 32; by default the generator's own. Cost beside making it: the draws of each edge's
    whole chain, with those refused; memory as for ``edges``, on a GPU for endpoints alone.
    Raises UsageError for ``ba``, which draws among edges, and for options that the method or
    backend lacks; and what ``edges`` raises.
    """
    if model.method == "ba":
        raise UsageError("method ba has no copies to tell of; the others have")
    exact = model.whole
    backend = preferential_attachment.resolve(model, backend)
    if not exact and segments is not None:
        raise UsageError(f"method {model.method} has no segments; copy and cuppa have")
    if segments is not None and not isinstance(segments, str):
        segments = whole_number("segments", segments, 1, MAX_N)
    if backend == "gpu":
        from mgraph.generators import copy_statistics_gpu

        return copy_statistics_gpu.statistics(model, segments or "dynamic", block_threads)
    if isinstance(segments, str) or block_threads:
        raise UsageError(
            "on a CPU segments is a number of vertices, and there are no threads of a block; "
            "the others are of a GPU"
        )
    from mgraph.generators import copy_statistics_cpu

    return copy_statistics_cpu.statistics(model, segments)


def trimmed(histogram: np.ndarray) -> np.ndarray:
    """Without the zeros at its end, as int64."""
    return np.trim_zeros(histogram.astype(np.int64), "b")
