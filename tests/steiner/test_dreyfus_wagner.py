"""Exact trees of few terminals, and of groups, compared with a table over all sets."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.core import heap_cpu
from mgraph.steiner import dreyfus_wagner_cpu
from mgraph.steiner.improvement import reduction_cpu
from mgraph.steiner.improvement.network_cpu import INFINITY
from tests.steiner.improvement.problems import FLAG, Problem, problems


def solved(problem, groups, max_cost=1 << 40, max_states=1 << 30):
    network = problem.network
    heads, edges = network.arcs[:, 0].copy(), network.arcs[:, 1].copy()
    lengths = 2 * problem.arc_weight
    distance = np.stack(
        [
            reduction_cpu.find_nearest(
                network.indptr, heads, lengths, np.array(group), INFINITY, network.shift, FLAG
            ).distance
            for group in groups
        ],
        axis=1,
    )
    are_terminals = all(len(group) == 1 for group in groups)
    first = np.array([group[0] for group in groups])
    between = distance[first] if are_terminals else np.zeros((len(groups),) * 2, np.int64)
    starts = np.cumsum([0, *map(len, groups)])
    return dreyfus_wagner_cpu.solve(
        network.indptr, heads, edges, lengths, np.concatenate(groups).astype(np.int64), starts,
        distance, between, np.int64(max_cost), heap_cpu.new(1 << 31, small=False), max_states, FLAG,
    )  # fmt: skip


@given(problems(max_vertices=16, max_terminals=7))
@settings(max_examples=200, deadline=None)
def test_the_best_tree_of_terminals(problem):
    optimum = problem.optimum()
    tree, cost, _ = solved(problem, [[t] for t in problem.terminals])
    assert cost == 2 * optimum
    assert problem.check(np.sort(tree)) == optimum
    again, cost, _ = solved(problem, [[t] for t in problem.terminals], max_cost=2 * optimum)
    assert (problem.cost(again), cost) == (optimum, 2 * optimum)
    tree, cost, _ = solved(problem, [[t] for t in problem.terminals], max_cost=2 * optimum - 1)
    assert (cost, tree.size) == (-1, 0)


@given(problems(max_vertices=12), st.data())
@settings(max_examples=150, deadline=None)
def test_the_best_tree_of_groups(problem, data):
    vertices = st.lists(st.integers(0, problem.n - 1), min_size=1, max_size=4, unique=True)
    groups = data.draw(st.lists(vertices, min_size=2, max_size=4))
    # The oracle: a terminal per group, with edges to its vertices that cost more than all others.
    heavy = int(problem.weight.sum()) + 1
    extra = [(problem.n + i, v) for i, group in enumerate(groups) for v in group]
    whole = Problem(
        problem.n + len(groups),
        [*problem.src, *(u for u, _ in extra)],
        [*problem.dst, *(v for _, v in extra)],
        [*problem.weight, *(heavy for _ in extra)],
        range(problem.n, problem.n + len(groups)),
    )
    optimum = whole.optimum() - heavy * len(groups)
    tree, cost, _ = solved(problem, groups)
    assert cost == 2 * optimum
    assert problem.cost(tree) == optimum
    reached = {v for e in tree for v in (problem.src[e], problem.dst[e])}
    if tree.size:
        assert all(reached & set(group) for group in groups)
        assert tree.size == len(reached) - 1
    else:
        assert set.intersection(*map(set, groups))


def test_too_many_states_end_the_search():
    random = np.random.default_rng(1)
    n = 200
    src, dst = np.r_[np.arange(n - 1), random.integers(0, n // 2, 300)], None
    dst = np.r_[np.arange(1, n), random.integers(n // 2, n, 300)]
    problem = Problem(n, src, dst, random.integers(1, 9, src.size), np.arange(0, n, 25))
    groups = [[t] for t in problem.terminals]
    tree, cost, states = solved(problem, groups)
    assert cost == 2 * problem.optimum() == 2 * problem.cost(tree)
    tree, cost, _ = solved(problem, groups, max_states=states // 2)
    assert (cost, tree.size) == (-1, 0)
