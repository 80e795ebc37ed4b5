"""A search goes on where it is faster, and no distance depends on where that is."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.shortest_paths import sssp as front_door
from mgraph.shortest_paths import sssp_cpu, sssp_gpu
from mgraph.shortest_paths.problem import SearchOptions, check_request
from mgraph.shortest_paths.sssp import sssp
from tests.strategies import graphs

OPTIONS = SearchOptions("auto", True, None, None, None, None, False, None)


def path_and_star(leaves, *, weighted=False):
    """A path of 1,000 vertices, from 0 on, whose last is the hub of a star."""
    hub, last = 1000, 1000 + leaves
    src = np.arange(1, last + 1, dtype=np.int32)
    dst = np.where(src <= hub, src - 1, hub).astype(np.int32)
    weight = np.ones(last, np.int32) if weighted else None
    return from_edges(EdgeList(src, dst, weight), directed=False, backend="cpu")


@given(data=st.data())
@settings(deadline=None, max_examples=100)
def test_pauses_change_no_distance(data):
    graph = data.draw(graphs(most=14))
    vertices = st.integers(0, graph.n - 1)
    source, targets = data.draw(vertices), data.draw(st.lists(vertices, max_size=3))
    stop_at = data.draw(st.sampled_from(["first", "last"]))
    options = {"targets": targets or None, "stop_at": stop_at, "cutoff": data.draw(
        st.sampled_from([None, 10])
    )}  # fmt: skip
    expected = sssp(graph, source, method="dijkstra", backend="cpu", predecessors=True, **options)
    request = check_request(graph, source, joint=False, **options)
    search = sssp_cpu.PausingSearch(request, OPTIONS)
    for max_pending in data.draw(st.lists(st.integers(0, 5), max_size=6)):
        search.run(max_pending)
    assert search.run()
    distance, predecessor = search.results()
    np.testing.assert_array_equal(distance[0], expected.distance)
    np.testing.assert_array_equal(predecessor[0], expected.predecessor)


class Gpu:
    """In place of a GPU. is_slow: whether it gives up. asked: how often."""

    def __init__(self, is_slow):
        self.is_slow, self.asked = is_slow, 0

    def search(self, request, options, patience):
        self.asked += 1
        assert options.method == "self_tuning"  # there are few arcs per vertex
        assert 0 < patience[0] < 1
        assert patience[1] > 1e6  # vertices per second
        cpu = options._replace(method="dijkstra")
        return None if self.is_slow else sssp_cpu.search(request, cpu)[:2]


@pytest.fixture
def gpu(request, monkeypatch):
    stand_in = Gpu(getattr(request, "param", False))
    monkeypatch.setattr(front_door, "_choose_backend", lambda *request: "gpu")
    monkeypatch.setattr(sssp_gpu, "search_unless_slow", stand_in.search)
    return stand_in


@pytest.mark.parametrize("weighted", [False, True])
def test_a_core_keeps_a_path(gpu, weighted):
    graph = path_and_star(leaves=1, weighted=weighted)
    paths = mgraph.sssp(graph, 0, predecessors=True)
    assert (paths.method, paths.backend, gpu.asked) == (
        "dijkstra" if weighted else "bfs", "cpu", 0,
    )  # fmt: skip
    assert paths.distance.tolist() == list(range(1002))
    assert paths.predecessor.tolist() == [-1, *range(1001)]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("gpu", [False, True], indirect=True)
def test_a_gpu_takes_what_has_many_vertices_at_a_time_unless_it_is_slow(gpu, weighted):
    graph = path_and_star(leaves=100, weighted=weighted)
    paths = mgraph.sssp(graph, 0, predecessors=True)
    core = "dijkstra" if weighted else "bfs"
    where = (core, "cpu") if gpu.is_slow else ("self_tuning", "gpu")
    assert (paths.method, paths.backend, gpu.asked) == (*where, 1)
    assert paths.distance.tolist() == [*range(1001), *[1001] * 100]
    assert paths.predecessor.tolist() == [-1, *range(1000), *[1000] * 100]


@pytest.mark.parametrize(
    "options", [{"backend": "gpu"}, {"method": "self_tuning"}, {"set_point": 100.0}]
)
def test_who_names_a_device_or_a_method_gets_it(gpu, options, monkeypatch):
    asked = []

    def search(request, options):
        asked.append(options.method)
        return np.zeros((1, request.graph.n), request.dtype), None, None

    monkeypatch.setattr(sssp_gpu, "search", search)
    paths = mgraph.sssp(path_and_star(leaves=1, weighted=True), 0, **options)
    assert (asked, paths.backend, gpu.asked) == (["self_tuning"], "gpu", 0)
