"""Statistics of a graph of the copy model on a GPU: it is generated, and its draws are counted.

Cost: the draws of each edge's chain once more. Device memory: the endpoints, and 4 bytes per
vertex.
"""

import functools
from typing import NamedTuple

import numpy as np

from mgraph.cuda.declarations import StructType
from mgraph.cuda.source import Source
from mgraph.generators import cuppa_gpu, preferential_attachment_gpu
from mgraph.generators.copy_model import CopyModel
from mgraph.generators.copy_model_gpu import model_defines, model_values
from mgraph.generators.copy_statistics import HISTOGRAM_SIZE, CopyStatistics, Round, trim_zeros
from mgraph.generators.cuppa_schedule import QueueRound, Schedule


def _defines(d: int, dtype: str, start: str) -> dict[str, str]:
    return model_defines(d, dtype, start) | {"MGRAPH_HISTOGRAM_SIZE": str(HISTOGRAM_SIZE)}


KERNELS = Source(
    __package__,
    "copy_statistics.cu",
    check=tuple(
        tuple(_defines(4, dtype, start).items())
        for dtype in ("int32", "int64")
        for start in ("paper", "ba")
    ),
)


class Declared(NamedTuple):
    """The arguments that ``copy_statistics.cu`` declares."""

    graph_launch: StructType
    segment_counts: StructType
    histograms: StructType


@functools.cache
def _read_declarations(d: int, dtype: str, start: str) -> Declared:
    """Read the kernel's source, once per variant."""
    macros = _defines(d, dtype, start)
    return Declared(
        graph_launch=KERNELS.struct("graph_launch", None, **macros),
        segment_counts=KERNELS.struct("segment_counts", None, **macros),
        histograms=KERNELS.struct("histograms", None, **macros),
    )


def statistics(model: CopyModel, segments: str | int, block_threads: int) -> CopyStatistics:
    """Generate a graph and count its draws; see ``chain_statistics.copy_statistics``."""
    import cupy

    queue_rounds: list[QueueRound] = []
    launch = None
    if model.stores_endpoints:
        launch = cuppa_gpu.plan(model, Schedule(segments, block_threads))
        dst = preferential_attachment_gpu.generate_endpoints(
            model, model.n, segments=segments, block_threads=block_threads, rounds=queue_rounds
        )
    else:
        dst = preferential_attachment_gpu.generate_edges(model, range(model.n))[0].dst
    ends = dst[model.edges_before(model.d) :]
    attempts, chains = cupy.zeros(HISTOGRAM_SIZE, np.uint64), cupy.zeros(HISTOGRAM_SIZE, np.uint64)
    counts = cupy.zeros((2, max(1, len(queue_rounds))), np.uint64)
    stops = cupy.asarray([round.stop for round in queue_rounds] or [0], np.uint64)
    of_vertex = cupy.zeros(model.n - model.d if queue_rounds else 1, np.uint32)
    stored = model.n if model.stores_endpoints else model.core_vertices
    variant = model.d, str(model.dtype), model.start
    declared = _read_declarations(*variant)
    arguments = (
        declared.graph_launch.pack(
            {"model": model_values(model), "count": ends.size, "ends": ends, "stored": stored}
        ),
        declared.segment_counts.pack(
            {
                "stops": stops,
                "segments": len(queue_rounds),
                "dependent": counts[0],
                "most_dependent": counts[1],
                "of_vertex": of_vertex,
            }
        ),
        declared.histograms.pack({"attempts": attempts, "chains": chains}),
    )
    KERNELS.launch("copy_statistics_count", arguments, **_defines(*variant))
    dependent, most_dependent = counts.get().tolist()
    rounds = tuple(
        Round(
            queued.first,
            queued.stop,
            dependent[i],
            most_dependent[i],
            queued.longest,
            queued.waited,
            queued.overflows,
            queued.seconds,
        )
        for i, queued in enumerate(queue_rounds)
    )
    histograms = trim_zeros(attempts.get()), trim_zeros(chains.get())
    if launch is None:
        return CopyStatistics(*histograms)
    return CopyStatistics(*histograms, rounds, launch.teams, launch.block_threads)
