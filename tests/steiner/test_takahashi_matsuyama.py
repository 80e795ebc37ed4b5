import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.core import csr_cpu
from mgraph.core.edges import EdgeList
from mgraph.steiner import takahashi_matsuyama_cpu
from tests.steiner import oracles
from tests.steiner.checks import check, csr_of, needs_steinlib, steinlib
from tests.steiner.strategies import problems


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_within_twice_the_optimum(data):
    graph, terminals = data.draw(problems())
    start = data.draw(st.sampled_from(terminals.tolist()))
    tree = takahashi_matsuyama_cpu.build_tree(csr_of(graph), terminals, start)
    cost, optimum = check(graph, tree, terminals), float(oracles.optimum(graph, terminals))
    factor = 1 if terminals.size == 2 else 2 - 2 / terminals.size
    assert optimum * (1 - 1e-12) <= cost <= optimum * factor * (1 + 1e-12)


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_from_any_vertex_of_the_component(data):
    graph, terminals = data.draw(problems())
    table = oracles.distances(graph)
    reachable = [v for v in range(graph.n) if table[terminals[0]][v] is not None]
    start = data.draw(st.sampled_from(reachable))
    check(graph, takahashi_matsuyama_cpu.build_tree(csr_of(graph), terminals, start), terminals)


@settings(max_examples=60, deadline=None)
@given(graph_and_terminals=problems(max_vertices=8, max_terminals=8))
def test_a_minimum_spanning_tree_if_all_are_terminals(graph_and_terminals):
    graph, terminals = graph_and_terminals
    table = oracles.distances(graph)
    every = np.array([v for v in range(graph.n) if table[terminals[0]][v] is not None])
    cost = check(graph, takahashi_matsuyama_cpu.build_tree(csr_of(graph), every, every[0]), every)
    edges = [edge for edge in oracles.edges(graph) if edge[0] in every]
    assert np.isclose(cost, float(oracles.cost(oracles.spanning_edges(edges))), rtol=1e-12)


def test_paths_added_later_begin_at_paths_added_before():
    # 0 - 1 - 2 - 3 in a line, and terminal 4 hanging from 2: the nearest vertex of the first path.
    columns = np.array([[0, 1, 2, 2, 0], [1, 2, 3, 4, 4], [1, 1, 1, 2, 9]], np.int32)
    graph = csr_cpu.build(EdgeList(*columns), 5, directed=False, drop_loops=True, merge=True)
    tree = takahashi_matsuyama_cpu.build_tree(csr_of(graph), np.array([0, 3, 4]), 0)
    assert check(graph, tree, np.array([0, 3, 4])) == 5


@needs_steinlib
def test_steinlib():
    gaps = []
    for _, graph, terminals, optimum in steinlib("C"):
        tree = takahashi_matsuyama_cpu.build_tree(csr_of(graph), terminals, terminals[0])
        gaps.append(check(graph, tree, terminals) / optimum - 1)
    assert min(gaps) >= 0
    assert np.mean(gaps) < 0.05
