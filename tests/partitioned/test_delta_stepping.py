"""Shortest paths over any number of ranks are those of one device, predecessors included."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import CopyModel
from mgraph.shortest_paths import partitioned_delta_stepping
from mgraph.shortest_paths.partitioned_delta_stepping import Limits
from mgraph.shortest_paths.problem import check_request
from mgraph.shortest_paths.sssp import sssp
from tests.partitioned.ranks import on_ranks
from tests.strategies import graphs


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


def assert_same(graph, size, sources, delta=None, on="cpu", **options):
    expected = sssp(
        graph, sources, method="dijkstra", backend="cpu", joint=True, predecessors=True, **options
    )
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
