import numpy as np
from hypothesis import given, settings

from mgraph.steiner import mehlhorn_cpu
from tests.steiner import oracles
from tests.steiner.checks import check, csr_of, needs_steinlib, steinlib
from tests.steiner.strategies import problems


@settings(max_examples=150, deadline=None)
@given(graph_and_terminals=problems())
def test_within_twice_the_optimum(graph_and_terminals):
    graph, terminals = graph_and_terminals
    cost = check(graph, mehlhorn_cpu.build_tree(csr_of(graph), terminals), terminals)
    optimum = float(oracles.optimum(graph, terminals))
    most = 1 if terminals.size == 2 else 2 - 2 / terminals.size
    assert optimum * (1 - 1e-12) <= cost <= optimum * most * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(graph_and_terminals=problems(terminals=8))
def test_no_dearer_than_a_spanning_tree_of_distances(graph_and_terminals):
    graph, terminals = graph_and_terminals
    table, some = oracles.distances(graph), terminals.tolist()
    pairs = [(u, v, table[u][v]) for u in some for v in some if u < v]
    most = float(oracles.cost(oracles.spanning_edges(pairs)))
    cost = check(graph, mehlhorn_cpu.build_tree(csr_of(graph), terminals), terminals)
    assert cost <= most * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(graph_and_terminals=problems())
def test_spanning_tree_of_some_vertices(graph_and_terminals):
    graph, terminals = graph_and_terminals
    table = oracles.distances(graph)
    some = [v for v in range(graph.n) if table[terminals[0]][v] is not None]
    tree = mehlhorn_cpu.spanning_tree(csr_of(graph), np.array(some), terminals)
    edges = [edge for edge in oracles.edges(graph) if edge[0] in some]
    least = oracles.cost(oracles.spanning_edges(edges))  # branches and all
    assert check(graph, tree, terminals) <= float(least) * (1 + 1e-12)


@needs_steinlib
def test_steinlib():
    gaps = []
    for _, graph, terminals, optimum in steinlib("CD"):
        cost = check(graph, mehlhorn_cpu.build_tree(csr_of(graph), terminals), terminals)
        gaps.append(cost / optimum - 1)
    assert min(gaps) >= 0
    assert np.mean(gaps) < 0.08
