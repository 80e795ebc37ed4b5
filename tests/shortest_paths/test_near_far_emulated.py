"""Near-far, self-tuning and heap searches without a GPU: the kernel in the emulator.

The host packs the structs that the kernel takes, and distances equal the CPU's under many orders of
events, also with lists that are too short and with heaps in use.
"""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.core import cancellation_gpu
from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.shortest_paths import near_far_gpu
from mgraph.shortest_paths.problem import length_dtype
from mgraph.shortest_paths.sssp import sssp
from mgraph.shortest_paths.trace import FIELDS
from tests import emulator
from tests.emulator.primitives import use_numpy
from tests.strategies import graphs

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")

THREADS, PROCESSORS = 64, 3


class Kernel:
    """What CuPy's RawKernel is to the host code. seed: of the order of events."""

    seed = 1

    def __init__(self, source, name, defines):
        self.source, self.name, self.defines = source, name, defines
        self.max_dynamic_shared_size_bytes = 0
        self.kernel = self  # CuPy's function that launches cooperatively

    def __call__(self, grid, block, arguments, shared, enable_cooperative_groups):
        assert enable_cooperative_groups
        assert shared == self.max_dynamic_shared_size_bytes
        Kernel.seed += 1
        emulator.launch(
            self.source, self.name, self.defines, grid[0], block[0], arguments,
            shared=shared, seed=Kernel.seed,
        )  # fmt: skip


@pytest.fixture(scope="module", autouse=True)
def host():
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "cupy", emulator.numpy_as_cupy())
        use_numpy(patch)
        patch.setattr(near_far_gpu, "THREADS", THREADS)
        patch.setattr(near_far_gpu, "multiprocessors", lambda: PROCESSORS)
        patch.setattr(near_far_gpu, "free_bytes", lambda: 1 << 24)
        patch.setattr(
            cancellation_gpu,
            "kernel",
            lambda source, name, **defines: Kernel(source, name, defines),
        )
        yield


def launch(graph, sources, *, heaps=False, concurrency=None, change=None, **options):
    length = length_dtype(graph)
    searcher = near_far_gpu.Searcher(graph, length, len(sources), concurrency, heaps)
    if change:
        change(searcher)
    cutoff = np.nextafter(np.inf, 0) if length.kind == "f" else np.iinfo(length).max - 1
    options = {"mean_weight": graph.mean_weight or 1.0, "cutoff": cutoff} | options
    return searcher, searcher.launch([np.array([source]) for source in sources], **options)


def expected_distances(graph, sources, **options):
    return sssp(graph, sources, method="dijkstra", backend="cpu", **options).distance


def hub_graph(leaves, seed, dtype=np.int32):
    """A hub with many leaves, and arcs among the leaves that improve many of them."""
    random = np.random.default_rng(seed)
    src = np.concatenate([np.zeros(leaves), random.integers(1, leaves, leaves)]).astype(np.int32)
    dst = np.concatenate([np.arange(1, leaves + 1), random.integers(1, leaves, leaves)])
    weights = np.concatenate([random.integers(1, 1000, leaves), random.integers(1, 99, leaves)])
    edges = EdgeList(src, dst.astype(np.int32), weights.astype(dtype))
    return from_edges(edges, directed=False, backend="cpu")


METHODS = {
    "near_far": {"delta": 3.0},
    "self_tuning": {"set_point": 20.0},
    "one hop": {"set_point": 20.0, "hops": 1},
}


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_distances_are_the_cpus(method, data):
    graph = data.draw(graphs(most=14))
    sources = data.draw(st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=4))
    Kernel.seed = data.draw(st.integers(1, 1 << 30))
    concurrency = data.draw(st.sampled_from([None, 1, 2]))
    _, launched = launch(graph, sources, concurrency=concurrency, **METHODS[method])
    expected = expected_distances(graph, sources)
    np.testing.assert_array_equal(launched.distance, expected.reshape(launched.distance.shape))


@pytest.mark.parametrize("method", METHODS)
@given(data=st.data())
@settings(deadline=None, max_examples=25)
def test_targets_end_a_search_once_they_are_settled(method, data):
    graph = data.draw(graphs(dtypes=["int32", "float64"], most=14))
    vertices = st.integers(0, graph.n - 1)
    source, targets = data.draw(vertices), data.draw(st.lists(vertices, min_size=1, max_size=3))
    Kernel.seed, first = data.draw(st.integers(1, 1 << 30)), data.draw(st.booleans())
    options = {"targets": np.unique(targets), "stop_at_first": first}
    _, launched = launch(graph, [source], **options, **METHODS[method])
    expected = expected_distances(graph, [source])
    bound = (np.min if first else np.max)(expected[targets])
    within = expected <= bound
    np.testing.assert_array_equal(launched.distance[0][within], expected[within])


