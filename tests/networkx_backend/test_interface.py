"""Conversion, the cache, when the backend is taken, and graphs of mgraph given to NetworkX."""

import collections
import copy
import pickle
import subprocess
import sys

import networkx
import numpy as np
import pytest

import mgraph
from mgraph import EdgeList
from mgraph.networkx_backend.converted import ConvertedGraph
from mgraph.networkx_backend.info import FUNCTIONS, MODULES
from mgraph.networkx_backend.interface import backend
from tests.networkx_backend.strategies import CLASSES, random_graph


@pytest.fixture(autouse=True)
def quiet():
    """No warning that a converted graph is used again."""
    known = set(networkx.config.warnings_to_ignore)
    networkx.config.warnings_to_ignore = known | {"cache"}
    yield
    networkx.config.warnings_to_ignore = known


@pytest.fixture
def preferred():
    priority = networkx.config.backend_priority.algos
    networkx.config.backend_priority = ["mgraph"]
    yield
    networkx.config.backend_priority = priority


def is_read(graph):
    return bool(graph.__networkx_cache__.get("backends", {}).get("mgraph"))


@pytest.mark.usefixtures("preferred")
def test_large_graphs_are_read_once_and_small_ones_never():
    large, small = random_graph(), random_graph(30, 60)
    for graph in (large, small):
        networkx.minimum_spanning_tree(graph)
    assert (is_read(large), is_read(small)) == (True, False)
    first = backend.convert_from_nx(large)
    networkx.single_source_dijkstra(large, 0)
    assert backend.convert_from_nx(large) is first
    large.add_edge(0, 1, weight=0)
    assert not is_read(large)
    assert networkx.single_source_dijkstra_path_length(large, 0)[1] == 0


@pytest.mark.usefixtures("preferred")
def test_searches_between_two_nodes_are_networkxs_until_the_graph_is_read():
    graph = random_graph()
    networkx.has_path(graph, 0, 1)
    networkx.shortest_path(graph, 0, 1)
    networkx.shortest_path(graph, 0, 1, weight="weight")
    assert not is_read(graph)
    networkx.shortest_path(graph, 0, weight="weight")
    assert is_read(graph)


def test_functions_that_do_not_pay_say_why():
    graph = networkx.path_graph(5)
    for name in sorted(FUNCTIONS.keys() - MODULES["generators"].keys()):
        reason = backend.should_run(name, (graph, 0, 1), {})
        assert isinstance(reason, str), name
        assert name in reason


def test_views_and_subclasses():
    class Named(networkx.Graph):
        pass

    graph = Named(random_graph(40, 80))
    view = graph.subgraph(range(25))
    tree = networkx.minimum_spanning_tree(graph, backend="mgraph")
    assert type(tree) is Named
    for each in (view, networkx.restricted_view(graph, [3], [(0, 1)])):
        ours = networkx.minimum_spanning_tree(each, backend="mgraph")
        assert ours.edges == networkx.minimum_spanning_tree(each).edges
        ours = networkx.single_source_shortest_path(each, 0, backend="mgraph")
        assert ours == networkx.single_source_shortest_path(each, 0)


@pytest.mark.parametrize("labels", [None, list("abcdef")])
@pytest.mark.parametrize("weight", [None, [4, 1, 3, 2, 9, 5]])
def test_a_graph_of_mgraph(labels, weight):
    edges = EdgeList([0, 0, 1, 2, 3, 1], [1, 2, 2, 3, 4, 4], weight)
    graph = mgraph.from_edges(edges, 6, directed=False, backend="cpu").with_labels(labels)
    same = graph.to_networkx()
    nodes = labels or list(range(6))
    tree = networkx.minimum_spanning_tree(graph)
    assert isinstance(tree, mgraph.Graph)
    assert tree.num_edges == 4
    assert tree.labels == graph.labels
    expected = networkx.minimum_spanning_tree(same)
    assert tree.to_networkx().size("weight") == expected.size("weight")
    assert list(networkx.connected_components(graph)) == list(networkx.connected_components(same))
    for name in ("single_source_dijkstra_path_length", "single_source_shortest_path_length"):
        function = getattr(networkx, name)
        assert function(graph, nodes[1]) == function(same, nodes[1])
    assert networkx.single_source_shortest_path(graph, nodes[0]).keys() == set(nodes[:5])
    steiner = networkx.approximation.steiner_tree(graph, [nodes[0], nodes[4], nodes[3]])
    assert isinstance(steiner, mgraph.Graph)
    assert networkx.bfs_tree(graph, nodes[0]).number_of_edges() == 4
    with pytest.raises(networkx.NetworkXNoPath):
        networkx.dijkstra_path(graph, nodes[0], nodes[5])
    with pytest.raises(networkx.NodeNotFound):
        networkx.shortest_path(graph, "none of them", nodes[0])


