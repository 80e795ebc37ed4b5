"""Components by SciPy, labelled as mgraph labels them."""

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mgraph.components.component_sizes import count_sizes


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


def draw_labels(n, dtype=np.int32):
    """Labels of a large component, of pairs, and of vertices of their own."""
    random = np.random.default_rng(n)
    labels = np.arange(n, dtype=dtype)
    labels[3:][random.random(max(n - 3, 0)) < 0.4] = 3
    pairs = random.permutation(np.flatnonzero(labels > 3))[: n // 4 // 2 * 2].reshape(2, -1)
    labels[pairs.max(0)] = labels[pairs.min(0)]
    return labels


def assert_ordered(found, labels):
    """The sizes are the CPU's, the largest first, of equal ones the smaller vertex."""
    expected = count_sizes(labels)
    order = np.lexsort((expected.roots, -expected.sizes))
    assert found.by_size
    for ours, theirs in zip(found[:2], expected[:2], strict=True):
        np.testing.assert_array_equal(ours, theirs[order])
        assert ours.dtype == theirs.dtype
    assert found.summary() == expected.summary()
