"""Certificates: properties that a minimum spanning forest must have, whatever the method."""

import numpy as np
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components


def components(n, src, dst):
    """The number of components, and the component of each vertex."""
    return connected_components(coo_matrix((np.ones(len(src)), (src, dst)), (n, n)), False)


def check_forest(graph, forest, sampled=50):
    """Check that a forest belongs to a graph, spans it, has no cycle, and is of minimum weight.

    Minimum weight: for a sample of the edges outside the forest, smaller edges of the forest
    already connect both ends. For graphs whose rows ascend.
    """
    graph, forest = graph.to_cpu(), forest.to_cpu()
    ids = forest.edge_id
    assert ids.dtype == np.int64
    assert (np.diff(ids) > 0).all()
    assert (forest.src > forest.dst).all()
    np.testing.assert_array_equal(graph.indices[ids], forest.dst)
    np.testing.assert_array_equal(np.searchsorted(graph.indptr, ids, "right") - 1, forest.src)
    assert forest.src.dtype == forest.dst.dtype == graph.indices.dtype
    weights = np.ones(graph.num_arcs, np.int32) if graph.weights is None else graph.weights
    np.testing.assert_array_equal(weights[ids], forest.weight)
    assert forest.weight.dtype == weights.dtype
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    count = components(graph.n, tails, graph.indices)[0]
    assert components(graph.n, forest.src, forest.dst)[0] == count
    assert len(forest) == graph.n - count  # so there is no cycle
    assert forest.components == count
    outside = np.setdiff1d(np.flatnonzero(tails > graph.indices), ids)
    for arc in np.random.default_rng(1).permutation(outside)[:sampled]:
        smaller = (forest.weight < weights[arc]) | ((forest.weight == weights[arc]) & (ids < arc))
        _, label = components(graph.n, forest.src[smaller], forest.dst[smaller])
        assert label[tails[arc]] == label[graph.indices[arc]]
