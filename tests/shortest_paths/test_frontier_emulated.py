"""The frontier methods' kernels without a GPU, and predecessors': the answers of the CPU."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
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
@settings(
    deadline=None, max_examples=80, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_distances_and_predecessors_are_the_cpus(host, by_arc, data):
    graph = data.draw(graphs(most=14))
    host.seed, source = data.draw(st.integers(1, 1 << 30)), data.draw(st.integers(0, graph.n - 1))
    expected = sssp(graph, source, method="dijkstra", backend="cpu", predecessors=True)
    there, length = emulated.on_host(graph), length_dtype(graph)
    distance = emulated.empty(graph.n, length)
    most = np.nextafter(np.inf, 0) if length.kind == "f" else np.iinfo(length).max - 1
    frontier_gpu.Searcher(there, length, by_arc=by_arc).launch(
        np.array([source]),
        distance,
        targets=np.empty(0, np.int32),
        stop_at_first=False,
        cutoff=length.type(most),
    )
    assert distance.dtype == expected.distance.dtype
    np.testing.assert_array_equal(distance, expected.distance)
    predecessor = emulated.empty(graph.n, np.int32)
    finder = predecessors_gpu.Finder(there, length)
    finder.run(distance, np.array([source]), predecessor)
    np.testing.assert_array_equal(predecessor, expected.predecessor)
