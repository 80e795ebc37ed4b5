"""Graphs of NetworkX as arrays: compiled code reads what Python's loops read."""

import collections
import sys

import networkx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.networkx_backend import converted, dicts_cpu
from mgraph.networkx_backend.converted import ConvertedGraph
from mgraph.networkx_backend.hand_back import HandBack
from tests.networkx_backend.strategies import graphs

HOWS = "compiled", "interpreted"


def read(graph, how, monkeypatch):
    """Rows, reversed rows and weights, or why they are not read, and which compiled code read."""
    complete = []

    def watch(name):
        read = getattr(dicts_cpu, name)

        def call(*args):
            result = read(*args)
            complete.extend([name] if result is not None else [])
            return result

        return call

    with monkeypatch.context() as patch:
        patch.setattr(converted, "COMPILED_FROM_ARCS", 0 if how == "compiled" else 1 << 60)
        for name in ("read_integers", "read_numbers", "read_values"):
            patch.setattr(dicts_cpu, name, watch(name))
        own = ConvertedGraph(graph)
        arrays = [*own.rows, *own.reversed_rows]
        if not graph.is_multigraph():
            try:
                arrays.append(own.edge_weights("weight"))
            except HandBack as why:
                arrays.append(np.array([ord(letter) for letter in str(why)]))
    return arrays, complete


def check(graph, monkeypatch):
    """That both ways read the same; return what compiled code has read."""
    (ours, complete), (expected, none) = (read(graph, how, monkeypatch) for how in HOWS)
    assert not none
    for each, other in zip(ours, expected, strict=True):
        assert each.dtype == other.dtype
        np.testing.assert_array_equal(each, other)
    return complete


@given(graphs())
@settings(deadline=None)
def test_any_graph_is_read_the_same(graph):
    with pytest.MonkeyPatch.context() as patch:
        check(graph, patch)


@given(
    st.lists(st.tuples(st.integers(-3, 40), st.integers(-3, 40)), max_size=60),
    st.sampled_from([lambda i: i, lambda i: i * 10**6, str, lambda i: i << 50]),
    st.sampled_from([int, float, np.int64, np.float64, lambda i: i > 20]),
    st.sampled_from([networkx.Graph, networkx.DiGraph]),
)
@settings(deadline=None)
def test_nodes_and_weights_of_one_type_are_read_by_compiled_code(edges, node, weight, kind):
    graph = kind()
    for i, (u, v) in enumerate(edges):
        graph.add_edge(node(u), node(v), weight=weight(i))
    with pytest.MonkeyPatch.context() as patch:
        complete = check(graph, patch)
    assert complete.count("read_values") == 1
    assert len(complete) == 3 if graph.is_directed() else len(complete) == 2


class Odd(int):
    """An integer of another type."""


@pytest.mark.parametrize(
    "weights",
    [
        [1, 2.5], [1.5, None], [1 << 63, 1], [-(1 << 63), 1], [1 << 64, 1.5], [Odd(3), 1], ["3", 1],
        [np.int32(3), 1], [np.float32(3), 1.0], [True, False], [True, 2.5], [np.int64(5), 7],
        [float("nan"), float("-inf")], [(1 << 31) - 1, -1], [1 << 31, -1], [None, None],
    ],
)  # fmt: skip
def test_odd_weights(weights, monkeypatch):
    graph = networkx.path_graph(4)
    for (u, v), weight in zip(graph.edges, weights, strict=False):
        graph[u][v]["weight"] = weight
    check(graph, monkeypatch)


@pytest.mark.parametrize(
    "edges",
    [
        [(1, 2), (1.0, 3), (True, 4)],  # equal nodes of three types
        [(Odd(1), 2), (2, 3)],
        [("a", 1), (1, 2.5)],
        [("a", 1), (1, "b")],
        [((1, 2), "a")],
        [(0, 1 << 70), (1 << 70, 5)],
        [(-(1 << 63), (1 << 63) - 1)],
        [(b"a", b"b")],
        [(np.int64(0), np.int64(1))],
    ],
)
def test_odd_nodes(edges, monkeypatch):
    check(networkx.Graph(edges), monkeypatch)
    check(networkx.DiGraph(edges), monkeypatch)


