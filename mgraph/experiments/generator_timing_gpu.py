"""Run times of generators on a GPU, by device events."""

from typing import Any

import numpy as np

from mgraph.cuda.memory import free_bytes
from mgraph.generators import cuppa_gpu, cuppa_hash_gpu, preferential_attachment_gpu
from mgraph.generators.copy_model import CopyModel


def measure_seconds(
    model: CopyModel, part: range, repeats: int, options: dict[str, Any]
) -> list[float]:
    """Time generations, as ``generator_seconds`` does; options: as for ``cuppa_gpu.fill``."""
    import cupy

    if model.stores_endpoints:
        model.check_memory(model.n, free_bytes(), "this GPU")
    dst = preferential_attachment_gpu.empty_ids(model, part)
    checksum = cupy.zeros(1, np.uint64)

    def fill() -> None:
        if model.stores_endpoints:
            cuppa_gpu.fill(model, model.n, dst, **options)
        else:
            cuppa_hash_gpu.fill(model, part, None, dst, checksum)

    times = []
    for _ in range(repeats + 1):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        fill()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return times[1:]
