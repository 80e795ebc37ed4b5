"""A result as tables, arrays of the CPU, a trace file and a line of text."""

import dataclasses
import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph.errors import StorageError, UsageError
from mgraph.shortest_paths.trace import read_trace
from tests.strategies import graphs


def path_graph(weights=(7, 2), labels=None, dtype=np.int32):
    """0 -> 1 -> 2, and vertex 3 that no arc leads to."""
    edges = mgraph.EdgeList([0, 1], [1, 2], np.array(weights, dtype))
    return mgraph.from_edges(edges, 4, backend="cpu").with_labels(labels)


def search(graph, source, **options):
    return mgraph.sssp(graph, source, backend="cpu", **options)


def test_a_table_of_one_search_has_a_row_per_reached_vertex():
    paths = search(path_graph(), 0, predecessors=True)
    frame = paths.to_pandas()
    assert frame.columns.tolist() == ["vertex", "distance", "predecessor"]
    assert frame.to_numpy().tolist() == [[0, 0, -1], [1, 7, 0], [2, 9, 1]]
    assert frame["distance"].dtype == paths.distance.dtype
    assert frame["predecessor"].dtype == paths.predecessor.dtype
    columns = {"vertex": [0, 1, 2], "distance": [0, 7, 9], "predecessor": [-1, 0, 1]}
    assert paths.to_arrow().to_pydict() == columns
    assert search(path_graph(), 1).to_pandas().columns.tolist() == ["vertex", "distance"]


def test_a_table_of_several_searches_names_their_sources():
    paths = search(path_graph((0.5, 0.25), dtype=np.float64), [2, 0, 2])
    columns = {
        "source": [2, 0, 0, 0, 2],
        "vertex": [2, 0, 1, 2, 2],
        "distance": [0.0, 0.0, 0.5, 0.75, 0.0],
    }
    assert paths.to_arrow().to_pydict() == columns
    assert paths.to_pandas().to_dict("list") == columns


def test_a_joint_search_is_one_search():
    paths = search(path_graph(), [1, 3], joint=True)
    assert paths.to_arrow().to_pydict() == {"vertex": [1, 2, 3], "distance": [0, 2, 0]}


@pytest.mark.parametrize(
    ("labels", "in_arrow"),
    [
        (["a", "b", "c", "d"], ["a", "b", "c"]),
        ([10, 20, 30, 40], [10, 20, 30]),
        ([1, "b", None, 2.5], ["1", "b", "None"]),
        ([2**80, 1, 2, 3], [str(2**80), "1", "2"]),
    ],
)
def test_tables_have_the_labels(labels, in_arrow):
    paths = search(path_graph(labels=labels), 0)
    frame, table = paths.to_pandas(), paths.to_arrow()
    assert frame.columns.tolist() == table.column_names == ["vertex", "label", "distance"]
    assert frame["label"].tolist() == labels[:3]
    assert table["label"].to_pylist() == in_arrow


def test_labels_that_are_tuples_stay_one_column():
    labels = [(0, 0), (0, 1), (1, 0), (1, 1)]
    paths = search(path_graph(labels=labels), 0)
    assert paths.to_pandas()["label"].tolist() == labels[:3]
    assert paths.to_arrow()["label"].to_pylist() == [[0, 0], [0, 1], [1, 0]]


def test_a_result_on_the_cpu_is_its_own_copy():
    paths = search(path_graph(), [0, 1], predecessors=True)
    assert paths.to_cpu() is paths
    assert isinstance(paths.distance, np.ndarray)
    assert isinstance(paths.predecessor, np.ndarray)


@pytest.mark.parametrize(
    ("source", "options", "text"),
    [
        (0, {}, "source=0, n=4, int32 distances, dijkstra on cpu"),
        ([1, 2, 0], {"predecessors": True}, "3 sources, n=4, int32 distances, predecessors, dijk"),
        ([1, 2], {"joint": True}, "joint sources, n=4, int32 distances, dijkstra on cpu"),
        (1, {"trace": True}, "source=1, n=4, int32 distances, trace, self_tuning on cpu"),
    ],
)
def test_a_result_tells_what_it_holds(source, options, text):
    assert repr(search(path_graph(), source, **options)).startswith(f"ShortestPaths({text}")
    assert ", labels, " in repr(search(path_graph(labels="abcd"), 0))


def test_a_result_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        search(path_graph(), 0).distance = None


def test_a_trace_is_written_and_read(tmp_path):
    paths = search(path_graph(), 0, trace=True)
    paths.write_trace(tmp_path / "new" / "trace.parquet")
    assert read_trace(tmp_path / "new" / "trace.parquet").tolist() == paths.trace.tolist()
    with pytest.raises(StorageError):
        paths.write_trace(tmp_path)
    with pytest.raises(UsageError, match=r"needs a traced search; pass `trace=True`"):
        search(path_graph(), 0).write_trace(tmp_path / "none.parquet")


def test_labels_of_several_searches_are_refused():
    with pytest.raises(UsageError, match=r"by_label takes the result of one search \(got 2"):
        search(path_graph(), [0, 1]).by_label()


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_paths_lead_along_arcs_of_these_weights(data):
    graph = data.draw(graphs(dtypes=("int32", "float64", None), most=12))
    if graph.n == 0:
        return
    several = data.draw(st.booleans())
    sources = data.draw(st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=3))
    paths = mgraph.sssp(graph, sources if several else sources[0], predecessors=True, backend="cpu")
    search = data.draw(st.integers(0, len(sources) - 1)) if several else 0
    distance = paths.distance.reshape(-1, graph.n)[search]
    arcs = {}
    rows = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    weights = np.ones(graph.num_arcs, np.int64) if graph.weights is None else graph.weights
    for u, v, weight in zip(rows.tolist(), graph.indices.tolist(), weights.tolist(), strict=True):
        arcs[u, v] = min(weight, arcs.get((u, v), weight))
    for target in range(graph.n):
        if distance[target] == paths.infinity:
            with pytest.raises(UsageError, match="is not reached"):
                paths.path(target, search=search)
            continue
        path = paths.path(target, search=search)
        steps = path.vertices.tolist()
        assert (steps[0], steps[-1]) == (sources[search], target)
        np.testing.assert_array_equal(path.distance, distance[steps])
        assert path.labels is None
        assert len(set(steps)) == len(steps)
        for u, v in itertools.pairwise(steps):
            assert distance[u] + arcs[u, v] == distance[v]


def test_a_path_by_labels_and_what_it_refuses():
    graph = path_graph(labels=["a", "b", "c", "d"])
    paths = mgraph.sssp(graph, 0, predecessors=True, backend="cpu")
    path = paths.path("c")
    assert path.labels == ("a", "b", "c")
    assert (path.vertices.tolist(), path.distance.tolist()) == ([0, 1, 2], [0, 7, 9])
    for target, words in ((2, "no vertex 2"), ("x", "no vertex 'x'"), ("d", "'d' is not reached")):
        with pytest.raises(UsageError, match=words):
            paths.path(target)
    with pytest.raises(UsageError, match=r"search must lie in \[0, 1\) \(got 1\)"):
        paths.path("c", search=1)
    with pytest.raises(UsageError, match="`predecessors=True`"):
        mgraph.sssp(graph, 0, backend="cpu").path("c")
