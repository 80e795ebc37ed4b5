"""Statistics of how a graph of the copy model is generated: the front door of the two counters."""

from mgraph.core.choices import Backend
from mgraph.core.graph import MAX_N
from mgraph.core.numbers import check_integer
from mgraph.errors import UsageError
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_model import CopyModel
from mgraph.generators.copy_statistics import CopyStatistics


def copy_statistics(
    model: CopyModel,
    *,
    backend: Backend = "auto",
    segments: str | int | None = None,
    block_threads: int = 0,
) -> CopyStatistics:
    """Generate a graph in memory and count its attempts, chains and dependent copies.

    backend: auto, cpu or gpu. segments: the number of vertices per segment, for methods copy and
    cuppa; on a GPU also ``dynamic`` (default) or ``fixed``. block_threads: on a GPU, a multiple of
    32; by default that of the generator. Cost in addition to the generation: all draws of each
    edge's chain, rejected ones included. Memory: as for ``CopyModel.edges``; on a GPU for the
    endpoints alone.
    Raises UsageError for method ``ba``, which has no copies, and for options that do not apply to
    the method or backend; and what ``CopyModel.edges`` raises.
    """
    if model.method == "ba":
        raise UsageError("method ba has no copies to count; use another method")
    backend = preferential_attachment.resolve(model, backend)
    if not model.stores_endpoints and segments is not None:
        raise UsageError(f"method {model.method} has no segments; copy and cuppa have")
    if segments is not None and not isinstance(segments, str):
        segments = check_integer("segments", segments, 1, MAX_N)
    if backend == "gpu":
        from mgraph.generators import copy_statistics_gpu

        return copy_statistics_gpu.statistics(model, segments or "dynamic", block_threads)
    if isinstance(segments, str) or block_threads:
        raise UsageError(
            "on a CPU segments must be a number of vertices, and block_threads does not apply"
        )
    from mgraph.generators import copy_statistics_cpu

    return copy_statistics_cpu.statistics(model, segments)
