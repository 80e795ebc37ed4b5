"""How many vertices each component has, on a GPU: the launches of ``component_sizes.cu``."""

import numpy as np

from mgraph.components.component_sizes import ComponentSizes
from mgraph.core import primitives_gpu
from mgraph.cuda.source import C_TYPES, Source

KERNELS = Source(
    __package__,
    "component_sizes.cu",
    check=tuple((("MGRAPH_LABEL_T", C_TYPES[label]),) for label in ("int32", "int64")),
)
MAX_N = (1 << 32) - 1


def count_sizes(labels: np.ndarray) -> ComponentSizes:
    """Count the vertices of each component, and put the largest first.

    labels: on the host, of at most ``MAX_N`` vertices. Memory of the device: 16 or 20 bytes per
    vertex, and 20 or 24 per component.
    """
    import cupy

    macros = {"MGRAPH_LABEL_T": C_TYPES[str(labels.dtype)]}
    n = np.int64(labels.size)
    counts, places = (primitives_gpu.full(labels.size, 0, np.uint32) for _ in range(2))
    KERNELS.launch("sizes_count", (cupy.asarray(labels), n, counts), **macros)
    KERNELS.launch("sizes_mark", (counts, n, places), **macros)
    primitives_gpu.accumulate(places)
    number = int(places[-1]) if labels.size else 0
    keys = cupy.empty(number, np.uint64)
    KERNELS.launch("sizes_list", (counts, places, n, keys), **macros)
    del counts, places
    keys.sort()
    roots, sizes = cupy.empty(number, labels.dtype), cupy.empty(number, np.int64)
    KERNELS.launch("sizes_unpack", (keys, np.int64(number), roots, sizes), **macros)
    return ComponentSizes(roots.get(), sizes.get(), by_size=True)
