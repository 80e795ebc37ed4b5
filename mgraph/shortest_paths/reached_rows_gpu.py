"""The rows of a search on a GPU: the vertices that it reached, ascending, with their distances."""

from typing import Any

import numpy as np

from mgraph.core import primitives_gpu
from mgraph.cuda.source import C_TYPES, Loader, Source
from mgraph.shortest_paths.length_types_gpu import key_dtype
from mgraph.shortest_paths.problem import infinity_of

_KEYS = (C_TYPES["int32"], C_TYPES["int64"])

KERNELS = Source(
    __package__, "reached_rows.cu", check=tuple((("MGRAPH_KEY_T", key),) for key in _KEYS)
)


def loader(length: str) -> Loader:
    """Return a function that compiles or loads the kernels for distances of this type."""
    return KERNELS.loader(MGRAPH_KEY_T=C_TYPES[str(key_dtype(np.dtype(length)))])


class _Distances:
    """The distances of a search as the kernels take them."""

    def __init__(self, distance: Any) -> None:
        self.dtype = np.dtype(distance.dtype)
        self.key = key_dtype(self.dtype)
        infinity = np.array(infinity_of(self.dtype)).view(self.key)[()]
        self.arguments = distance.view(self.key), np.int64(distance.size)
        self.infinity = infinity

    def launch(self, name: str, *arguments: Any) -> None:
        KERNELS.launch(name, arguments, MGRAPH_KEY_T=C_TYPES[str(self.key)])


def summarize(distance: Any) -> tuple[int, int | float]:
    """Return how many vertices were reached, and the greatest distance; wait for the search.

    distance: ``(n,)``, on the device.
    """
    import cupy

    keys, result = _Distances(distance), cupy.zeros(2, np.uint64)
    keys.launch("reached_summarize", *keys.arguments, keys.infinity, result[:1], result[1:])
    count, greatest = result.get()
    return int(count), greatest.astype(keys.key).view(keys.dtype).item()


def list_rows(distance: Any, predecessor: Any, count: int) -> list[Any]:
    """Return the columns vertex (int32), distance and, unless None, predecessor (int32).

    distance, predecessor: ``(n,)``, on the device. count: of the vertices that were reached.
    """
    import cupy

    keys = _Distances(distance)
    through: Any = 0
    if count < distance.size:
        through = cupy.empty(distance.size, np.uint32)
        keys.launch("reached_flag", *keys.arguments, keys.infinity, through)
        primitives_gpu.accumulate(through)
    columns = [cupy.empty(count, np.int32), cupy.empty(count, keys.dtype)]
    if predecessor is not None:
        columns.append(cupy.empty(count, np.int32))
    vertex, distances, *predecessors = columns
    keys.launch(
        "reached_list",
        keys.arguments[0],
        0 if predecessor is None else predecessor,
        *(keys.arguments[1], keys.infinity, through, vertex, distances.view(keys.key)),
        *(predecessors or [0]),
    )
    return columns
