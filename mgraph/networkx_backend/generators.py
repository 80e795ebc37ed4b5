"""Random graphs of NetworkX: the same edges for the same seed."""

import random
from typing import Any

from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.networkx_backend.hand_back import networkx_function

MAX_EDGES = 1 << 30  # whose ends NetworkX's generator draws with words of 32 bits


def _generator(seed: Any) -> random.Random | None:
    """Return the generator that NetworkX takes for a seed; None if it is not Python's own."""
    if seed is None or seed is random:
        return getattr(random, "_inst", None)
    if isinstance(seed, int) and not isinstance(seed, bool):
        return random.Random(seed)
    return seed if type(seed) is random.Random else None


def barabasi_albert_graph(
    n: Any, m: Any, seed: Any = None, initial_graph: Any = None, *, create_using: Any = None
) -> Any:
    """A graph of n nodes, each of which chooses m earlier ones in proportion to their degrees."""
    generator = _generator(seed)
    is_plain = type(n) is type(m) is int and initial_graph is None and create_using is None
    if generator is None or not is_plain or not 1 <= m < n < 1 << 31 or m * (n - m) > MAX_EDGES:
        own = networkx_function("barabasi_albert_graph")
        return own(n, m, seed, initial_graph, create_using=create_using)
    from mgraph.networkx_backend.barabasi_albert_cpu import draw_edges

    return from_edges(EdgeList(*draw_edges(n, m, generator)), n, directed=False, backend="cpu")
