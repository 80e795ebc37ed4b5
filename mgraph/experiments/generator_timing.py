"""How long a generator takes, edges kept in memory and nothing written."""

import time

from mgraph.errors import UsageError
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_model import CopyModel


def generator_seconds(
    model: CopyModel,
    part: range | None = None,
    *,
    repeats: int = 5,
    backend: str = "auto",
    threads: int | None = None,
    segments: str | int = "dynamic",
    block_threads: int = 0,
) -> list[float]:
    """Seconds of each of ``repeats`` times that a graph is made, after a first that is not told.

    part: a range of vertices instead, of a method that makes ranges. On a GPU the endpoints are
    made in memory that is there, timed by device events; on a CPU, by the clock, the endpoints of a
    method that keeps them all, and of the others what ``edges`` does, sources and checksum, too.
    threads: of a CPU; segments, block_threads: of cuppa on a GPU.
    Raises UsageError for no repeats or options of elsewhere, and what ``edges`` raises.
    """
    if part is not None and model.stores_endpoints:
        raise UsageError(f"method {model.method} makes a graph as a whole, so it has no parts")
    if repeats < 1:
        raise UsageError(f"repeats must be 1 at least, and are {repeats}")
    backend = preferential_attachment.resolve(model, backend)
    if (segments, block_threads) != ("dynamic", 0) and not (
        model.stores_endpoints and backend == "gpu"
    ):
        raise UsageError("segments and threads of a block are options of method cuppa on a GPU")
    if backend == "gpu":
        from mgraph.experiments import generator_timing_gpu

        options = (
            {"segments": segments, "block_threads": block_threads} if model.stores_endpoints else {}
        )
        return generator_timing_gpu.seconds(model, part or range(model.n), repeats, options)
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        if model.stores_endpoints:
            preferential_attachment.generate_endpoints(model, backend="cpu")
        else:
            preferential_attachment.generate_edges(model, part, backend="cpu", threads=threads)
        times.append(time.perf_counter() - began)
    return times[1:]
