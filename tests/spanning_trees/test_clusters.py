"""Clusters are those of SciPy's single linkage."""

import warnings

import numpy as np
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist, squareform

import mgraph
from mgraph import EdgeList
from mgraph.errors import UsageError


def points(n=60, seed=1):
    return np.random.default_rng(seed).normal(size=(n, 2))


def complete(position):
    n = len(position)
    src, dst = np.tril_indices(n, -1)
    weight = squareform(pdist(position))[src, dst]
    return mgraph.from_edges(EdgeList(src, dst, weight), n, directed=False, backend="cpu")


def same_partition(ours, theirs):
    assert len(set(zip(ours, theirs, strict=True))) == len(set(ours)) == len(set(theirs))


@pytest.mark.parametrize("k", [1, 2, 5, 30, 60])
def test_k_clusters(k):
    position = points()
    labels = mgraph.clusters(complete(position), k)
    same_partition(labels, fcluster(linkage(position, "single"), k, "maxclust"))
    assert labels.dtype == np.int32
    order = np.unique(labels, return_index=True)[1]
    assert (np.diff(order) > 0).all()


@pytest.mark.parametrize("distance", [0, 0.1, 0.3, 10])
def test_clusters_at_a_distance(distance):
    position = points(seed=2)
    graph = complete(position)
    labels = mgraph.clusters(graph, distance=distance)
    same_partition(labels, fcluster(linkage(position, "single"), distance, "distance"))
    forest = mgraph.minimum_spanning_forest(graph)
    np.testing.assert_array_equal(mgraph.clusters(forest, distance=distance), labels)


def test_components_are_clusters():
    src, dst = np.array([1, 2, 5, 6]), np.array([0, 1, 4, 5])
    edges = EdgeList(src, dst, np.array([1, 9, 5, 5]))
    graph = mgraph.from_edges(edges, 8, directed=False, backend="cpu")
    assert mgraph.clusters(graph, 4).tolist() == [0, 0, 0, 1, 2, 2, 2, 3]
    assert mgraph.clusters(graph, 5).tolist() == [0, 0, 1, 2, 3, 3, 3, 4]
    assert mgraph.clusters(graph, 6).tolist() == [0, 0, 1, 2, 3, 3, 4, 5]
    with pytest.raises(UsageError, match=r"k must lie in \[4, 8\]"):
        mgraph.clusters(graph, 3)
    with pytest.raises(UsageError, match=r"k must lie in \[4, 8\]"):
        mgraph.clusters(graph, 9)
    with pytest.raises(UsageError, match="k, a number of clusters, or a distance"):
        mgraph.clusters(graph)


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"distance": np.nan}, "distance must be a number, and is nan"),
        ({"distance": 10**400}, r"distance must be below 2\^1023, or infinite"),
        ({"distance": "1"}, "distance must be a number, and is '1'"),
        ({"k": 2.5}, "k must be a whole number, and is 2.5"),
        ({"k": "3"}, "k must be a whole number, and is '3'"),
        ({"k": 2, "method": "prim"}, "method and backend are for a graph, and this is its forest"),
    ],
)
def test_wrong_questions(asked, message):
    graph = complete(points(5))
    with pytest.raises(UsageError, match=message):
        mgraph.clusters(mgraph.minimum_spanning_forest(graph), **asked)


@pytest.mark.parametrize(
    ("dtype", "weight", "distance", "count"),
    [
        ("int64", 2**53 + 1, 2**53, 2),
        ("int64", 2**53 + 1, 2**53 + 1, 1),
        ("int64", 2**53 + 1, np.inf, 1),
        ("int32", 3, 2.9, 2),
        ("int32", 3, -(10**12), 2),
        ("int32", 3, 1e300, 1),
        ("float32", 0.1, 0.1, 2),  # a float32 of 0.1 is above a float64 of it
        ("float32", 0.1, 1e300, 1),
        ("float32", 0.1, -np.inf, 2),
    ],
)
def test_distances_are_compared_exactly(dtype, weight, distance, count):
    edges = EdgeList(np.array([1]), np.array([0]), np.array([weight], dtype))
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert mgraph.clusters(graph, distance=distance).max() + 1 == count


def test_without_vertices():
    none = np.empty(0, np.int32)
    graph = mgraph.from_edges(EdgeList(none, none), 0, directed=False, backend="cpu")
    assert mgraph.clusters(graph, 0).shape == (0,)
