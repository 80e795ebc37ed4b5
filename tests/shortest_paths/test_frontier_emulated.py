"""Frontier searches' and predecessors' kernels in the emulator return the CPU's results."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.shortest_paths import frontier_cpu, frontier_gpu, predecessors_gpu, sssp_cpu
from mgraph.shortest_paths.problem import check_request, length_dtype
from mgraph.shortest_paths.sssp import sssp
from tests import emulator
from tests.steiner import emulated
from tests.strategies import graphs

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")
host = emulated.host  # a fixture


def count_rounds(graph, source, by_arc, bound):
    """The rounds on a core."""
    request = check_request(graph, source, joint=False, targets=None, stop_at="last", cutoff=None)
    csr = sssp_cpu.rows_of(request)
    minima = np.zeros(graph.n if bound == "vertex" else 0, request.dtype)
    frontier_cpu.row_minima(csr[0], csr[2], minima)
    distance = np.full(graph.n, request.infinity, request.dtype)
    return frontier_cpu.find_distances(
        *csr, distance, request.sources[0], request.targets, False, request.cutoff,
        request.infinity, request.dtype.type(graph.weight_range[0]), by_arc, minima,
    )  # fmt: skip


@pytest.mark.parametrize("by_arc", [False, True])
@pytest.mark.parametrize("by_vertex_bound", [False, True])
@given(data=st.data())
@settings(deadline=None, max_examples=80)
def test_distances_and_predecessors_are_the_cpus(host, by_arc, by_vertex_bound, data):
    graph = data.draw(graphs(most=14))
    host.seed, source = data.draw(st.integers(1, 1 << 30)), data.draw(st.integers(0, graph.n - 1))
    expected = sssp(graph, source, method="dijkstra", backend="cpu", predecessors=True)
    on_host, length = emulated.on_host(graph), length_dtype(graph)
    distance = emulated.empty(graph.n, length)
    cutoff = np.nextafter(np.inf, 0) if length.kind == "f" else np.iinfo(length).max - 1
    searcher = frontier_gpu.Searcher(
        on_host, length, by_arc=by_arc, by_vertex_bound=by_vertex_bound
    )
    rounds = searcher.launch(
        np.array([source]),
        distance,
        targets=np.empty(0, np.int32),
        stop_at_first=False,
        cutoff=length.type(cutoff),
    )
    assert distance.dtype == expected.distance.dtype
    np.testing.assert_array_equal(distance, expected.distance)
    if by_vertex_bound:
        expected_rounds = count_rounds(graph, source, by_arc, "vertex")
        assert expected_rounds <= count_rounds(graph, source, by_arc, "graph")
        # Without marks a round also settles what it improves to the bound exactly.
        assert rounds[0] == expected_rounds if by_arc else rounds[0] <= expected_rounds
    predecessor = emulated.empty(graph.n, np.int32)
    finder = predecessors_gpu.PredecessorFinder(on_host, length)
    finder.find(distance, np.array([source]), predecessor)
    np.testing.assert_array_equal(predecessor, expected.predecessor)
