"""The front door of connected components: check the graph, choose the backend, call the method."""

from typing import Any

from mgraph.components.result import Components
from mgraph.core import backend as backends
from mgraph.core.choices import Backend
from mgraph.core.graph import Graph
from mgraph.core.symmetry import check_symmetric
from mgraph.errors import UsageError
from mgraph.io.as_graph import as_graph


def connected_components(graph: Graph | Any, *, backend: Backend = "auto") -> Components:
    """The connected components of a graph; of a directed one the weakly connected components.

    Parameters
    ----------
    graph : Graph, or what becomes one
        A path, a Dataset, a NetworkX graph, a sparse matrix, a data frame with usual column names,
        an EdgeList or an edge index of shape (2, m) is converted first. Weights do not matter.
    backend : {"auto", "cpu", "gpu"}, default "auto"
        ``auto`` stays where the graph is.

    Returns
    -------
    Components
        ``labels`` (n,), the smallest vertex of each vertex's component, and ``num_components``,
        ``roots``, ``sizes``, ``largest``, ``members()``, ``to_pandas()``, ``write(folder)``.

    Raises
    ------
    UsageError
        If an undirected graph lacks the mirror of an arc.
    DeviceError
        If ``backend="gpu"`` and there is no GPU.
    OutOfMemoryError
        If the GPU has too little memory.

    Notes
    -----
    The same labels everywhere. Work: a few random reads per vertex, and each arc outside the
    largest component; each arc of a directed graph. 4 or 8 bytes per vertex. Source: Sutton,
    Ben-Nun and Barak 2018 (Afforest). ``components_dataset`` takes datasets that do not fit into
    memory, over a cluster.

    Examples
    --------
    >>> edges = mgraph.EdgeList([1, 2, 4], [0, 1, 3])
    >>> graph = mgraph.from_edges(edges, 6, directed=False, backend="cpu")
    >>> components = mgraph.connected_components(graph)
    >>> components.num_components, components.largest
    (3, 0)
    >>> components.labels
    array([0, 0, 0, 3, 3, 5], dtype=int32)
    """
    backends.resolve(backend)
    graph = as_graph(graph, directed=False, backend=backend)
    if not graph.directed:
        check_symmetric(graph)
    if backend == "cpu" and graph.backend == "gpu":
        raise UsageError("backend is cpu but the graph is on a GPU; graph.to_cpu() copies it")
    chosen = graph.backend if backend == "auto" else backend
    labels: Any
    if chosen == "gpu":
        from mgraph.components import afforest_gpu

        labels = afforest_gpu.label_components(graph.to_gpu())
    else:
        from mgraph.components import afforest_cpu

        labels = afforest_cpu.label_components(graph.indptr, graph.indices, not graph.directed)
    return Components(labels, graph.labels)