def test_no_path_is_longer_than_the_cutoff():
    graph = hub_graph(50, seed=1)
    _, launched = launch(graph, [7], set_point=20.0, cutoff=np.int32(500))
    expected = expected_distances(graph, [7], cutoff=500)
    np.testing.assert_array_equal(launched.distance[0], expected)


def shorten(searcher):
    """Lists so short that entries are lost, and far queues rebuilt."""
    searcher._allocate(near=8, pieces=searcher._choose_piece_capacity(), chunk=1)


@pytest.mark.parametrize("method", METHODS)
def test_lists_that_are_too_short_change_no_distance(method, monkeypatch):
    monkeypatch.setattr(near_far_gpu, "CHUNKS", 160)  # of one entry; a block has 134 vertices
    graph = hub_graph(400, seed=2)
    _, launched = launch(graph, [0], change=shorten, trace_rows=500, **METHODS[method])
    np.testing.assert_array_equal(launched.distance[0], expected_distances(graph, [0]))
    assert launched.trace[:, FIELDS.index("x1")].sum() > graph.n  # some were expanded again


@pytest.mark.parametrize("free_bytes", [1 << 24, 0])  # a heap for all, or of few nodes
@pytest.mark.parametrize("dtype", [np.int32, np.float64])
def test_far_entries_go_through_heaps(dtype, free_bytes, monkeypatch):
    graph = hub_graph(4000, seed=3, dtype=dtype)
    expected = expected_distances(graph, [0])
    monkeypatch.setattr(near_far_gpu, "free_bytes", lambda: free_bytes)
    searcher, launched = launch(graph, [0], heaps=True, set_point=50.0, cutoff=expected.max())
    np.testing.assert_array_equal(launched.distance[0], expected)
    assert (searcher.heap_operations >= 2).all()


def test_a_trace_has_a_row_per_iteration():
    graph = hub_graph(300, seed=4)
    _, launched = launch(graph, [0], set_point=100.0, trace_rows=500)
    iterations = int(launched.iterations[0])
    trace = dict(zip(FIELDS, launched.trace[1 : iterations + 1].T, strict=True))
    assert 1 < iterations < 500
    assert not launched.trace[iterations + 1 :].any()
    assert trace["x1"].sum() >= graph.n
    assert trace["x2"].sum() >= graph.num_arcs
    assert (trace["nanoseconds"] > 0).all()


def test_a_cancelled_search_ends_early(monkeypatch):
    flag = np.ones(1, np.uint32)
    monkeypatch.setattr(cancellation_gpu, "cancel_flag", lambda: np.uint64(flag.ctypes.data))
    graph = hub_graph(300, seed=5)
    _, launched = launch(graph, [0], set_point=10.0)
    assert (launched.distance[0] != expected_distances(graph, [0])).any()


def test_a_search_without_patience_gives_up():
    graph = hub_graph(300, seed=6)
    hasty = near_far_gpu.Patience(1e-12, 1e30)
    searcher, launched = launch(graph, [0], set_point=10.0, patience=hasty)
    assert searcher.gave_up(launched)
    fast_enough, not_yet_slow = near_far_gpu.Patience(1e-12, 0), near_far_gpu.Patience(1e9, 1e30)
    for patience in (near_far_gpu.ENDLESS, fast_enough, not_yet_slow):
        searcher, launched = launch(graph, [0], set_point=10.0, patience=patience)
        assert not searcher.gave_up(launched)
        np.testing.assert_array_equal(launched.distance[0], expected_distances(graph, [0]))


@pytest.mark.parametrize("options", [{"delta": 50.0}, {"set_point": 20.0}], ids=str)
def test_an_iteration_has_as_many_hops_as_it_may(options):
    """On a chain of arcs, one hop expands one vertex."""
    edges = EdgeList(np.arange(100), np.arange(1, 101), np.ones(100, np.int32))
    chain = from_edges(edges, directed=True, backend="cpu")
    iterations = {}
    for hops in (1, 16):
        _, launched = launch(chain, [0], hops=hops, trace_rows=200, **options)
        np.testing.assert_array_equal(launched.distance[0], np.arange(101))
        iterations[hops] = int(launched.iterations[0])
        expanded = launched.trace[1 : iterations[hops] + 1, FIELDS.index("x1")]
        assert expanded.max() <= hops
    assert iterations[1] >= 100 > 4 * iterations[16]
