"""Breadth-first search's kernel in the emulator returns the CPU's distances and predecessors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import EdgeList
from mgraph.shortest_paths import bfs_gpu
from mgraph.shortest_paths.sssp import sssp
from tests import emulator
from tests.steiner import emulated
from tests.strategies import graphs

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")
host = emulated.host  # a fixture


def assert_same(graph, sources, predecessors=True, targets=(), stop_at="last", cutoff=None):
    expected = sssp(
        graph, sources, method="bfs", backend="cpu", predecessors=predecessors, joint=True,
        targets=list(targets) or None, stop_at=stop_at, cutoff=cutoff,
    )  # fmt: skip
    distance = emulated.empty(graph.n, np.int32)
    predecessor = emulated.empty(graph.n, np.int32) if predecessors else None
    searcher = bfs_gpu.Searcher(emulated.on_host(graph), predecessors=predecessors)
    searcher.launch(
        np.unique(sources),
        distance=distance,
        predecessor=predecessor,
        targets=np.unique(targets).astype(np.int32),
        stop_at_first=stop_at == "first",
        cutoff=2**31 - 2 if cutoff is None else cutoff,
    )
    np.testing.assert_array_equal(distance, expected.distance)
    if predecessors:
        np.testing.assert_array_equal(predecessor, expected.predecessor)


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_levels_and_predecessors_are_the_cpus(host, data):
    graph = data.draw(graphs(dtypes=(None,), most=70))
    host.seed = data.draw(st.integers(1, 1 << 30))
    vertices = st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=3)
    assert_same(
        graph,
        data.draw(vertices),
        data.draw(st.booleans()),
        data.draw(st.just([]) | vertices),
        data.draw(st.sampled_from(["first", "last"])),
        data.draw(st.none() | st.integers(0, 3)),
    )


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_levels_of_many_arcs(host, directed, seed):
    """More than one block expands, a long row in pieces; bottom-up in an undirected graph."""
    random = np.random.default_rng(seed)
    n, tail = 500, 40
    src, dst = random.integers(0, n, (2, 6000))
    src[:700] = 9
    path = np.arange(n, n + tail)
    edges = EdgeList(np.append(src, path), np.append(dst, path - 1))
    graph = mgraph.from_edges(edges, directed=directed, backend="cpu")
    for sources in ([1], [3, n + tail - 1]):
        assert_same(graph, sources)
