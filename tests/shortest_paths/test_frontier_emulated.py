"""Frontier searches' and predecessors' kernels in the emulator return the CPU's results."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.shortest_paths import frontier_gpu, predecessors_gpu
from mgraph.shortest_paths.problem import length_dtype
from mgraph.shortest_paths.sssp import sssp
from tests import emulator
from tests.steiner import emulated
from tests.strategies import graphs

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")
host = emulated.host  # a fixture


@pytest.mark.parametrize("by_arc", [False, True])
@given(data=st.data())
@settings(deadline=None, max_examples=80)
def test_distances_and_predecessors_are_the_cpus(host, by_arc, data):
    graph = data.draw(graphs(most=14))
    host.seed, source = data.draw(st.integers(1, 1 << 30)), data.draw(st.integers(0, graph.n - 1))
    expected = sssp(graph, source, method="dijkstra", backend="cpu", predecessors=True)
    on_host, length = emulated.on_host(graph), length_dtype(graph)
    distance = emulated.empty(graph.n, length)
    cutoff = np.nextafter(np.inf, 0) if length.kind == "f" else np.iinfo(length).max - 1
    frontier_gpu.Searcher(on_host, length, by_arc=by_arc).launch(
        np.array([source]),
        distance,
        targets=np.empty(0, np.int32),
        stop_at_first=False,
        cutoff=length.type(cutoff),
    )
    assert distance.dtype == expected.distance.dtype
    np.testing.assert_array_equal(distance, expected.distance)
    predecessor = emulated.empty(graph.n, np.int32)
    finder = predecessors_gpu.PredecessorFinder(on_host, length)
    finder.find(distance, np.array([source]), predecessor)
    np.testing.assert_array_equal(predecessor, expected.predecessor)
