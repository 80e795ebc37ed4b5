"""Afforest on a GPU: the launches of ``afforest.cu``, which has the algorithm and its cost."""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation_gpu, csr_gpu
from mgraph.core.graph import Graph
from mgraph.core.memory import LARGER_GPU, memory_guard
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import C_TYPES, Loader, Source
from mgraph.errors import DeviceError

KERNELS = Source(
    __package__,
    "afforest.cu",
    check=tuple((("MGRAPH_VERTEX_T", C_TYPES[vertex]),) for vertex in ("int32", "int64")),
)
_BYTES_PER_VERTEX = 12  # of labels, and of the table of components


class _Memory(NamedTuple):
    """What the launches share. arguments: of all kernels."""

    parent: Any
    arguments: tuple[Any, Any]
    macros: dict[str, str]
    arrays: tuple[Any, ...]


def loaders(graph: Graph) -> list[Loader]:
    """Return a function that compiles or loads what the components of such a graph need."""
    return [KERNELS.loader(MGRAPH_VERTEX_T=C_TYPES[str(graph.indices.dtype)])]


def fits(graph: Graph) -> bool:
    """Return whether the current device takes a graph of the CPU, and has memory for it."""
    needed = graph.nbytes + _BYTES_PER_VERTEX * graph.n
    return graph.n <= csr_gpu.MAX_VERTICES and needed < free_bytes()


def label_components(graph: Graph) -> Any:
    """Return the smallest vertex of each vertex's component: CuPy int32, ``(n,)``.

    graph: on the device; if it is undirected, each arc has its mirror. Raises DeviceError for 2^31
    vertices or more.
    """
    import cupy

    if graph.n > csr_gpu.MAX_VERTICES:
        raise DeviceError(f"a GPU takes graphs of fewer than 2^31 vertices (got {graph.n:,})")
    with memory_guard(f"the components of {graph}", LARGER_GPU):
        parent = cupy.empty(graph.n, np.int32)
        if graph.n:
            _launch_all(graph, parent)
            cancellation_gpu.finish()
    return parent


def _launch_all(graph: Graph, parent: Any) -> None:
    import cupy

    macros = {"MGRAPH_VERTEX_T": C_TYPES[str(graph.indices.dtype)]}
    long_rows = cupy.empty(graph.num_arcs // KERNELS.constant("long_row", **macros) + 3, np.int32)
    rows = KERNELS.struct("rows_of_graph", None, **macros).pack(
        {
            "indptr": graph.indptr, "indices": graph.indices, "n": graph.n,
            "symmetric": int(not graph.directed),
        }
    )  # fmt: skip
    memory = KERNELS.struct("component_memory", None, **macros).pack(
        {
            "parent": parent, "sampled": long_rows[:1], "long_count": long_rows[1:2],
            "long_rows": long_rows[2:],
        }
    )  # fmt: skip
    for name in ("begin", "compress", "sample", "link", "link_long", "flatten"):
        if name == "sample":
            samples = KERNELS.constant("samples", **macros)
            KERNELS.kernel("afforest_sample", **macros)((1,), (samples,), (rows, memory))
        else:
            KERNELS.launch(f"afforest_{name}", (rows, memory), **macros)
