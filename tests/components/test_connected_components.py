"""Components of graphs in memory, and of edges in blocks, against SciPy's."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given

import mgraph
from mgraph import EdgeList, UsageError
from mgraph.components import afforest_cpu
from mgraph.components.edge_components_cpu import EdgeComponents
from mgraph.core import cancellation
from tests.components.oracles import draw_edges, labels_of, labels_of_graph
from tests.strategies import graphs


@given(graphs())
def test_the_smallest_vertex_of_each_component(graph):
    """Of a directed graph the components are the weak ones."""
    components = mgraph.connected_components(graph)
    expected = labels_of_graph(graph)
    np.testing.assert_array_equal(components.labels, expected)
    roots, sizes = np.unique(expected, return_counts=True)
    np.testing.assert_array_equal(components.roots, roots)
    np.testing.assert_array_equal(components.sizes, sizes)
    assert len(components) == components.num_components == roots.size
    assert components.largest == roots[sizes.argmax()]
    np.testing.assert_array_equal(
        components.members(), np.flatnonzero(expected == components.largest)
    )


@given(graphs())
def test_the_graph_of_a_component(graph):
    components = mgraph.connected_components(graph)
    for component in components.roots.tolist():
        members = components.members(component)
        part = components.subgraph(graph, component)
        again = mgraph.Graph(part.indptr, part.indices, part.weights, part.directed)
        assert mgraph.connected_components(again).num_components == 1
        assert list(part.labels) == members.tolist()
        assert part.max_degree <= graph.max_degree
        assert part.num_arcs == np.diff(graph.indptr)[members].sum()
        whole = graph.to_sparse().toarray()[np.ix_(members, members)]
        np.testing.assert_array_equal(part.to_sparse().toarray(), whole)


def test_labels_of_the_vertices_are_those_of_the_part():
    edges = EdgeList([0, 2, 3], [1, 3, 4])
    graph = mgraph.from_edges(edges, directed=False, backend="cpu").with_labels("abcde")
    components = mgraph.connected_components(graph)
    assert components.subgraph(graph).labels == ("c", "d", "e")
    assert components.to_pandas().label.tolist() == list("abcde")


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_rows_of_several_threads(monkeypatch, threads, dtype):
    monkeypatch.setattr(afforest_cpu, "_CHUNK_ARCS", 100)
    for seed in range(10):
        src, dst = draw_edges(seed, dtype=dtype)
        graph = mgraph.from_edges(EdgeList(src, dst), 2000, directed=False, backend="cpu")
        for is_symmetric in (False, True):
            labels = afforest_cpu.label_components(
                graph.indptr, graph.indices, is_symmetric, threads
            )
            np.testing.assert_array_equal(labels, labels_of(src, dst, 2000))


def test_a_sample_whose_root_gets_a_smaller_one():
    """Vertex 0 joins the largest component last, which is passed over all the same."""
    n = 3000
    path = np.arange(1, n - 1, dtype=np.int32)
    src, dst = np.append(path + 1, n - 1), np.append(path, 0)
    graph = mgraph.from_edges(EdgeList(src, dst), n, directed=False, backend="cpu")
    assert not mgraph.connected_components(graph).labels.any()


def test_edges_that_threads_add_at_once():
    n = 5000
    for seed in range(10):
        src, dst = draw_edges(seed, n, 6000)
        components = EdgeComponents(n)
        with ThreadPoolExecutor(8) as pool:
            blocks = [(src[i : i + 50], dst[i : i + 50]) for i in range(0, 6000, 50)]
            for added in [pool.submit(components.add, *block) for block in blocks]:
                added.result()
        np.testing.assert_array_equal(components.labels(3), labels_of(src, dst, n))


def test_a_star_that_threads_join_to_one_root():
    """Every union wants the same root's parent, which one thread at a time can set."""
    n = 200_000
    random = np.random.default_rng(1)
    src = random.permutation(np.arange(1, n))
    dst = src - random.integers(1, np.minimum(src, 50) + 1)
    components = EdgeComponents(n)
    with ThreadPoolExecutor(8) as pool:
        blocks = [(src[i::8].copy(), dst[i::8].copy()) for i in range(8)]
        for added in [pool.submit(components.add, *block) for block in blocks]:
            added.result()
    assert not components.labels(2).any()


