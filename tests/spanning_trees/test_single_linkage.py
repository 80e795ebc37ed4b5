"""Clusters are those of SciPy's single linkage, and convert to tables."""

import warnings

import numpy as np
import pyarrow.parquet as pq
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
    clustering = mgraph.single_linkage(complete(position), k)
    labels = clustering.labels
    assert len(clustering) == clustering.num_clusters == k
    assert clustering.sizes.sum() == len(position)
    same_partition(labels, fcluster(linkage(position, "single"), k, "maxclust"))
    assert labels.dtype == np.int32
    order = np.unique(labels, return_index=True)[1]
    assert (np.diff(order) > 0).all()


@pytest.mark.parametrize("distance", [0, 0.1, 0.3, 10])
def test_clusters_at_a_distance(distance):
    position = points(seed=2)
    graph = complete(position)
    labels = mgraph.single_linkage(graph, distance=distance).labels
    same_partition(labels, fcluster(linkage(position, "single"), distance, "distance"))
    forest = mgraph.minimum_spanning_forest(graph)
    of_forest = mgraph.single_linkage(forest, distance=distance).labels
    np.testing.assert_array_equal(of_forest, labels)


def test_components_are_clusters():
    src, dst = np.array([1, 2, 5, 6]), np.array([0, 1, 4, 5])
    edges = EdgeList(src, dst, np.array([1, 9, 5, 5]))
    graph = mgraph.from_edges(edges, 8, directed=False, backend="cpu")
    expected = {
        4: [0, 0, 0, 1, 2, 2, 2, 3],
        5: [0, 0, 1, 2, 3, 3, 3, 4],
        6: [0, 0, 1, 2, 3, 3, 4, 5],
    }
    assert {k: mgraph.single_linkage(graph, k).labels.tolist() for k in expected} == expected
    with pytest.raises(UsageError, match=r"k must lie in \[4, 8\]"):
        mgraph.single_linkage(graph, 3)
    with pytest.raises(UsageError, match=r"k must lie in \[4, 8\]"):
        mgraph.single_linkage(graph, 9)
    with pytest.raises(UsageError, match=r"either k, .* or distance \(got neither\)"):
        mgraph.single_linkage(graph)
    with pytest.raises(UsageError, match=r"either k, .* or distance \(got both\)"):
        mgraph.single_linkage(graph, 4, distance=1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"distance": np.nan}, r"distance must be a number \(got nan\)"),
        ({"distance": 10**400}, r"distance must be infinite or at most 2\^1023 in magnitude"),
        ({"distance": "1"}, r"distance must be a number \(got '1'\)"),
        ({"k": 2.5}, r"k must be an integer \(got 2.5\)"),
        ({"k": "3"}, r"k must be an integer \(got '3'\)"),
        ({"k": 2, "method": "prim"}, "method and backend apply to a Graph; leave them out"),
    ],
)
def test_wrong_options_are_refused(options, message):
    graph = complete(points(5))
    with pytest.raises(UsageError, match=message):
        mgraph.single_linkage(mgraph.minimum_spanning_forest(graph), **options)


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
        assert mgraph.single_linkage(graph, distance=distance).num_clusters == count


def test_without_vertices():
    none = np.empty(0, np.int32)
    graph = mgraph.from_edges(EdgeList(none, none), 0, directed=False, backend="cpu")
    clustering = mgraph.single_linkage(graph, 0)
    assert clustering.labels.shape == (0,)
    assert clustering.num_clusters == 0
    assert repr(clustering) == "Clustering(0 clusters of 0 vertices)"
    assert clustering.to_arrow().num_rows == len(clustering.to_pandas()) == 0


def test_conversions(tmp_path):
    edges = EdgeList([1, 2, 4], [0, 1, 3], [1, 5, 2])
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    clustering = mgraph.single_linkage(graph, 3)
    assert repr(clustering) == "Clustering(3 clusters of 5 vertices, the largest of 2, 2, 1)"
    assert str(mgraph.single_linkage(complete(points()), 60)).endswith("1, 1, 1, 1, 1, …")
    assert clustering.to_cpu() is clustering
    assert clustering.sizes.tolist() == [2, 1, 2]
    columns = {"vertex": [0, 1, 2, 3, 4], "cluster": [0, 0, 1, 2, 2]}
    assert clustering.to_arrow().to_pydict() == columns
    assert clustering.to_pandas().to_dict("list") == columns
    clustering.write(tmp_path / "folder" / "clusters.parquet")
    table = pq.read_table(tmp_path / "folder" / "clusters.parquet")
    assert table.to_pydict() == columns
    assert [str(kind) for kind in table.schema.types] == ["int64", "int32"]
