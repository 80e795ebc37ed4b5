"""The best of two trees, block by block."""

import networkx as nx
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.steiner.improvement.blocks_cpu import _find_blocks, combine
from mgraph.steiner.improvement.walk_cpu import add_noise, search_locally
from tests.steiner.improvement.problems import FLAG, Problem, grid_problem, problems


def combined(problem, first, second):
    return combine(problem.network, problem.weight, first, second, problem.work)


@given(problems(max_vertices=20, max_terminals=8), st.data())
@settings(max_examples=200, deadline=None)
def test_the_best_of_two_trees_is_a_tree_that_costs_no_more_than_either(problem, data):
    first, second = (problem.grown(data.draw(st.integers(0, problem.n - 1))) for _ in range(2))
    tree = combined(problem, first, second)
    assert problem.check(tree) <= min(problem.cost(first), problem.cost(second))
    assert {*tree.tolist()} <= {*first.tolist(), *second.tolist()}
    problem.check_workspace()


def test_gains_of_either_tree_remain():
    """A trap on each side of vertex 2: each tree falls into one of them."""
    problem = Problem(5, [0, 0, 1, 2, 2, 3], [1, 2, 2, 3, 4, 4], [1, 9, 1, 1, 9, 1], [0, 2, 4])
    assert combined(problem, np.array([0, 2, 4]), np.array([1, 3, 5])).tolist() == [0, 2, 3, 5]
    assert combined(problem, np.array([1, 3, 5]), np.array([0, 2, 4])).tolist() == [0, 2, 3, 5]


def test_of_what_costs_as_much_the_second_is_taken():
    problem = Problem(4, [0, 1, 0, 2], [1, 3, 2, 3], [2, 2, 2, 2], [0, 3])
    assert combined(problem, np.array([0, 1]), np.array([2, 3])).tolist() == [2, 3]


def test_large_trees_become_better_than_both():
    gains = 0
    for seed in range(4):
        problem = grid_problem(80, 500, seed)
        trees = []
        for draw in range(2):
            noisy = add_noise(problem.weight, 200, 2 * seed + draw)
            tree = search_locally(problem.network, noisy, problem.grown(), problem.work, FLAG)
            trees.append(search_locally(problem.network, problem.weight, tree, problem.work, FLAG))
        cost = problem.check(combined(problem, *trees))
        assert cost <= min(map(problem.cost, trees))
        gains += cost < min(map(problem.cost, trees))
    assert gains >= 3


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)).filter(lambda e: e[0] != e[1])))
@settings(max_examples=200, deadline=None)
def test_blocks_are_those_of_networkx(pairs):
    block, count = _find_blocks(np.array(pairs, np.int64).reshape(-1, 2), 10)
    found = {frozenset(map(frozenset, np.array(pairs)[block == i].tolist())) for i in range(count)}
    graph = nx.Graph(pairs)
    expected = nx.biconnected_component_edges(graph)
    assert found == {frozenset(map(frozenset, edges)) for edges in expected}
    assert len(found) == count
