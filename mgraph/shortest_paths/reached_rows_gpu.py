"""The rows of a search on a GPU: the vertices that it reached, ascending, with their distances."""

from typing import Any

import numpy as np

from mgraph.core import primitives_gpu
from mgraph.cuda.source import C_TYPES, Loader, Source
from mgraph.shortest_paths.length_types_gpu import key_dtype
from mgraph.shortest_paths.problem import infinity_of

_WORDS = (C_TYPES["int32"], C_TYPES["int64"])

KERNELS = Source(
    __package__,
    "reached_rows.cu",
    check=tuple(
        (("MGRAPH_KEY_T", key), ("MGRAPH_VERTEX_T", vertex)) for key in _WORDS for vertex in _WORDS
    ),
)


def loader(length: str) -> Loader:
    """Return a function that compiles or loads the kernels for distances of this type."""
    key = C_TYPES[str(key_dtype(np.dtype(length)))]
    return KERNELS.loader(MGRAPH_KEY_T=key, MGRAPH_VERTEX_T=C_TYPES["int32"])


class _Distances:
    """The distances of a search as the kernels take them. vertex: the type of vertices."""

    def __init__(self, distance: Any, vertex: Any = np.int32) -> None:
        self.dtype = np.dtype(distance.dtype)
        self.key = key_dtype(self.dtype)
        infinity = np.array(infinity_of(self.dtype)).view(self.key)[()]
        self.arguments = distance.view(self.key), np.int64(distance.size)
        self.infinity, self._vertex = infinity, np.dtype(vertex)

    def launch(self, name: str, *arguments: Any) -> None:
        types = self.key, self._vertex
        names = ("MGRAPH_KEY_T", "MGRAPH_VERTEX_T")
        macros = {macro: C_TYPES[str(dtype)] for macro, dtype in zip(names, types, strict=True)}
        KERNELS.launch(name, arguments, **macros)


def summarize(distance: Any) -> tuple[int, int | float]:
    """Return how many vertices were reached, and the greatest distance; wait for the search.

    distance: ``(n,)``, on the device.
    """
    import cupy

    keys, result = _Distances(distance), cupy.zeros(2, np.uint64)
    keys.launch("reached_summarize", *keys.arguments, keys.infinity, result[:1], result[1:])
    count, greatest = result.get()
    return int(count), greatest.astype(keys.key).view(keys.dtype).item()


def list_rows(
    distance: Any, predecessor: Any, count: int, dtype: Any = np.int32, first: int = 0
) -> list[Any]:
    """Return the columns vertex, distance and, unless None, predecessor.

    distance, predecessor: of the vertices from ``first`` on, on the device. count: of those that
    were reached. dtype: of vertices, also of predecessor.
    """
    import cupy

    keys = _Distances(distance, dtype)
    through: Any = 0
    if count < distance.size:
        through = cupy.empty(distance.size, np.uint32)
        keys.launch("reached_flag", *keys.arguments, keys.infinity, through)
        primitives_gpu.accumulate(through)
    columns = [cupy.empty(count, dtype), cupy.empty(count, keys.dtype)]
    if predecessor is not None:
        columns.append(cupy.empty(count, dtype))
    vertex, distances, *predecessors = columns
    keys.launch(
        "reached_list",
        keys.arguments[0],
        0 if predecessor is None else predecessor,
        *(keys.arguments[1], keys.infinity, through, np.int64(first)),
        *(vertex, distances.view(keys.key)),
        *(predecessors or [0]),
    )
    return columns
