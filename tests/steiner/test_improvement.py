import itertools
import time

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.core.deadline import NEVER, Deadline
from mgraph.steiner import improvement, star, star_cpu
from tests.steiner import oracles
from tests.steiner.checks import check, cost_of, csr_of, edges_of, needs_steinlib, steinlib
from tests.steiner.strategies import problems, trees
from tests.stopped import PATIENCE


def searcher(graph):
    return star_cpu.new_search(
        *csr_of(graph), "int64" if graph.weights.dtype.kind == "i" else "float64"
    )


def improve(graph, tree, terminals, deadline=NEVER):
    return improvement.improve_tree(searcher(graph), csr_of(graph), tree, terminals, deadline)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_between_the_bound_and_the_given_tree(data):
    graph, terminals = data.draw(problems())
    tree = data.draw(trees(graph, terminals))
    improved = improve(graph, tree, terminals)
    optimum = float(oracles.optimum(graph, terminals))  # correctly rounded
    cost = check(graph, improved.tree, terminals)
    assert improved.bound <= optimum
    assert optimum * (1 - 1e-12) <= cost <= cost_of(tree) * (1 + 1e-12)
    # On so small a graph the tree is always optimal.
    assert cost <= optimum * (1 + 1e-8)


@settings(max_examples=30, deadline=None)
@given(data=st.data())
def test_always_the_same_tree(data):
    graph, terminals = data.draw(problems(max_vertices=14))
    tree = data.draw(trees(graph, terminals))
    first, second = (improve(graph, tree, terminals) for _ in range(2))
    assert first.bound == second.bound
    for column, again in zip(edges_of(first.tree), edges_of(second.tree), strict=True):
        assert np.array_equal(column, again)


@settings(max_examples=20, deadline=None)
@given(data=st.data())
def test_past_the_deadline_the_given_tree_is_returned(data):
    graph, terminals = data.draw(problems())
    tree = data.draw(trees(graph, terminals))
    improved = improve(graph, tree, terminals, Deadline(0))
    assert improved.bound == 0
    assert improved.tree is tree


def stars(letters):
    for name, graph, terminals, optimum in steinlib(letters):
        search = searcher(graph)
        ((_, query),) = star.solve_queries(search, [terminals])
        yield name, graph, terminals, optimum, search, query.tree


@needs_steinlib
def test_a_deadline_holds():
    five = list(itertools.islice(stars("E"), 5))
    for _, graph, terminals, _, search, tree in five:  # compiles what is timed below
        improvement.improve_tree(search, csr_of(graph), tree, terminals, NEVER)
    for _, graph, terminals, optimum, search, tree in five:
        start = time.process_time()
        improved = improvement.improve_tree(search, csr_of(graph), tree, terminals, Deadline(0.05))
        assert time.process_time() - start < PATIENCE
        assert improved.bound <= optimum <= check(graph, improved.tree, terminals) <= cost_of(tree)


@needs_steinlib
def test_steinlib():
    gaps, proven = {"B": [], "C": [], "D": []}, 0
    for name, graph, terminals, optimum, search, tree in stars("BCD"):
        improved = improvement.improve_tree(search, csr_of(graph), tree, terminals, NEVER)
        assert improved.bound <= optimum <= check(graph, improved.tree, terminals) <= cost_of(tree)
        gaps[name[0]].append(cost_of(improved.tree) / optimum - 1)
        proven += improved.bound == cost_of(improved.tree)
    assert np.mean(gaps["B"]) < 0.001
    assert np.mean(gaps["C"]) < 0.002
    assert np.mean(gaps["D"]) < 0.002
    assert proven >= 50