def test_labels_of_two_halves_merge_to_those_of_all(monkeypatch):
    monkeypatch.setattr(cancellation, "CHUNK", 100)
    for seed in range(5):
        src, dst = draw_edges(seed)
        halves = []
        for half in (slice(0, 900), slice(900, None)):
            components = EdgeComponents(2000)
            components.add(src[half], dst[half])
            halves.append(components.labels(2))
        merged = EdgeComponents(2000, halves[0])
        merged.merge(halves[1], 2)
        np.testing.assert_array_equal(merged.labels(2), labels_of(src, dst, 2000))


def test_labels_that_came_over_a_network():
    """They are read-only, or begin in the middle of a word."""
    src, dst = draw_edges(1)
    components = EdgeComponents(2000)
    components.add(src[:900], dst[:900])
    labels = components.labels(1)
    read_only = labels.copy()
    read_only.setflags(write=False)
    shifted = np.frombuffer(bytearray(4 * 2000 + 1), np.uint8)[1:].view(np.int32)
    shifted[:] = labels
    assert not shifted.flags.aligned
    for received in (read_only, shifted):
        components = EdgeComponents(2000, received)
        assert components._parent.flags.aligned
        components.add(src[900:], dst[900:])
        components.merge(received, 2)
        np.testing.assert_array_equal(components.labels(1), labels_of(src, dst, 2000))
        np.testing.assert_array_equal(received, labels)


@pytest.mark.parametrize(("u", "v", "outside"), [(0, 5, 5), (-1, 0, -1), (1 << 40, 0, 1 << 40)])
def test_ends_outside_the_graph(u, v, outside):
    components = EdgeComponents(5)
    with pytest.raises(UsageError, match=rf"vertices must lie in \[0, 5\) \(got {outside:,}\)"):
        components.add(np.array([1, u]), np.array([2, v]))


def test_a_graph_without_vertices():
    graph = mgraph.Graph(np.zeros(1, np.int64), np.zeros(0, np.int32), directed=False)
    components = mgraph.connected_components(graph)
    assert str(components) == "0 components of 0 vertices"
    assert components.subgraph(graph).n == 0
    with pytest.raises(ValueError, match="without vertices"):
        _ = components.largest


def test_an_undirected_graph_without_a_mirror_arc():
    graph = mgraph.Graph(np.array([0, 1, 1]), np.array([1]), directed=False)
    with pytest.raises(UsageError, match="holds both arcs of each edge"):
        mgraph.connected_components(graph)
    with pytest.raises(UsageError, match="backend must be"):
        mgraph.connected_components(EdgeList([0], [1]), backend="tpu")


def test_cancelled():
    src, dst = draw_edges(1)
    graph = mgraph.from_edges(EdgeList(src, dst), 2000, directed=False, backend="cpu")
    with pytest.raises(cancellation.Cancelled), cancellation.cancelled_when(lambda: True):
        mgraph.connected_components(graph)


def test_components_are_written(tmp_path):
    edges = EdgeList([1, 2, 4], [0, 1, 3])
    graph = mgraph.from_edges(edges, 6, directed=False, backend="cpu").with_labels("zyxwvu")
    components = mgraph.connected_components(graph)
    components.write(tmp_path / "numbers")
    rows = pq.read_table(tmp_path / "numbers" / "part-00000.parquet").to_pydict()
    assert rows == {"vertex": [0, 1, 2, 3, 4, 5], "component": [0, 0, 0, 3, 3, 5]}
    sizes = pq.read_table(tmp_path / "numbers" / "_components.parquet").to_pydict()
    assert sizes == {"component": [0, 3, 5], "vertices": [3, 2, 1]}
    components.write(tmp_path / "names", ids="original")
    rows = pq.read_table(tmp_path / "names" / "part-00000.parquet").to_pydict()
    assert rows == {"vertex": list("zyxwvu"), "component": list("zzzwwu")}
    with pytest.raises(UsageError, match="already holds components; pass `overwrite=True`"):
        components.write(tmp_path / "names")
    components.write(tmp_path / "names", overwrite=True)
    rows = pq.read_table(tmp_path / "names" / "part-00000.parquet").to_pydict()
    assert rows["component"] == [0, 0, 0, 3, 3, 5]
