"""Run times of generators, with the edges in memory."""

import time
from typing import Any

from mgraph.core.choices import Backend
from mgraph.errors import UsageError
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_model import CopyModel


def generator_seconds(
    model: CopyModel,
    part: range | None = None,
    *,
    repeats: int = 5,
    backend: Backend = "auto",
    threads: int | None = None,
    **schedule: Any,
) -> list[float]:
    """Time ``repeats`` generations of a graph, after a warm-up; return the seconds of each.

    part: a range of vertices instead of all, for a method that can generate parts. On a GPU the
    endpoints are written to memory that was allocated before, timed by device events. On a CPU the
    wall clock times the endpoints alone for a method that stores them all, and otherwise
    ``CopyModel.edges``, with sources and checksum. threads: on a CPU. schedule: for cuppa on a GPU,
    of ``cuppa_schedule.Schedule``: segments, block_threads, places, growth, partition.
    Raises UsageError for repeats below 1 or options that do not apply, and what
    ``CopyModel.edges`` raises.
    """
    if part is not None and model.stores_endpoints:
        raise UsageError(f"method {model.method} cannot generate a part by itself; leave part out")
    if repeats < 1:
        raise UsageError(f"repeats must be at least 1 (got {repeats})")
    backend = preferential_attachment.resolve(model, backend)
    if schedule and not (model.stores_endpoints and backend == "gpu"):
        raise UsageError(f"{' and '.join(schedule)} apply to method cuppa on a GPU")
    if backend == "gpu":
        from mgraph.experiments import generator_timing_gpu

        return generator_timing_gpu.measure_seconds(
            model, part or range(model.n), repeats, schedule
        )
    times = []
    for _ in range(repeats + 1):
        began = time.perf_counter()
        if model.stores_endpoints:
            preferential_attachment.generate_endpoints(model, backend="cpu", threads=threads)
        else:
            preferential_attachment.generate_edges(model, part, backend="cpu", threads=threads)
        times.append(time.perf_counter() - began)
    return times[1:]
