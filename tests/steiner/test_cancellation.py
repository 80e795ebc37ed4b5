"""Cancelled queries end soon, and queries that are not cancelled have the same results."""

import functools

import numpy as np
import pytest

import mgraph
from mgraph.core import cancellation
from mgraph.steiner import star
from mgraph.steiner.improvement import improve
from mgraph.steiner.prepared import prepare
from tests import stopped

OPTIONS = {
    "star": {"search": "dijkstra"},
    "takahashi_matsuyama": {"method": "takahashi_matsuyama"},
    "mehlhorn": {"method": "mehlhorn"},
    "bound": {"search": "dijkstra", "bound": True},
    "improve": {"search": "dijkstra", "improve": True},
}


@functools.cache
def grid(side):
    """A square grid with weights: searches go far in it."""
    at = np.arange(side * side, dtype=np.int32).reshape(side, side)
    src = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    dst = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    weight = np.random.default_rng(1).integers(1, 100, src.size, np.int32)
    edges = mgraph.EdgeList(src, dst, weight)
    return mgraph.from_edges(edges, side * side, directed=False, backend="cpu")


def terminals_of(graph, count):
    return np.random.default_rng(1).choice(graph.n, count, replace=False)


def solve(graph, options, count):
    queries = [terminals_of(graph, 20)] * count
    return list(mgraph.steiner_trees(graph, queries, backend="cpu", **OPTIONS[options]))


@pytest.mark.parametrize("options", OPTIONS)
def test_a_cancelled_query_ends(options):
    trees = stopped.both_ways(lambda: solve(grid(20), options, 1)[0][1])
    assert trees[0].cost == trees[1].cost
    np.testing.assert_array_equal(*(tree.src for tree in trees))
    large = grid(1 << 11)
    assert prepare(large).csr
    run = lambda: solve(large, options, 8)  # noqa: E731
    assert stopped.seconds_to_stop(run, after=0.5) < stopped.PATIENCE


def test_a_search_works_after_it_was_cancelled():
    """It is cancelled a dozen times, each time at another point."""
    graph, terminals = grid(300), terminals_of(grid(300), 6)
    before = mgraph.steiner_tree(graph, terminals, backend="cpu", search="dijkstra")
    finished = 0
    for after in np.linspace(0, 0.3, 12):
        try:
            stopped.seconds_to_stop(
                lambda: mgraph.steiner_tree(graph, terminals, backend="cpu", search="dijkstra"),
                after=after,
            )
        except AssertionError:  # it was done before it was cancelled
            finished += 1
    after = mgraph.steiner_tree(graph, terminals, backend="cpu", search="dijkstra")
    assert finished < 12
    assert after.cost == before.cost
    np.testing.assert_array_equal(after.src, before.src)


def test_a_cancelled_search_returns_no_result():
    """In contrast to a search whose time is over."""
    graph = grid(20)
    ready, terminals = prepare(graph), np.sort(terminals_of(graph, 8))
    with ready.borrow_search("cpu") as search:
        ((_, query),) = star.solve_queries(search, [terminals])
        with cancellation.cancelled_when(lambda: True):
            with pytest.raises(cancellation.Cancelled):
                list(star.solve_queries(search, [terminals]))
            with pytest.raises(cancellation.Cancelled):
                improve.improve_tree(ready.csr, query.tree, terminals, query.deadline)


def test_a_cancelled_contraction_ends():
    graph = mgraph.from_edges(
        mgraph.EdgeList([0, 1], [1, 2], np.zeros(2, np.int32)), 3, directed=False, backend="cpu"
    )
    with pytest.raises(cancellation.Cancelled), cancellation.cancelled_when(lambda: True):
        mgraph.steiner_tree(graph, [0, 2], backend="cpu")
    assert mgraph.steiner_tree(graph, [0, 2], backend="cpu").cost == 0