def test_a_directed_graph_of_mgraph():
    graph = mgraph.from_edges(EdgeList([0, 1, 2], [1, 2, 0], [2, 3, 4]), 4, backend="cpu")
    same = graph.to_networkx()
    assert networkx.single_target_shortest_path(graph, 0) == (
        networkx.single_target_shortest_path(same, 0)
    )
    assert networkx.number_weakly_connected_components(graph) == 2
    with pytest.raises(networkx.NetworkXNotImplemented):
        networkx.number_connected_components(graph)
    assert networkx.dijkstra_path_length(graph, 0, 2) == 5


def test_improved_steiner_trees():
    graph = random_graph(60, 200)
    terminals = [1, 5, 9, 20, 33]
    plain = networkx.approximation.steiner_tree(graph, terminals, backend="mgraph")
    best = networkx.approximation.steiner_tree(graph, terminals, improve=True, backend="mgraph")
    assert best.size("weight") <= plain.size("weight")
    assert networkx.is_tree(best)


def test_importing_networkx_stays_light():
    code = (
        "import networkx, sys; assert 'mgraph' in networkx.utils.backends.backend_info; "
        "print([m for m in ('numpy', 'numba', 'mgraph.core.graph', 'distributed') "
        "if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("kind", CLASSES)
def test_an_empty_graph(kind):
    for name in ("connected_components", "is_tree", "minimum_spanning_edges"):
        found = []
        for where in ("mgraph", "networkx"):
            try:
                result = getattr(networkx, name)(kind(), backend=where)
                found.append(result if isinstance(result, bool) else list(result))
            except networkx.NetworkXException as error:
                found.append(type(error))
        assert found[0] == found[1]
    assert isinstance(backend.convert_from_nx(kind()), ConvertedGraph)


@pytest.mark.usefixtures("preferred")
def test_views_are_never_kept():
    graph = random_graph()
    views = [graph.subgraph(range(2900)), graph.copy(as_view=True), graph.to_directed(as_view=True)]
    for view in views:
        for where in ({}, {"backend": "mgraph"}):
            networkx.single_source_shortest_path_length(view, 0, **where)
    graph.remove_edges_from([edge for edge in graph.edges if 0 in edge])
    for view in views:
        for where in ({}, {"backend": "mgraph"}):
            assert networkx.single_source_shortest_path_length(view, 0, **where) == {0: 0}


def test_undirected_views_whose_arcs_differ():
    directed = networkx.DiGraph([(0, 1, {"weight": 1}), (1, 0, {"weight": 5})])
    view = directed.to_undirected(as_view=True)
    for source in (0, 1):
        lengths = [
            networkx.single_source_dijkstra_path_length(view, source, backend=where)
            for where in ("mgraph", "networkx")
        ]
        assert lengths[0] == lengths[1]


def test_reading_does_not_change_a_graph_of_other_mappings():
    class Listed(networkx.Graph):
        def edge_attr_dict_factory(self):
            return collections.defaultdict(list)

    graph = Listed([(0, 1), (1, 2)])
    assert networkx.dijkstra_path_length(graph, 0, 2, backend="mgraph") == 2
    assert all(not data for *_, data in graph.edges(data=True))


@pytest.mark.usefixtures("preferred")
def test_searches_nearby_are_networkxs():
    graph = random_graph()
    networkx.single_source_shortest_path_length(graph, 0, cutoff=1)
    networkx.single_source_dijkstra(graph, 0, None, 5)
    networkx.descendants_at_distance(graph, 0, 1)
    next(networkx.bfs_edges(graph, 0, depth_limit=1))
    assert not is_read(graph)


@pytest.mark.parametrize("terminals", [[0], [0, "none of them"], [0, 39], iter([0, 5])])
def test_own_options_of_a_steiner_tree_that_is_networkxs(terminals):
    graph = networkx.path_graph(40)
    graph.remove_edge(20, 21)
    graph.add_edge(1, 2, weight=-1)
    steiner_tree, outcomes = networkx.approximation.steiner_tree, []
    for options in ({}, {"improve": True, "time_limit": 1.0, "backend": "mgraph"}):
        try:
            outcomes.append(set(steiner_tree(graph, copy.copy(terminals), **options)))
        except Exception as error:
            outcomes.append(type(error))
    assert outcomes[0] == outcomes[1]


def test_limits_of_any_size():
    graph = networkx.path_graph(40)
    for limit in (float("-inf"), float("inf"), 10**400, -(10**400)):
        ours, theirs = (
            networkx.single_source_shortest_path_length(graph, 0, cutoff=limit, backend=where)
            for where in ("mgraph", "networkx")
        )
        assert ours == theirs
    assert networkx.descendants_at_distance(graph, 0, 10**400, backend="mgraph") == set()


def test_iterators_are_of_the_graph_as_it_was():
    graph = networkx.path_graph(200)
    lengths = networkx.all_pairs_shortest_path_length(graph, backend="mgraph")
    next(lengths)
    graph.remove_nodes_from(range(3, 200))
    assert len(dict(lengths)[150]) == 200


def test_a_kept_graph_is_pickled_without_its_arrays():
    graph = random_graph(300, 3000)
    networkx.single_source_dijkstra(graph, 0, backend="mgraph")
    assert is_read(graph)
    again = pickle.loads(pickle.dumps(graph))
    assert len(pickle.dumps(graph)) < 1.1 * len(pickle.dumps(graph.copy()))
    assert networkx.single_source_dijkstra(again, 0, backend="mgraph")


def test_parallel_arcs_of_a_graph_of_mgraph():
    edges = EdgeList([0, 0, 1], [1, 1, 2], [4, 2, 3])
    graph = mgraph.from_edges(edges, directed=False, merge=False, backend="cpu")
    assert networkx.is_tree(graph)
    assert networkx.dijkstra_path_length(graph, 0, 2) == 5
    assert networkx.minimum_spanning_tree(graph).to_edges().weight.tolist() == [2, 3]


def test_weights_of_other_types_are_networkxs():
    graph = networkx.path_graph(3)
    for u, v in graph.edges:
        graph[u][v]["weight"] = np.float32(0.1)
    length = networkx.dijkstra_path_length(graph, 0, 2, backend="mgraph")
    assert length == networkx.dijkstra_path_length(graph, 0, 2)
    assert type(length) is np.float32


def test_iterators_do_not_see_nodes_that_come_later():
    for kind in (networkx.Graph, networkx.DiGraph):
        graph = networkx.path_graph(50, create_using=kind)
        expected = dict(networkx.all_pairs_shortest_path_length(graph))
        lengths = networkx.all_pairs_shortest_path_length(graph, backend="mgraph")
        paths = networkx.all_pairs_dijkstra_path_length(graph, backend="mgraph")
        graph.add_edges_from((i, i + 1) for i in range(49, 5000))
        graph.add_edge(0, 49)
        assert dict(lengths) == expected
        assert {node: dict(each) for node, each in paths} == expected


def test_without_a_cache_each_call_reads_the_graph():
    graph = networkx.cycle_graph(100)
    networkx.minimum_spanning_tree(graph, backend="mgraph")
    with networkx.config(cache_converted_graphs=False):
        graph[0][1]["weight"] = 5
        assert not networkx.minimum_spanning_tree(graph, backend="mgraph").has_edge(0, 1)


def test_classes_that_read_graphs_in_their_own_way_are_networkxs():
    class Complement(networkx.Graph):
        def neighbors(self, node):
            return iter([other for other in self if other not in self._adj[node]])

    graph = Complement(networkx.path_graph(6))
    own = list(networkx.bfs_edges(graph, 0))
    assert list(networkx.bfs_edges(graph, 0, backend="mgraph")) == own
