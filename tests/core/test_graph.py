"""Properties of a graph: ascending rows, mirror arcs, and that they are computed once."""

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import EdgeList, Graph, UsageError
from mgraph.core import symmetry, symmetry_gpu
from mgraph.core.csr import sort_rows
from mgraph.steiner import sampling
from tests import emulator
from tests.strategies import graphs


def by_hand(indptr, indices, weights=None, directed=False):
    weights = None if weights is None else np.array(weights)
    return Graph(np.array(indptr), np.array(indices, np.int32), weights, directed)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (by_hand([0], []), True),
        (by_hand([0, 2, 3], [0, 1, 0]), True),
        (by_hand([0, 2, 3], [1, 0, 0]), False),
        (by_hand([0, 0, 2, 2], [2, 0]), False),
        (by_hand([0, 2, 2, 2], [1, 1], [3, 3]), True),
        (by_hand([0, 2, 2, 2], [1, 1], [3, 2]), False),
        (by_hand([0, 1, 2], [1, 0], [3, 2]), True),
    ],
)
def test_rows_ascend(graph, expected):
    assert graph.rows_ascend == expected
    ordered, origin = sort_rows(graph)
    assert ordered.rows_ascend
    assert (origin is None) == expected
    if origin is not None:
        np.testing.assert_array_equal(graph.indices[origin], ordered.indices)


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (by_hand([0], []), True),
        (by_hand([0, 1], [0], [5]), True),
        (by_hand([0, 1, 2], [1, 0]), True),
        (by_hand([0, 1, 2], [1, 0], [0.0, -0.0]), True),
        (by_hand([0, 1, 2], [1, 0], [1, 2]), False),
        (by_hand([0, 1, 1], [1]), False),
        (by_hand([0, 2, 3], [1, 1, 0]), False),
        (by_hand([0, 2, 4], [1, 1, 0, 0], [1, 2, 2, 1]), True),
    ],
)
def test_symmetric(monkeypatch, graph, expected):
    assert graph.symmetric == expected
    monkeypatch.setattr(symmetry, "_CHUNK_ARCS", 1)
    assert symmetry.symmetric(graph) == expected


@settings(max_examples=60, deadline=None)
@given(graph=graphs())
def test_properties_that_builders_set_are_correct(graph):
    known = graph.known
    assert known["rows_ascend"]
    same = Graph(graph.indptr, graph.indices, graph.weights, graph.directed)
    assert same.rows_ascend
    assert graph.symmetric == same.symmetric
    if not graph.directed:
        assert known["symmetric"]


@st.composite
def nearly_symmetric(draw):
    """A graph by hand that lacks an arc back, or has one too many, or one of another weight."""
    graph = draw(graphs(directed=False).filter(lambda g: bool((g.indices != tails_of(g)).any())))
    tails = tails_of(graph)
    arc = draw(st.sampled_from(np.flatnonzero(graph.indices != tails).tolist()))
    arcs = [[u, v] for u, v in zip(tails.tolist(), graph.indices.tolist(), strict=True)]
    if graph.weights is not None:
        for row, weight in zip(arcs, graph.weights.tolist(), strict=True):
            row.append(weight)
    change = draw(st.sampled_from(["drop", "double", "weigh"]))
    if change == "weigh" and graph.weights is not None:
        arcs[arc][2] += 1 + arcs[arc][2]
    elif change == "double":
        arcs.append(arcs[arc])
    else:
        del arcs[arc]
    arcs.sort(key=lambda row: row[0])
    indptr = np.searchsorted([row[0] for row in arcs], np.arange(graph.n + 1))
    columns = [np.array([row[i] for row in arcs]) for i in range(1, 3 - (graph.weights is None))]
    weights = None if graph.weights is None else columns[1].astype(graph.weights.dtype)
    return Graph(indptr, columns[0].astype(graph.indices.dtype), weights, False)


def tails_of(graph):
    return np.repeat(np.arange(graph.n), np.diff(graph.indptr))


def plain_arcs(graph):
    weights = [None] * graph.num_arcs if graph.weights is None else (graph.weights + 0.0).tolist()
    return Counter(zip(tails_of(graph).tolist(), graph.indices.tolist(), weights, strict=True))


