"""Shortest paths over any number of ranks are those of one device, predecessors included."""

from contextlib import ExitStack
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import CopyModel
from mgraph.shortest_paths import partitioned_delta_stepping, partitioned_delta_stepping_cpu
from mgraph.shortest_paths.partitioned_delta_stepping import Limits
from mgraph.shortest_paths.problem import check_request
from mgraph.shortest_paths.sssp import sssp
from tests.partitioned.ranks import on_ranks
from tests.strategies import graphs

# What decides when a rank sends, pulls, and lets vertices be late, and extremes of it.
tunings = st.fixed_dictionaries(
    {
        "FEW_VERTICES": st.sampled_from([1, 1 << 20]),
        "LATE_SHARE": st.sampled_from([0, 1]),
        "PULL_COST": st.sampled_from([0, 1 / 4, 1e9]),
    }
)


def tuned(**values):
    """Set constants of the module, those that differ between backends for both."""
    stack = ExitStack()
    for name, value in values.items():
        if isinstance(getattr(partitioned_delta_stepping, name), dict):
            value = {"cpu": value, "gpu": value}
        stack.enter_context(mock.patch.object(partitioned_delta_stepping, name, value))
    return stack


def searched(
    graph, size, sources, *, targets=None, stop_at="last", cutoff=None, delta=None, backend="cpu"
):
    """Return the distances and predecessors of all vertices, and the rounds."""
    request = check_request(
        graph, sources, joint=True, targets=targets, stop_at=stop_at, cutoff=cutoff
    )
    limits = Limits(request.targets, request.stop_at_first, request.cutoff)

    def program(exchange, rank_graph):
        return partitioned_delta_stepping.search(
            exchange, rank_graph, request.sources[0], limits, dtype=request.dtype,
            delta=delta, predecessors=True,
        )  # fmt: skip

    found = on_ranks(graph, size, program, backend=backend)
    distance, predecessor = (
        np.concatenate([each if isinstance(each, np.ndarray) else each.get() for each in arrays])
        for arrays in zip(*[(paths.distance, paths.predecessor) for paths in found], strict=True)
    )
    return distance, predecessor, found[0].rounds


def assert_same(graph, size, sources, delta=None, on="cpu", tuning=None, **options):
    expected = sssp(
        graph, sources, method="dijkstra", backend="cpu", joint=True, predecessors=True, **options
    )
    with tuned(**(tuning or {})):
        distance, predecessor, rounds = searched(
            graph, size, sources, delta=delta, backend=on, **options
        )
    assert distance.dtype == expected.distance.dtype
    np.testing.assert_array_equal(distance, expected.distance)
    np.testing.assert_array_equal(predecessor, expected.predecessor)
    return rounds


@given(data=st.data(), size=st.integers(1, 4))
@settings(deadline=None, max_examples=200)
def test_distances_and_predecessors_are_one_devices(data, size):
    graph = data.draw(graphs())
    vertices = st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=3)
    assert_same(
        graph,
        size,
        data.draw(vertices),
        data.draw(st.sampled_from([None, 1e-3, 5.0, 1e12])),
        tuning=data.draw(tunings),
        targets=data.draw(st.none() | vertices),
        stop_at=data.draw(st.sampled_from(["first", "last"])),
        cutoff=data.draw(st.none() | st.floats(0, 2000)),
    )


@pytest.mark.parametrize("dtype", [np.int32, np.float32])
@pytest.mark.parametrize("size", [2, 3])
def test_larger_graphs(dtype, size):
    model = CopyModel(20_000, 5, p=0.3, weights=(0, 40))
    edges, _ = model.edges(backend="cpu")
    edges = mgraph.EdgeList(edges.src, edges.dst, edges.weight.astype(dtype))
    graph = mgraph.from_edges(edges, model.n, directed=False, backend="cpu")
    assert assert_same(graph, size, [7]) < 300
    assert_same(graph, size, [19_999, 3], targets=[11, 12])


@pytest.mark.parametrize(("pull_cost", "name"), [(0, "pull"), (1e9, "push")])
def test_directions(pull_cost, name):
    """Where pulling costs little all steps do it, else those after which arcs are left push."""
    model = CopyModel(5000, 5, weights=(1, 40))
    edges, _ = model.edges(backend="cpu")
    graph = mgraph.from_edges(edges, model.n, directed=False, backend="cpu")
    search, calls = partitioned_delta_stepping_cpu.Search, []
    with ExitStack() as stack:
        for method in ("push", "pull"):
            function = getattr(search, method)
            noted = mock.patch.object(
                search, method, lambda self, f=function, m=method: (calls.append(m), f(self))
            )
            stack.enter_context(noted)
        assert_same(graph, 2, [7], 3, tuning={"PULL_COST": pull_cost})
    assert len(calls) > 8
    assert calls.count(name) >= 0.8 * len(calls)


def test_ranks_send_before_they_are_done():
    """A rank that has expanded many vertices sends what it knows."""
    model = CopyModel(5000, 5, weights=(1, 40))
    edges, _ = model.edges(backend="cpu")
    graph = mgraph.from_edges(edges, model.n, directed=False, backend="cpu")
    rounds = [
        assert_same(graph, 2, [7], 1e9, tuning={"FEW_VERTICES": few, "LATE_SHARE": 0})
        for few in (1 << 20, 1)
    ]
    assert rounds[0] + 4 < rounds[1]


def test_few_vertices_may_be_late():
    model = CopyModel(5000, 5, weights=(1, 40))
    edges, _ = model.edges(backend="cpu")
    graph = mgraph.from_edges(edges, model.n, directed=False, backend="cpu")
    rounds = [assert_same(graph, 2, [7], 3, tuning={"LATE_SHARE": late}) for late in (0, 1)]
    assert rounds[1] < rounds[0]
