"""Shortest paths with a heap: the same distances whenever it is used, and fewer vertices expanded.

The kernel runs on a CPU, too, in many orders of events.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.errors import UsageError
from mgraph.heap import batch_heap_gpu
from mgraph.shortest_paths import heap_search_gpu as gpu
from mgraph.shortest_paths.length_types_gpu import key_dtype
from mgraph.shortest_paths.problem import infinity_of, length_dtype
from mgraph.shortest_paths.sssp import sssp
from tests import emulator
from tests.emulator import aligned
from tests.strategies import graphs


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_any_threshold(data):
    graph = data.draw(graphs())
    vertices = st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=4)
    asked = {
        "targets": data.draw(st.none() | vertices),
        "stop_at": data.draw(st.sampled_from(["first", "last"])),
        "cutoff": data.draw(st.none() | st.floats(0, 2000)),
        "backend": "cpu",
    }
    source, threshold = data.draw(st.integers(0, graph.n - 1)), data.draw(st.integers(1, 6))
    expected = sssp(graph, source, method="dijkstra", **asked)
    found = sssp(graph, source, method="heap", heap_threshold=threshold, **asked)
    assert np.array_equal(found.distance, expected.distance)


def grid(side, seed=1):
    at = np.arange(side * side, dtype=np.int32).reshape(side, side)
    src = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    dst = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    weight = np.random.default_rng(seed).integers(1, 1000, src.size).astype(np.int32)
    return from_edges(EdgeList(src, dst, weight), directed=False, backend="cpu")


def test_the_heap_saves_expansions():
    """Of one vertex at a time it is Dijkstra's algorithm, and the more at a time the more."""
    graph = grid(60)
    expanded = []
    for threshold in (1, 20, 10**9):
        found = sssp(graph, 0, method="heap", heap_threshold=threshold, backend="cpu", trace=True)
        expanded.append(found.trace["x1"].sum())
        assert found.trace["x2"].sum() >= graph.m
    assert expanded[0] == graph.n < expanded[1] < expanded[2]


def test_stale_entries_make_room():
    """Hubs that come nearer again and again: more entries than the heap has room for."""
    n = 400
    hub = np.zeros(n, np.int32)
    chain = np.arange(n, dtype=np.int32)
    edges = EdgeList(
        np.concatenate([hub[1:], chain[:-1]]),
        np.concatenate([chain[1:], chain[1:]]),
        np.concatenate([np.arange(1, n) * 3, np.ones(n - 1)]).astype(np.int32),
    )
    graph = from_edges(edges, directed=True, backend="cpu")
    found = sssp(graph, 0, method="heap", heap_threshold=1, backend="cpu")
    expected = sssp(graph, 0, method="dijkstra", backend="cpu")
    assert np.array_equal(found.distance, expected.distance)


def test_wrong_use():
    graph = grid(3)
    with pytest.raises(UsageError, match="heap_threshold is a number of vertices from 1"):
        sssp(graph, 0, method="heap", heap_threshold=0)
    with pytest.raises(UsageError, match="heap_threshold belongs to method heap"):
        sssp(graph, 0, heap_threshold=5)


