"""Random graphs of NetworkX: the same edges for the same seed."""

import random
from typing import Any

import numpy as np

from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.networkx_backend.hand_back import networkx_function

MAX_NODES = 1 << 31
MAX_EDGES = 1 << 30  # whose ends NetworkX's generator draws with words of 32 bits
SMALLEST_P = 1e-15  # below it the gaps between edges need more than 64 bits


def _generator(seed: Any) -> random.Random | None:
    """Return the generator that NetworkX takes for a seed; None if it is not Python's own."""
    if seed is None or seed is random:
        return getattr(random, "_inst", None)
    if isinstance(seed, int) and not isinstance(seed, bool):
        return random.Random(seed)
    return seed if type(seed) is random.Random else None


def _graph(ends: tuple[np.ndarray, np.ndarray], n: int, directed: bool = False) -> Graph:
    return from_edges(EdgeList(*ends), n, directed=directed, backend="cpu")


def barabasi_albert_graph(
    n: Any, m: Any, seed: Any = None, initial_graph: Any = None, *, create_using: Any = None
) -> Any:
    """A graph of n nodes, each of which chooses m earlier ones in proportion to their degrees."""
    generator = _generator(seed)
    is_plain = type(n) is type(m) is int and initial_graph is None and create_using is None
    if generator is None or not is_plain or not 1 <= m < n < MAX_NODES or m * (n - m) > MAX_EDGES:
        own = networkx_function("barabasi_albert_graph")
        return own(n, m, seed, initial_graph, create_using=create_using)
    from mgraph.networkx_backend import barabasi_albert_cpu

    return _graph(barabasi_albert_cpu.draw_edges(n, m, generator), n)


def gnm_random_graph(
    n: Any, m: Any, seed: Any = None, directed: Any = False, *, create_using: Any = None
) -> Any:
    """A graph of n nodes and m different edges, all of which are equally likely."""
    generator = _generator(seed)
    is_plain = type(n) is type(m) is int and type(directed) is bool and create_using is None
    if (
        generator is None
        or not is_plain
        or not 1 < n < MAX_NODES
        or not 0 <= m <= MAX_EDGES
        or (2 * m >= n * (n - 1) * (1 + directed))
    ):
        own = networkx_function("gnm_random_graph")
        return own(n, m, seed, directed, create_using=create_using)
    from mgraph.networkx_backend import erdos_renyi_cpu

    return _graph(erdos_renyi_cpu.draw_edges(n, m, directed, generator), n, directed)


def fast_gnp_random_graph(
    n: Any, p: Any, seed: Any = None, directed: Any = False, *, create_using: Any = None
) -> Any:
    """A graph of n nodes, each two of which an edge joins with probability p."""
    generator = _generator(seed)
    is_plain = type(n) is int and type(p) is float and directed is False and create_using is None
    if (
        generator is None
        or not is_plain
        or not 1 <= n < MAX_NODES
        or not SMALLEST_P <= p < 1
        or (p * n * (n - 1) / 2 > MAX_EDGES)
    ):
        own = networkx_function("fast_gnp_random_graph")
        return own(n, p, seed, directed, create_using=create_using)
    from mgraph.networkx_backend import erdos_renyi_cpu

    return _graph(erdos_renyi_cpu.draw_likely_edges(n, p, generator), n)
