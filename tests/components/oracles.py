"""Components by SciPy, labelled as mgraph labels them."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components


def labels_of(src, dst, n):
    """Return the smallest vertex of each vertex's component."""
    edges = coo_array((np.ones(len(src), np.int8), (src, dst)), (n, n))
    number = connected_components(edges, directed=False)[1]
    first = np.unique(number, return_index=True)[1]
    return first[number]


def labels_of_graph(graph):
    graph = graph.to_cpu()
    src = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    return labels_of(src, graph.indices, graph.n)


def draw_edges(seed, n=2000, m=1800, dtype=np.int32):
    """Return edges of many components, loops and parallel edges among them."""
    random = np.random.default_rng(seed)
    src, dst = random.integers(0, n, (2, m)).astype(dtype)
    if m:
        src[: m // 20], dst[: m // 20] = src[0], dst[0]
    dst[m // 20 : m // 10] = src[m // 20 : m // 10]
    return src, dst
