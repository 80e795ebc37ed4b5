"""Reductions: the best of the smaller problem, expanded, is the best of the problem."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.steiner.improvement import contraction_cpu, reduction_cpu
from mgraph.steiner.improvement.network_cpu import INFINITY
from tests.steiner.improvement.problems import FLAG, Problem, grid_problem, problems
from tests.steiner.improvement.test_bound import bound_of


def nearest_of(problem):
    network = problem.network
    heads = network.arcs[:, 0].copy()
    return reduction_cpu.find_nearest(
        network.indptr, heads, problem.arc_weight, problem.terminals, INFINITY, network.shift, FLAG
    )


def kept_by_each(problem, cost):
    """The edges that each test keeps, for trees that cost no more than ``cost``."""
    network, nearest = problem.network, nearest_of(problem)
    bound = bound_of(problem)
    near = reduction_cpu.vertices_below(network, problem.weight, nearest, cost, FLAG)
    return {
        "none": np.ones(problem.weight.size, bool),
        "special distance": reduction_cpu.edges_short(
            network.ends, problem.weight, *nearest, problem.terminals.size
        ),
        "Voronoi regions": near[network.ends].all(axis=1),
        "reduced costs": reduction_cpu.edges_below(
            network, bound.reduced, bound.root, cost - bound.total, FLAG
        ),
    }


def optimum_of(reduced):
    """The least cost of a tree of the smaller problem with what was taken."""
    network = reduced.network
    if network.terminals.size < 2:
        return 0
    n = network.indptr.size - 1
    ends = network.ends
    return Problem(n, ends[:, 0], ends[:, 1], reduced.weight, network.terminals).optimum()


@given(
    problems(), st.sampled_from(["none", "special distance", "Voronoi regions", "reduced costs"])
)
@settings(max_examples=300, deadline=None)
def test_no_best_tree_is_lost(problem, test):
    optimum = problem.optimum()
    is_kept = kept_by_each(problem, optimum)[test]
    remaining = np.flatnonzero(is_kept)
    smaller = Problem(
        problem.n, problem.src[remaining], problem.dst[remaining], problem.weight[remaining],
        problem.terminals,
    )  # fmt: skip
    assert smaller.optimum() == optimum
    reduced = contraction_cpu.shrink(problem.network, problem.weight, is_kept)
    taken = reduced.expand(np.empty(0, np.int64))
    assert problem.cost(taken) + optimum_of(reduced) == optimum


@given(problems(max_vertices=20, max_terminals=8))
@settings(max_examples=200, deadline=None)
def test_trees_are_expanded(problem):
    reduced = contraction_cpu.shrink(
        problem.network, problem.weight, np.ones(problem.weight.size, bool)
    )
    network = reduced.network
    tree = np.empty(0, np.int64)
    cost = 0
    if network.terminals.size > 1:
        ends = network.ends
        smaller = Problem(
            network.indptr.size - 1, ends[:, 0], ends[:, 1], reduced.weight, network.terminals
        )
        tree = smaller.grown()
        cost = smaller.check(tree)
        again = reduced.restrict(reduced.expand(tree))
        assert np.array_equal(again, tree)
    expanded = reduced.expand(tree)
    assert problem.check(expanded) == cost + problem.cost(reduced.expand(tree[:0]))


def test_chains_and_leaves_disappear():
    # 0 - 1 - 2 - 3 with a leaf 4 at 1; terminals 0 and 3.
    problem = Problem(5, [0, 1, 2, 1], [1, 2, 3, 4], [1, 2, 3, 4], [0, 3])
    reduced = contraction_cpu.shrink(problem.network, problem.weight, np.ones(4, bool))
    assert reduced.network.terminals.size < 2
    assert reduced.expand(np.empty(0, np.int64)).tolist() == [0, 1, 2]


def test_a_grid_becomes_smaller():
    problem = grid_problem(40, 30, 2)
    bound = bound_of(problem)
    for seed in range(5):
        bound.search(200, seed << 32)
    tree = problem.grown()
    kept = reduction_cpu.edges_below(
        problem.network, bound.reduced, bound.root, problem.cost(tree) - bound.total, FLAG
    )
    assert kept[tree].all()
    assert kept.mean() < 0.9
    is_short = reduction_cpu.edges_short(
        problem.network.ends, problem.weight, *nearest_of(problem), problem.terminals.size
    )
    assert is_short.mean() < 1
