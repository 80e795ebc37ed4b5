"""Statistics of a graph of the copy model on a GPU: it is made, and ``copy_statistics.cu`` counts.

Cost: the draws of each edge's chain once more; the endpoints, and 4 bytes a vertex, in device
memory.
"""

import numpy as np

from mgraph.cuda.source import Source
from mgraph.generators import cuppa_gpu, preferential_attachment_gpu
from mgraph.generators.copy_model import CopyModel
from mgraph.generators.copy_model_gpu import model_defines, model_values
from mgraph.generators.copy_statistics import MOST, CopyStatistics, Round, trimmed


def _defines(d: int, dtype: str, start: str) -> dict[str, str]:
    return model_defines(d, dtype, start) | {"MGRAPH_MOST": str(MOST)}


KERNELS = Source(
    __package__,
    "copy_statistics.cu",
    check=tuple(
        tuple(_defines(4, dtype, start).items())
        for dtype in ("int32", "int64")
        for start in ("paper", "ba")
    ),
)


def statistics(model: CopyModel, segments: str | int, block_threads: int) -> CopyStatistics:
    """See ``copy_statistics.copy_statistics``."""
    import cupy

    told: list[cuppa_gpu.QueueRound] = []
    launch = None
    if model.stores_endpoints:
        launch = cuppa_gpu.plan(model, segments, block_threads)
        dst = preferential_attachment_gpu.generate_endpoints(
            model, model.n, segments=segments, block_threads=block_threads, told=told
        )
    else:
        dst = preferential_attachment_gpu.generate_edges(model, range(model.n))[0].dst
    ends = dst[model.edges_before(model.d) :]
    attempts, chains = cupy.zeros(MOST, np.uint64), cupy.zeros(MOST, np.uint64)
    counts = cupy.zeros((2, max(1, len(told))), np.uint64)
    stops = cupy.asarray([round.stop for round in told] or [0], np.uint64)
    of_vertex = cupy.zeros(model.n - model.d if told else 1, np.uint32)
    macros = _defines(model.d, str(model.dtype), model.start)
    stored = model.n if model.stores_endpoints else model.core_vertices
    arguments = {
        "graph_launch": {
            "model": model_values(model), "count": ends.size, "ends": ends, "stored": stored,
        },
        "segment_counts": {
            "stops": stops, "segments": len(told), "dependent": counts[0],
            "most_dependent": counts[1], "of_vertex": of_vertex,
        },
        "histograms": {"attempts": attempts, "chains": chains},
    }  # fmt: skip
    packed = [KERNELS.struct(name, None, **macros).pack(arguments[name]) for name in arguments]
    KERNELS.launch("copy_statistics_count", packed, **macros)
    dependent, most_dependent = counts.get().tolist()
    rounds = tuple(
        Round(
            run.first,
            run.stop,
            dependent[i],
            most_dependent[i],
            run.longest,
            run.waited,
            run.overflows,
            run.seconds,
        )
        for i, run in enumerate(told)
    )
    histograms = trimmed(attempts.get()), trimmed(chains.get())
    if launch is None:
        return CopyStatistics(*histograms)
    return CopyStatistics(*histograms, rounds, launch.teams, launch.block_threads)
