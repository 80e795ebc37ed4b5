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
    factor = 1 if terminals.size == 2 else 2 - 2 / terminals.size
    assert optimum * (1 - 1e-12) <= cost <= optimum * factor * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(graph_and_terminals=problems(max_terminals=8))
def test_costs_no_more_than_a_spanning_tree_of_distances(graph_and_terminals):
    graph, terminals = graph_and_terminals
    table, ids = oracles.distances(graph), terminals.tolist()
    pairs = [(u, v, table[u][v]) for u in ids for v in ids if u < v]
    limit = float(oracles.cost(oracles.spanning_edges(pairs)))
    cost = check(graph, mehlhorn_cpu.build_tree(csr_of(graph), terminals), terminals)
    assert cost <= limit * (1 + 1e-12)


@settings(max_examples=100, deadline=None)
@given(graph_and_terminals=problems())
def test_spanning_tree_of_some_vertices(graph_and_terminals):
    graph, terminals = graph_and_terminals
    table = oracles.distances(graph)
    reachable = [v for v in range(graph.n) if table[terminals[0]][v] is not None]
    tree = mehlhorn_cpu.spanning_tree(csr_of(graph), np.array(reachable), terminals)
    edges = [edge for edge in oracles.edges(graph) if edge[0] in reachable]
    limit = oracles.cost(oracles.spanning_edges(edges))  # not pruned
    assert check(graph, tree, terminals) <= float(limit) * (1 + 1e-12)


@needs_steinlib
def test_steinlib():
    gaps = []
    for _, graph, terminals, optimum in steinlib("CD"):
        cost = check(graph, mehlhorn_cpu.build_tree(csr_of(graph), terminals), terminals)
        gaps.append(cost / optimum - 1)
    assert min(gaps) >= 0
    assert np.mean(gaps) < 0.08