def emulated(graph, sources, targets, first_target, cutoff, *, heaps, places, many, blocks, seed):
    """Distances, by the kernel: what ``heap_search_gpu.Searcher`` does on a device."""
    node = threads = 32
    length = length_dtype(graph)
    key, n = key_dtype(length), graph.n
    weight = str(length) if graph.weights is None else str(graph.weights.dtype)
    rows = (places + batch_heap_gpu.SPARE_ROWS) * heaps
    distance = np.full(n, infinity_of(length), length)
    distance[sources] = 0
    updated = np.zeros(2 * n, np.int32)
    updated[: len(sources)] = sources
    large = 3
    most_large = int((np.diff(graph.indptr) > large).sum())
    pops = max(1, many // node)
    sums = np.zeros(18, np.uint64)
    sums[0] = len(sources)
    iterations, trace = np.zeros(1, np.uint64), np.zeros((1000, 5))
    emulator.launch(
        gpu.KERNELS, "heap_search", gpu.defines(weight, str(length), node, threads, large), blocks,
        threads,
        (graph.indptr, graph.indices.astype(np.int32),
         np.zeros(1, length) if graph.weights is None else graph.weights, np.int64(n),
         distance.view(key), np.zeros(n, np.uint32), updated,
         np.zeros(2 * most_large + 1, np.int32), np.int64(most_large),
         np.zeros(rows * node, f"u{length.itemsize}"), np.zeros(rows * node, np.uint32),
         aligned(rows * 8, np.uint32), aligned(heaps * batch_heap_gpu.COUNT_WORDS, np.uint64),
         np.uint32(heaps), np.uint32(places), np.uint32(places), np.uint64(10**6),
         np.uint32(many), np.uint32(pops), targets, np.int32(targets.size), np.int32(first_target),
         np.array(cutoff, length).view(key)[()], sums, np.zeros(1, np.uint64), trace,
         np.uint64(len(trace)), iterations),
        shared=gpu.shared_bytes(length, node, threads), seed=seed,
    )  # fmt: skip
    return distance, trace[1 : min(int(iterations[0]) + 1, len(trace))]


@pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")
@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_the_kernel_in_many_orders_of_events(dtype):
    entered = 0
    for seed in range(1, 200):
        rng = np.random.default_rng(seed)
        n, m = int(rng.integers(1, 300)), int(rng.integers(0, 900))
        ends = rng.integers(0, n, (2, m)).astype(np.int32)
        ends[0, : m // 4] = 0  # a hub
        weight = rng.integers(0, 30, m).astype(dtype)
        graph = from_edges(EdgeList(*ends, weight), n, directed=False, backend="cpu")
        sources = np.unique(rng.integers(0, n, rng.integers(1, 4))).astype(np.int32)
        targets = rng.integers(0, n, rng.choice([0, 0, 1, 3])).astype(np.int32)
        first, cutoff = bool(rng.random() < 0.5), rng.choice([20, 1000])
        blocks = int(rng.integers(1, 5))
        distance, trace = emulated(
            graph, sources, targets, first, cutoff, seed=seed, blocks=blocks,
            heaps=int(rng.integers(1, blocks, endpoint=True)), places=int(rng.choice([1, 15])),
            many=int(rng.choice([1, 40, 10**6])),
        )  # fmt: skip
        entered += trace[:, 3].any()
        found = infinity_of(distance.dtype)
        if targets.size:
            found = distance[targets].min() if first else distance[targets].max()
        distance[distance > found] = infinity_of(distance.dtype)
        expected = sssp(
            graph, sources, joint=True, method="dijkstra", backend="cpu", cutoff=cutoff,
            targets=targets if targets.size else None, stop_at="first" if first else "last",
        ).distance  # fmt: skip
        np.testing.assert_array_equal(distance, expected, err_msg=f"seed {seed}")
    assert entered > 40


@pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")
def test_the_kernels_heap_saves_expansions():
    """However many blocks there are."""
    graph, nobody = grid(40), np.zeros(0, np.int32)
    how = {"heaps": 1, "places": 127, "seed": 1}
    sources, most = np.zeros(1, np.int32), np.iinfo(np.int32).max - 1
    expanded = []
    for many, blocks in ((32, 1), (32, 6), (10**6, 6)):
        distance, trace = emulated(
            graph, sources, nobody, False, most, many=many, blocks=blocks, **how
        )
        expanded.append(trace[:, 0].sum())
        assert (distance == sssp(graph, 0, method="dijkstra", backend="cpu").distance).all()
    assert expanded[0] < 0.6 * expanded[2]
    assert expanded[1] < 0.6 * expanded[2]
