"""Local searches: trees stay trees, never cost more, and the workspace is left as it was."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.steiner.improvement import subproblem_cpu, trees_cpu, walk_cpu
from mgraph.steiner.improvement.key_moves_cpu import move_keys
from mgraph.steiner.improvement.network_cpu import new_workspace
from mgraph.steiner.improvement.vertex_insertion_cpu import insert_vertices
from tests.steiner.improvement.problems import FLAG, Problem, grid_problem, problems


def moved(problem, tree, flag=FLAG):
    return move_keys(
        problem.network, problem.weight, problem.arc_weight, tree, problem.weight.min(),
        problem.work, flag,
    )  # fmt: skip


def inserted(problem, tree):
    return insert_vertices(problem.network, problem.weight, tree, problem.work, FLAG)


def walked(problem, tree, steps=5, seed=1):
    return walk_cpu.walk(
        problem.network, problem.weight, tree, steps, 300, seed, problem.work, FLAG
    )


@given(problems(), st.data())
@settings(max_examples=150, deadline=None)
def test_small_trees_become_no_worse(problem, data):
    start = data.draw(st.integers(0, problem.n - 1))
    tree = problem.grown(start)
    optimum, cost = problem.optimum(), problem.check(tree)
    for step in data.draw(st.lists(st.sampled_from([moved, inserted, walked]), max_size=6)):
        tree = step(problem, tree)
        assert optimum <= problem.check(tree) <= cost
        cost = problem.cost(tree)
        problem.check_workspace()


def test_large_trees_become_better():
    first, last = [], []
    for seed in range(4):
        problem = grid_problem(40, 150, seed)
        tree = problem.grown()
        costs = [problem.check(tree)]
        for step in (inserted, moved, inserted, moved, walked):
            tree = step(problem, tree)
            costs.append(problem.check(tree))
            problem.check_workspace()
        assert costs == sorted(costs, reverse=True)
        first.append(costs[0])
        last.append(costs[-1])
    assert sum(last) < 0.985 * sum(first)


def test_what_each_move_does():
    # Terminals 0, 1, 2 around 3, and a longer way round.
    star = Problem(4, [0, 1, 2, 0, 1], [3, 3, 3, 1, 2], [2, 2, 2, 3, 3], [0, 1, 2])
    assert inserted(star, np.array([3, 4])).tolist() == [3, 4]  # that would cost as much
    lighter = Problem(4, [0, 1, 2, 0, 1], [3, 3, 3, 1, 2], [1, 2, 2, 3, 3], [0, 1, 2])
    assert inserted(lighter, np.array([3, 4])).tolist() == [0, 1, 2]
    heavier = Problem(4, [0, 1, 2, 0, 1], [3, 3, 3, 1, 2], [2, 3, 3, 3, 3], [0, 1, 2])
    assert moved(heavier, np.array([0, 1, 2])).tolist() == [3, 4]  # vertex 3 is eliminated
    # The key path 0-1-2 is exchanged for 0-3-2.
    ring = Problem(4, [0, 1, 2, 3], [1, 2, 3, 0], [5, 5, 2, 2], [0, 2])
    assert moved(ring, np.array([0, 1])).tolist() == [2, 3]


def test_a_raised_flag_ends_a_pass_with_a_tree():
    problem = grid_problem(30, 60, 7)
    tree = problem.grown()
    raised = np.ones(1, np.uint8)
    assert moved(problem, tree, raised) is tree
    problem.check_workspace()
    assert walk_cpu.walk(
        problem.network, problem.weight, tree, 5, 300, 1, problem.work, raised
    ) is tree  # fmt: skip


@given(problems(max_vertices=20, max_terminals=8), st.data())
@settings(max_examples=100, deadline=None)
def test_a_tree_of_a_part_is_a_tree_of_the_whole(problem, data):
    tree = problem.grown(data.draw(st.integers(0, problem.n - 1)))
    other = problem.grown(data.draw(st.integers(0, problem.n - 1)))
    kept, candidates = subproblem_cpu.differences(tree, other)
    assert set(tree.tolist()) <= {*kept.tolist(), *candidates.tolist()}
    part = subproblem_cpu.contract(
        problem.network, problem.weight, kept, candidates, tree, problem.work
    )
    problem.check_workspace()
    if part.network.terminals.size < 2:
        return
    start = subproblem_cpu.extend(part, part.tree)
    assert problem.cost(start) <= problem.cost(tree)
    better = walk_cpu.walk(
        part.network, part.weight, part.tree, 2, 300, 1, new_workspace(part.network), FLAG
    )
    whole = trees_cpu.span(
        problem.network, problem.weight, subproblem_cpu.extend(part, better), problem.work
    )
    assert problem.optimum() <= problem.check(whole) <= problem.cost(tree)


def test_the_same_seed_gives_the_same_walk():
    problem = grid_problem(20, 40, 3)
    tree = problem.grown()
    first, second, other = (walked(problem, tree, 10, seed) for seed in (1, 1, 2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
