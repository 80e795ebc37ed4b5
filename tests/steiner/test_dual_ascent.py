import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.core.deadline import Deadline
from mgraph.steiner import dual_ascent_cpu
from mgraph.steiner.dual_ascent_cpu import Subgraph
from tests.steiner import oracles
from tests.steiner.checks import csr_of, needs_steinlib, steinlib
from tests.steiner.strategies import problems


def whole_graph(graph, terminals):
    return Subgraph(csr_of(graph), np.arange(graph.n), terminals)


class AsGraph:
    """A subgraph, as the oracles take a graph."""

    def __init__(self, subgraph):
        self.indptr, self.indices, self.weights = subgraph.csr
        self.n = subgraph.vertex.size


def assert_reached(graph, terminals, root, ascent):
    """Assert that arcs of reduced cost 0 lead from each terminal back to the root."""
    for terminal in terminals:
        seen, new = set(), {int(terminal)}
        while new:
            seen |= new
            arcs = [arc for v in new for arc in range(graph.indptr[v], graph.indptr[v + 1])]
            new = {int(graph.indices[arc]) for arc in arcs if ascent.reduced[arc] == 0} - seen
        assert root in seen


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_no_tree_costs_less_than_the_bound(data):
    graph, terminals = data.draw(problems())
    root = data.draw(st.sampled_from(terminals.tolist()))
    optimum = oracles.optimum(graph, terminals)
    cost = float(optimum) * data.draw(st.sampled_from([1, 1.5, math.inf]))
    ascent = dual_ascent_cpu.ascend(csr_of(graph), terminals, root, cost=cost)
    assert ascent.complete
    assert 0 <= Fraction(ascent.bound) <= optimum  # exactly, for fractions too
    assert ascent.bound > 0 or cost == math.inf or cost < 1e-280
    assert Fraction(ascent.total) <= optimum * Fraction(ascent.scale)
    rounding = graph.n**2 * min(float(graph.weights.max()), cost) / 2**60
    if terminals.size == 2:
        assert ascent.bound == pytest.approx(float(optimum), rel=1e-12, abs=max(rounding, 1e-280))
    assert (ascent.reduced >= 0).all()
    assert_reached(graph, terminals, root, ascent)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_promising_edges_hold_every_cheaper_tree(data):
    graph, terminals = data.draw(problems())
    root = data.draw(st.sampled_from(terminals.tolist()))
    ascent = dual_ascent_cpu.ascend(csr_of(graph), terminals, root)
    optimum = oracles.optimum(graph, terminals)
    exact = int(optimum) if graph.weights.dtype.kind == "i" else float(optimum)
    higher = exact + 1 if isinstance(exact, int) else exact * 1.001
    slack = dual_ascent_cpu.slack_below(ascent, higher)
    kept = dual_ascent_cpu.promising_edges(whole_graph(graph, terminals), root, ascent, slack)
    assert kept.vertex[kept.terminals].tolist() == terminals.tolist()
    assert oracles.optimum(AsGraph(kept), kept.terminals) == optimum
    if isinstance(exact, int):  # no tree is cheaper: nothing remains, or edges that do not help
        slack = dual_ascent_cpu.slack_below(ascent, exact)
        kept = dual_ascent_cpu.promising_edges(whole_graph(graph, terminals), root, ascent, slack)
        if kept.csr[1].size:
            assert oracles.optimum(AsGraph(kept), kept.terminals) >= optimum


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_arcs_at_reduced_cost_0_hold_a_tree(data):
    graph, terminals = data.draw(problems())
    root = data.draw(st.sampled_from(terminals.tolist()))
    ascent = dual_ascent_cpu.ascend(csr_of(graph), terminals, root)
    kept = dual_ascent_cpu.promising_edges(whole_graph(graph, terminals), root, ascent, 0)
    table = oracles.distances(AsGraph(kept))
    assert all(table[kept.terminals[0]][t] is not None for t in kept.terminals)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-280, 1.0, 1e300])
def test_weights_of_any_size(size):
    indptr, indices = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)
    weights = size * np.array([1.0, 1.0, 3.0, 3.0])
    ascent = dual_ascent_cpu.ascend((indptr, indices, weights), np.array([0, 2]), 0)
    assert Fraction(ascent.bound) <= Fraction(weights[0]) + Fraction(weights[2])
    assert ascent.bound >= 4 * size * (1 - 1e-15) or size < 1e-300  # valid at least


def test_a_bound_is_never_rounded_up():
    # 0.1 + 0.2 is 0.30000000000000004 as a sum of floats, and less in truth.
    indptr, indices = np.array([0, 1, 3, 4]), np.array([1, 0, 2, 1], np.int32)
    weights = np.array([0.1, 0.1, 0.2, 0.2])
    ascent = dual_ascent_cpu.ascend((indptr, indices, weights), np.array([0, 2]), 0)
    assert Fraction(ascent.bound) <= Fraction(0.1) + Fraction(0.2)
    assert ascent.bound == pytest.approx(0.3, rel=1e-15)


def test_past_the_deadline_a_bound_of_0_stands():
    indptr, indices = np.array([0, 1, 2]), np.array([1, 0], np.int32)
    weights = np.array([3, 3], np.int32)
    ascent = dual_ascent_cpu.ascend((indptr, indices, weights), np.array([0, 1]), 0, Deadline(0))
    assert (ascent.bound, ascent.complete) == (0, False)
    assert ascent.reduced.tolist() == [3, 3]


@needs_steinlib
def test_steinlib():
    tight = []
    for name, graph, terminals, optimum in steinlib("BCDE"):
        bound = dual_ascent_cpu.ascend(csr_of(graph), terminals, terminals[0]).bound
        assert 0.95 * optimum <= bound <= optimum, name
        tight.append(bound == optimum)
    assert len(tight) == 78
    assert sum(tight) >= 45
