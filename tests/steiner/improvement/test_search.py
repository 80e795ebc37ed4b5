"""The search keeps a tree of all terminals, and a bound that no tree is below, at every step."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.steiner.improvement import reduction_cpu
from mgraph.steiner.improvement.search import Search
from mgraph.steiner.improvement.walk_cpu import search_locally
from tests.steiner.improvement.problems import FLAG, Problem, grid_problem, problems


def new_search(problem):
    return Search(problem.network, problem.weight, 1, FLAG, 1)


@given(problems())
@settings(max_examples=100, deadline=None)
def test_small_problems_are_solved(problem):
    search = new_search(problem)
    search.run(problem.grown())
    optimum = problem.optimum()
    assert problem.check(search.best) == search.best_cost == optimum
    assert search.lower_bound <= optimum


@given(problems(), st.booleans())
@settings(max_examples=300, deadline=None)
def test_reductions_keep_a_tree_and_a_bound(problem, improves):
    """Also where they leave the terminals unconnected, since no tree is better than the best."""
    search, optimum = new_search(problem), problem.optimum()
    tree = problem.grown()
    if improves:
        tree = search_locally(problem.network, problem.weight, tree, problem.work, FLAG)
    search.add(tree)
    for _ in range(3):
        search._raise_bound()
        search._reduce()
        assert problem.check(search.best) == search.best_cost
        assert search.lower_bound <= optimum <= search.best_cost
        if search.is_over:
            assert search.best_cost == optimum
            break


def test_a_reduction_that_leaves_no_tree_proves_the_best(monkeypatch):
    problem = Problem(4, [0, 1, 2, 0, 1], [3, 3, 3, 1, 2], [2, 2, 2, 4, 4], [0, 1, 2])
    search = new_search(problem)
    search.add(np.array([0, 1, 2]))  # the best, through vertex 3
    search._raise_bound()
    search.lower_bound, search.bound.total = 1, 1  # as after a poor ascent
    monkeypatch.setattr(reduction_cpu, "vertices_below", lambda *_: np.arange(4) == 0)
    search._reduce()
    assert problem.check(search.best) == search.best_cost == search.lower_bound == 6
    assert search.is_over


def test_terminals_may_be_left_unconnected():
    problem = grid_problem(4, 3, 1)
    everything = np.ones(problem.weight.size, bool)
    assert reduction_cpu.connects_terminals(problem.network, everything)
    assert not reduction_cpu.connects_terminals(problem.network, ~everything)
    is_beside = (problem.network.ends == problem.terminals[0]).any(axis=1)
    assert not reduction_cpu.connects_terminals(problem.network, ~is_beside)
