"""Lower bounds: never above the optimum, whatever the weights, and better after a search."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.core import cancellation
from mgraph.core.deadline import Deadline
from mgraph.steiner import takahashi_matsuyama_cpu
from mgraph.steiner.improvement import improve
from mgraph.steiner.improvement.bound import Bound
from tests.steiner import oracles
from tests.steiner import strategies as graphs
from tests.steiner.checks import csr_of, needs_steinlib, steinlib
from tests.steiner.improvement.problems import FLAG, grid_problem, problems


def bound_of(problem, root=None, guide=None):
    network = problem.network
    guide = np.full(problem.n, -1) if guide is None else guide
    root = int(problem.terminals[0]) if root is None else root
    heads = network.arcs[:, 0].copy()
    return Bound(
        network.indptr, heads, problem.arc_weight, problem.terminals, root, guide, FLAG
    )  # fmt: skip


def assert_dual(problem, bound):
    """Assert that arcs of reduced cost 0 lead from the root to each terminal, and all are valid."""
    assert (bound.reduced >= 0).all()
    assert (bound.reduced <= problem.arc_weight).all()
    indptr, heads = problem.network.indptr, problem.network.arcs[:, 0]
    for terminal in problem.terminals.tolist():
        seen, new = set(), {terminal}
        while new:
            seen |= new
            arcs = [arc for v in new for arc in range(indptr[v], indptr[v + 1])]
            new = {int(heads[arc]) for arc in arcs if bound.reduced[arc] == 0} - seen
        assert bound.root in seen


@given(problems(), st.data())
@settings(max_examples=150, deadline=None)
def test_no_tree_costs_less_than_the_bound(problem, data):
    root = data.draw(st.sampled_from(problem.terminals.tolist()))
    guide = np.full(problem.n, -1)
    if data.draw(st.booleans()):
        guide[1:] = np.arange(problem.n - 1)  # any numbers are no more than advice
    bound, optimum = bound_of(problem, root, guide), problem.optimum()
    assert bound.is_complete
    assert 0 < bound.total <= optimum
    assert_dual(problem, bound)
    if problem.terminals.size == 2:
        assert bound.total == optimum
    before = bound.total
    gain = bound.search(50, data.draw(st.integers(0, 1 << 60)))
    assert gain == bound.total - before >= 0
    assert bound.total <= optimum
    assert (bound.reduced >= 0).all()


def test_a_search_makes_the_bound_better():
    problem = grid_problem(40, 150, 1)
    bound = bound_of(problem)
    before = bound.total
    for seed in range(4):
        bound.search(300, seed << 32)
        assert (bound.reduced >= 0).all()
    assert bound.total > 1.005 * before
    again = bound_of(problem)
    for seed in range(4):
        again.search(300, seed << 32)
    assert again.total == bound.total


def find_bound(csr, terminals, deadline=None):
    tree = takahashi_matsuyama_cpu.build_tree(csr, terminals, terminals[0])
    return improve.find_bound(csr, tree, terminals, deadline or Deadline())


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_bounds_of_any_weights(data):
    graph, terminals = data.draw(graphs.problems())
    bound, optimum = find_bound(csr_of(graph), terminals), oracles.optimum(graph, terminals)
    assert 0 <= Fraction(bound) <= optimum  # exactly, for fractions too
    if terminals.size == 2:
        assert bound == pytest.approx(float(optimum), rel=1e-9)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-280, 1.0, 1e300])
def test_weights_of_any_size(size):
    indptr, indices = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)
    weights = size * np.array([1.0, 1.0, 3.0, 3.0])
    bound = find_bound((indptr, indices, weights), np.array([0, 2]))
    assert Fraction(bound) <= Fraction(weights[0]) + Fraction(weights[2])
    assert bound >= 4 * size * (1 - 1e-9)


def test_a_bound_is_never_rounded_up():
    # 0.1 + 0.2 is 0.30000000000000004 as a sum of floats, and less in truth.
    indptr, indices = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)
    bound = find_bound((indptr, indices, np.array([0.1, 0.1, 0.2, 0.2])), np.array([0, 2]))
    assert Fraction(bound) <= Fraction(0.1) + Fraction(0.2)
    assert bound == pytest.approx(0.3, rel=1e-12)


def test_past_the_deadline_a_bound_of_0_stands():
    indptr, indices = np.array([0, 1, 2]), np.array([1, 0], np.int32)
    csr = indptr, indices, np.array([3, 3], np.int32)
    assert find_bound(csr, np.array([0, 1]), Deadline(0)) == 0


def test_a_cancelled_bound_returns_no_result():
    indptr, indices = np.array([0, 1, 2]), np.array([1, 0], np.int32)
    csr, terminals = (indptr, indices, np.array([3, 3], np.int32)), np.array([0, 1])
    tree = takahashi_matsuyama_cpu.build_tree(csr, terminals, 0)
    with cancellation.cancelled_when(lambda: True), pytest.raises(cancellation.Cancelled):
        improve.find_bound(csr, tree, terminals, Deadline())


@needs_steinlib
def test_steinlib():
    tight = []
    for name, graph, terminals, optimum in steinlib("BCDE"):
        bound = find_bound(csr_of(graph), terminals)
        assert 0.95 * optimum <= bound <= optimum, name
        tight.append(bound == optimum)
    assert len(tight) == 78
    assert sum(tight) >= 45


@pytest.mark.parametrize(("arcs", "turns"), [(0.16, 1), (0.3, 1), (1, 0.16), (0.2, 0.2)])
def test_a_record_that_becomes_full_in_a_step(arcs, turns):
    """A step that cannot be recorded is not taken."""
    problem = grid_problem(20, 60, 3)
    bound = bound_of(problem)
    used, num_turns = bound._used, bound._num_turns
    bound._taken = bound._taken[: int(used * (1 + arcs))].copy()
    bound._turns = bound._turns[: int(num_turns * (1 + turns))].copy()
    for seed in range(20):
        before = bound.total
        assert bound.search(200, seed) == bound.total - before >= 0
        assert bound._used <= len(bound._taken)
        assert bound._num_turns <= len(bound._turns)
        assert (bound.reduced >= 0).all()
        taken, restored = bound._taken, bound.reduced.copy()
        for begin, end in bound._turns[: bound._num_turns, 1:3].tolist():
            np.add.at(restored, taken[begin:end, 0], taken[begin:end, 1])
        assert (restored == problem.arc_weight).all()