def test_other_mappings_and_changed_graphs_are_not_read():
    graph = networkx.path_graph(5)
    networkx.set_edge_attributes(graph, 3, "weight")
    edges = np.array([True, True, False, True, False, True, False, False])
    assert dicts_cpu.read_values(graph._adj, edges, "weight").tolist() == [3, 3, 3, 3]
    assert dicts_cpu.read_integers(graph._adj, 8).tolist() == [1, 0, 2, 1, 3, 2, 4, 3]
    for arcs in (0, 7, 9):  # of a graph that has changed since its arcs were counted
        assert dicts_cpu.read_integers(graph._adj, arcs) is None
        assert dicts_cpu.read_values(graph._adj, np.ones(arcs, bool), "weight") is None
    assert dicts_cpu.read_numbers(graph._adj, 8, {0: 0, 1: 1}) is None
    graph._adj[0][1] = collections.UserDict(weight=3)
    assert dicts_cpu.read_values(graph._adj, edges, "weight") is None
    graph._adj[0] = collections.OrderedDict(graph._adj[0])
    assert dicts_cpu.read_integers(graph._adj, 8) is None


def test_a_python_whose_objects_lie_elsewhere_reads_by_loops(monkeypatch):
    monkeypatch.setattr(dicts_cpu, "knows_objects", lambda: False)
    graph = networkx.path_graph(5)
    assert read(graph, "compiled", monkeypatch)[1] == []


def test_references_are_not_counted():
    weight, node = 12345.5, "a node"
    graph = networkx.Graph([(node, 1, {"weight": weight})])
    before = sys.getrefcount(weight), sys.getrefcount(node)
    for _ in range(10):
        dicts_cpu.read_numbers(graph._adj, 2, {node: 0, 1: 1})
        dicts_cpu.read_values(graph._adj, np.array([True, False]), "weight")
    assert (sys.getrefcount(weight), sys.getrefcount(node)) == before


class Key(str):
    """A key of attributes whose comparison is Python's own affair."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        raise ValueError("compared")


def test_keys_of_other_types_are_left_to_python(monkeypatch):
    graph = networkx.path_graph(4)
    networkx.set_edge_attributes(graph, 3, "weight")
    graph[1][2].clear()
    graph[1][2][Key("weight")] = 5
    assert dicts_cpu.read_values(graph._adj, np.ones(6, bool), "weight") is None
    monkeypatch.setattr(converted, "COMPILED_FROM_ARCS", 0)
    with pytest.raises(ValueError, match="compared"):
        networkx.minimum_spanning_tree(graph, backend="mgraph")


def test_a_name_that_is_equal_but_another_str(monkeypatch):
    graph = networkx.path_graph(4)
    networkx.set_edge_attributes(graph, 3, "".join(["wei", "ght"]))
    graph[0][1]["colour"] = "red"
    name = "".join(["weig", "ht"])
    edges = np.array([True, False] * 3)
    assert dicts_cpu.read_values(graph._adj, edges, name).tolist() == [3, 3, 3]


@pytest.mark.parametrize("middle", [1 << 63, -(1 << 63)])
def test_nodes_at_the_limits_of_64_bits(middle, monkeypatch):
    nodes = [middle + 10 - i for i in range(20)]
    check(networkx.path_graph(nodes), monkeypatch)
    check(networkx.empty_graph(nodes), monkeypatch)
    assert dicts_cpu.read_integers(networkx.path_graph(nodes)._adj, 38) is None


@pytest.mark.parametrize("how", HOWS)
def test_graphs_that_were_changed_by_hand_are_handed_back(how, monkeypatch):
    monkeypatch.setattr(converted, "COMPILED_FROM_ARCS", 0 if how == "compiled" else 1 << 60)

    def lead_nowhere(graph):
        graph._adj[5][10**8] = {}

    def remove_nodes(graph):
        for node in range(20, 80):
            del graph._adj[node], graph._node[node]

    def reorder(graph):
        graph._adj[3] = graph._adj.pop(3)

    for change in (lead_nowhere, remove_nodes, reorder):
        for nodes in (range(100), range(1, 101), map(str, range(100))):
            graph = networkx.path_graph(nodes)
            try:
                change(graph)
            except KeyError:
                continue
            with pytest.raises(HandBack):
                _ = ConvertedGraph(graph).rows