@settings(max_examples=150, deadline=None)
@given(graph=nearly_symmetric())
def test_an_arc_without_its_mirror_is_named(graph):
    with pytest.raises(UsageError, match="An undirected graph holds both arcs") as error:
        symmetry.check_symmetric(graph)
    named = r"has (\d+) arcs? from (\d+) to (\d+)(?: of weight (\S+))? and (\w+) back"
    count, u, v, weight, back = re.search(named, str(error.value)).groups()
    arcs, ends = plain_arcs(graph), (int(u), int(v))
    found = {arc: number for arc, number in arcs.items() if arc[:2] == ends}
    if weight is not None:
        found = {a: number for a, number in found.items() if repr_of(a[2], graph) == weight}
    assert list(found.values()) == [int(count)]
    (arc,) = found
    assert arcs[ends[1], ends[0], arc[2]] == (0 if back == "none" else int(back)) < int(count)


def repr_of(weight, graph):
    return f"{graph.weights.dtype.type(weight)}"


QUESTIONS = {
    "steiner": lambda g: mgraph.steiner_tree(g, [0, 1], backend="cpu"),
    "mehlhorn": lambda g: mgraph.steiner_tree(g, [0, 1], method="mehlhorn", backend="cpu"),
    "steiner_trees": lambda g: list(mgraph.steiner_trees(g, [[0, 1]], backend="cpu")),
    "sample": lambda g: sampling.sample(g, [(2, 1)], 1),
    "forest": lambda g: mgraph.minimum_spanning_forest(g, backend="cpu"),
    "single_linkage": lambda g: mgraph.single_linkage(g, 1, backend="cpu"),
    "edges": lambda g: g.to_edges(),
    "networkx": lambda g: g.to_networkx(),
}


@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.parametrize("weights", [None, [2, 3], [0.0, 1e-320]])
def test_algorithms_refuse_an_undirected_graph_that_lacks_mirror_arcs(question, weights):
    lacks = by_hand([0, 1, 1], [1], weights and weights[:1])
    unequal = by_hand([0, 1, 2], [1, 0], weights) if weights else lacks
    for graph in (lacks, unequal):
        with pytest.raises(UsageError, match=r"has 1 arc from \d to \d.* and none back"):
            QUESTIONS[question](graph)


@pytest.mark.parametrize("name", ["g", "g.mtx", "g.graph", "g.graphml", "g.gexf", "g.stp"])
def test_no_file_is_written_of_a_graph_that_lacks_mirror_arcs(name, tmp_path):
    graph = by_hand([0, 2, 3, 3], [1, 2, 0])
    with pytest.raises(UsageError, match="has 1 arc from 0 to 2 and none back"):
        mgraph.write_graph(graph, tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_symmetry_is_computed_once(monkeypatch):
    looked = []
    monkeypatch.setattr(symmetry, "symmetric", lambda graph: not looked.append(graph))
    graph = by_hand([0, 1, 2], [1, 0], [1, 1])
    for question in QUESTIONS.values():
        question(graph)
    assert looked == [graph]
    built = mgraph.from_edges(EdgeList([0], [1]), directed=False, backend="cpu")
    QUESTIONS["forest"](built)
    assert len(looked) == 1


@pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_the_kernel_agrees_with_the_cpu(data):
    graph = data.draw(st.one_of(graphs(), nearly_symmetric()))
    total = np.zeros(1, np.uint64)
    emulator.launch(
        symmetry_gpu.KERNELS, "symmetry_sum", symmetry_gpu.defines(graph), 2, 32,
        symmetry_gpu.arguments(graph, total),
    )  # fmt: skip
    assert (total[0] == 0) == symmetry.symmetric(graph)


def test_edges_in_one_direction_are_not_symmetric():
    ends = np.array([1, 2]), np.array([0, 1])
    directed = mgraph.from_edges(EdgeList(*ends), backend="cpu")
    assert not directed.symmetric
    assert mgraph.from_edges(EdgeList(*map(np.append, ends, ends[::-1])), backend="cpu").symmetric
    assert mgraph.from_edges(EdgeList(*ends), directed=False, backend="cpu").symmetric
