import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.core import csr_cpu
from mgraph.core.deadline import Deadline
from mgraph.core.edges import EdgeList
from mgraph.steiner import mehlhorn_cpu, tree_cpu
from mgraph.steiner.key_vertex_cpu import Eliminator
from tests.steiner import oracles
from tests.steiner.checks import (
    check,
    cost_of,
    csr_of,
    edges_of,
    exact_cost_of,
    needs_steinlib,
    steinlib,
)
from tests.steiner.strategies import problems, trees


def best_elimination(graph, tree, terminals):
    """Return the largest gain of eliminating one key vertex; None if the tree has none."""
    table, fixed = oracles.distances(graph), set(terminals.tolist())
    edges = list(zip(*(column.tolist() for column in edges_of(tree)), strict=True))
    near = {v: [] for v in tree.vertex.tolist()}
    for u, v, weight in edges:
        near[u].append((v, weight))
        near[v].append((u, weight))
    keys = [v for v in near if len(near[v]) > 2 and v not in fixed]
    gains = []
    for key in keys:
        removed, cost = {key}, 0
        for v, weight in near[key]:
            previous, cost = key, cost + weight
            while len(near[v]) == 2 and v not in fixed:
                removed.add(v)
                ((following, weight),) = [pair for pair in near[v] if pair[0] != previous]
                previous, v, cost = v, following, cost + weight
        parts, rest = [], set(near) - removed
        while rest:
            part, new = set(), {rest.pop()}
            while new:
                part |= new
                new = {v for u in new for v, _ in near[u]} - part - removed
            parts.append(part)
            rest -= part
        pairs = [
            (i, j, min(table[u][v] for u in parts[i] for v in parts[j]))
            for j in range(len(parts)) for i in range(j)
        ]  # fmt: skip
        gains.append(cost - float(oracles.cost(oracles.spanning_edges(pairs))))
    return max(gains, default=None)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_a_pass_gains_if_any_key_vertex_does(data):
    graph, terminals = data.draw(problems(max_vertices=14, max_terminals=6))
    tree = data.draw(trees(graph, terminals))
    gain = best_elimination(graph, tree, terminals)
    eliminator = Eliminator(csr_of(graph))
    better = eliminator.improve(tree)
    check(graph, better, terminals)
    if better is not tree:
        assert exact_cost_of(better) < exact_cost_of(tree)
        assert gain > 0
    elif gain is not None:
        assert gain <= cost_of(tree) * 1e-8
    # The labels are reset: the same eliminator can take another tree.
    again = eliminator.improve(tree)
    assert cost_of(again) == cost_of(better)
    assert np.array_equal(np.sort(again.vertex), np.sort(better.vertex))


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_repeated_passes_end_where_no_key_vertex_gains(data):
    graph, terminals = data.draw(problems(max_vertices=14, max_terminals=6))
    eliminator, tree, better = Eliminator(csr_of(graph)), None, data.draw(trees(graph, terminals))
    while better is not tree:
        tree, better = better, eliminator.improve(better)
    check(graph, tree, terminals)
    gain = best_elimination(graph, tree, terminals)
    assert gain is None or gain <= cost_of(tree) * 1e-8


def star_of_paths():
    """Terminals 0 to 3 around 4, a step of weight 2 each, and in a ring, a step of weight 2."""
    src, dst = np.array([[0, 1, 2, 3, 0, 1, 2], [4, 4, 4, 4, 1, 2, 3]], np.int32)
    edges = EdgeList(src, dst, np.full(7, 2, np.int32))
    return csr_cpu.build(edges, 5, directed=False, drop_loops=True, merge=True)


def test_a_star_becomes_a_path():
    graph, terminals = star_of_paths(), np.arange(4)
    tree = tree_cpu.from_edges(np.arange(4), np.full(4, 4), np.full(4, 2), terminals)
    better = Eliminator(csr_of(graph)).improve(tree)
    assert check(graph, better, terminals) == 6
    assert better.vertex.tolist() == [0, 1, 2, 3]


def test_no_vertex_is_tried_past_the_deadline():
    graph, terminals = star_of_paths(), np.arange(4)
    tree = tree_cpu.from_edges(np.arange(4), np.full(4, 4), np.full(4, 2), terminals)
    assert Eliminator(csr_of(graph)).improve(tree, Deadline(0)) is tree


@needs_steinlib
def test_steinlib():
    before = after = 0
    for _, graph, terminals, optimum in steinlib("CD"):
        tree = mehlhorn_cpu.build_tree(csr_of(graph), terminals)
        better = Eliminator(csr_of(graph)).improve(tree)
        assert optimum <= check(graph, better, terminals) <= cost_of(tree)
        before += cost_of(tree) / optimum - 1
        after += cost_of(better) / optimum - 1
    assert after < 0.9 * before
