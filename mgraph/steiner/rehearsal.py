"""Queries on a graph of a few vertices, so that what they need is compiled before any is timed."""

from typing import Any

import numpy as np

from mgraph import timings
from mgraph.core.choices import Backend
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.cuda.source import Loader
from mgraph.steiner.groups.group_steiner_tree import BREAK_EVEN_ARCS as GROUP_BREAK_EVEN_ARCS
from mgraph.steiner.groups.group_steiner_tree import group_steiner_tree
from mgraph.steiner.steiner_tree import BREAK_EVEN_ARCS, steiner_trees, suits_star

_ENDS = (1, 2, 3, 4, 5, 5, 4, 3), (0, 1, 2, 3, 4, 0, 1, 0)
_WEIGHTS = (2, 3, 2, 3, 2, 3, 5, 4)


def rehearse(graph: Graph, num_arcs: int, **options: Any) -> None:
    """Solve queries of two and of three terminals on a small graph of the same types.

    On the backend where queries on a graph of ``num_arcs`` arcs will be solved. options: of
    ``mgraph.steiner_trees``; a time limit is ignored.
    """
    small = _small_graph(graph)
    options["method"] = _choose_method(num_arcs, options)
    options["backend"] = _choose_backend(graph.backend == "gpu", num_arcs, options)
    if graph.backend == "gpu" and options["backend"] == "gpu":
        small = small.to_gpu()
    with timings.step(timings.REHEARSING):
        for _ in steiner_trees(small, [[0, 3], [0, 2, 4]], **options | {"time_limit": None}):
            pass


def rehearse_groups(graph: Graph, backend: Backend) -> None:
    """Solve a query of three groups on a small graph of the same types, where others will be."""
    is_small = graph.num_arcs < GROUP_BREAK_EVEN_ARCS
    on_cpu = backend == "cpu" or (backend == "auto" and (is_small or graph.backend != "gpu"))
    small = _small_graph(graph)
    if graph.backend == "gpu" and not on_cpu:
        small = small.to_gpu()
    with timings.step(timings.REHEARSING):
        group_steiner_tree(small, [[0, 3], [2], [4, 5]], backend="cpu" if on_cpu else "gpu")


def _small_graph(graph: Graph) -> Graph:
    """Return a graph of a few vertices with the types of another, on the CPU."""
    src, dst = (np.array(ends, graph.indices.dtype) for ends in _ENDS)
    weight = None if graph.weights is None else np.array(_WEIGHTS, graph.weights.dtype)
    return from_edges(EdgeList(src, dst, weight), directed=False, backend="cpu")


def _choose_backend(is_on_gpu: bool, num_arcs: int, options: dict[str, Any]) -> Backend:
    if options["backend"] != "auto":
        return options["backend"]
    has_launches = _choose_method(num_arcs, options) == "star" or _is_exact(options)
    on_cpu = not is_on_gpu or not has_launches or options["search"] == "dijkstra"
    return "cpu" if on_cpu or num_arcs < BREAK_EVEN_ARCS else "gpu"


def _choose_method(num_arcs: int, options: dict[str, Any]) -> str:
    """Return STAR if auto takes it for few terminals, else the method as it is."""
    is_star = options["search"] != "auto" or suits_star(num_arcs, 2)
    return "star" if options["method"] == "auto" and is_star else options["method"]


def _is_exact(options: dict[str, Any]) -> bool:
    """Whether a GPU runs the exact search for few terminals."""
    return options["method"] == "auto" and bool(options.get("improve"))


def kernel_loaders(graph: Graph, num_arcs: int, options: dict[str, Any]) -> list[Loader]:
    """Return functions that compile or load what queries need, if a GPU will solve them.

    graph: has the types of the graph. num_arcs, options: see ``rehearse``.
    """
    from mgraph.core import primitives_gpu
    from mgraph.steiner import (
        group_lengths_gpu,
        star_gpu,
        star_initial_tree_gpu,
        star_rows_gpu,
    )
    from mgraph.steiner.groups import group_search_gpu, group_trace_gpu
    from mgraph.steiner.star_types_gpu import kernel_defines

    if _choose_backend(True, num_arcs, options) == "cpu":
        return []
    weight = "int32" if graph.weights is None else str(graph.weights.dtype)
    defines = kernel_defines(weight, "int32" if weight == "int32" else "int64")
    sources = star_gpu.KERNELS, star_initial_tree_gpu.KERNELS
    wide = kernel_defines(weight, "int64")
    rows = star_rows_gpu.KERNELS.loader(**wide)
    shared = primitives_gpu.loaders(*{"uint32", "int32", "int64", "uint64", weight})
    loaders = [*(source.loader(**defines) for source in sources), rows, *shared]
    if not _is_exact(options):
        return loaders
    lengths = group_lengths_gpu.KERNELS.loader(**wide)
    exact = [group_search_gpu.SEARCH.loader(), group_trace_gpu.KERNELS.loader(), lengths]
    return [*exact, *(loaders if _choose_method(num_arcs, options) == "star" else [])]
