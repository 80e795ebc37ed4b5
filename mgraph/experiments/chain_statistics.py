"""How a graph of the copy model is made: the front door of the two counters."""

from mgraph.core.graph import MAX_N
from mgraph.core.numbers import check_integer
from mgraph.errors import UsageError
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_model import CopyModel
from mgraph.generators.copy_statistics import CopyStatistics


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
    exact = model.stores_endpoints
    backend = preferential_attachment.resolve(model, backend)
    if not exact and segments is not None:
        raise UsageError(f"method {model.method} has no segments; copy and cuppa have")
    if segments is not None and not isinstance(segments, str):
        segments = check_integer("segments", segments, 1, MAX_N)
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
