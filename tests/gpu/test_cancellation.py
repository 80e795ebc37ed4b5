"""Cancelled work on a GPU ends soon, and the device then does other work as before."""

import functools
import gc
import time

import numpy as np
import pytest

import mgraph
from mgraph import CopyModel, EdgeList
from mgraph.core import cancellation, cancellation_gpu
from mgraph.generators import preferential_attachment
from mgraph.knapsacks.pisinger import pisinger_instance
from mgraph.shortest_paths import near_far_gpu
from tests import stopped

pytestmark = pytest.mark.gpu


@functools.cache
def grid(side):
    """A square grid with weights, on the device: searches go far in it."""
    at = np.arange(side * side, dtype=np.int32).reshape(side, side)
    src = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    dst = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    weight = np.random.default_rng(1).integers(1, 100, src.size, np.int32)
    graph = mgraph.from_edges(EdgeList(src, dst, weight), side * side, directed=False)
    return graph.to_gpu()


def vertices(graph, count, seed=1):
    return np.random.default_rng(seed).choice(graph.n, count, replace=False)


@pytest.mark.parametrize("method", ["near_far", "self_tuning", "heap", "frontier_node"])
def test_searches_stop(method):
    small, large = grid(64), grid(1 << 12)
    sources = vertices(large, 100)
    _ = large.weight_range, large.mean_weight, large.max_degree

    def search(graph, sources):
        return mgraph.sssp(graph, sources, method=method, backend="gpu", predecessors=True)

    found = stopped.both_ways(lambda: search(small, [0, 99]))
    np.testing.assert_array_equal(*(one.distance.get() for one in found))
    took = stopped.seconds_to_stop(lambda: search(large, sources), after=0.5)
    print(f"{method}: {took:.3f} s")
    assert took < stopped.PATIENCE
    again = search(small, [0, 99])
    expected = mgraph.sssp(small.to_cpu(), [0, 99], method="dijkstra", backend="cpu")
    np.testing.assert_array_equal(again.distance.get(), expected.distance)
    near = mgraph.sssp(large, 7, method="self_tuning", backend="gpu", cutoff=2000)
    by_cpu = mgraph.sssp(large.to_cpu(), 7, method="dijkstra", backend="cpu", cutoff=2000)
    np.testing.assert_array_equal(near.distance.get(), by_cpu.distance)


def test_one_search_stops_within():
    """Not only between searches: a search in steps that are too small takes very long."""
    large = grid(1 << 12)
    _ = large.weight_range, large.mean_weight, large.max_degree
    run = lambda: mgraph.sssp(large, 0, method="near_far", delta=1, backend="gpu")  # noqa: E731
    mgraph.sssp(grid(64), 0, method="near_far", delta=1, backend="gpu")
    assert stopped.seconds_to_stop(run, after=0.3) < stopped.PATIENCE


def test_nobody_waits_for_the_compiler_who_is_stopped():
    searcher = near_far_gpu.Searcher(grid(64), np.dtype("int64"))

    def compile():
        # A macro that code does not use is not new to NVRTC, which keeps what it has compiled.
        name = f"new_{time.time_ns()}"
        new = {"NEW": f'\nextern "C" __global__ void {name}() {{}}'}
        cancellation_gpu.kernel(near_far_gpu.KERNELS, "near_far_search", **searcher.defines, **new)

    assert stopped.seconds_to_stop(compile, after=0.3) < stopped.PATIENCE


@pytest.mark.parametrize("options", [{}, {"search": "node"}, {"concurrency": 2000}])
def test_cancelled_steiner_queries_end(options):
    large = grid(1 << 11)
    queries = [vertices(large, 12, seed) for seed in range(2000)]

    def solve(graph, queries):
        return list(mgraph.steiner_trees(graph, queries, method="star", backend="gpu", **options))

    solve(large, queries[:1])
    for after in (0.5, 1.0, 0.7, 0.6):
        took = stopped.seconds_to_stop(lambda: solve(large, queries), after=after)
        print(f"{options}: {took:.3f} s")
        assert took < stopped.PATIENCE
    small = grid(64)
    terminals = vertices(small, 12)
    ((_, tree),) = solve(small, [terminals])
    expected = mgraph.steiner_tree(small.to_cpu(), terminals, method="star", backend="cpu")
    assert (tree.cost, tree.complete) == (expected.cost, True)
    np.testing.assert_array_equal(tree.src, expected.src)


def test_cancelled_initial_trees_end():
    """Breadth-first searches from many terminals, which reach all of a graph of long paths."""
    large = grid(1 << 12)
    corners = [0, large.n - 1]
    queries = [np.append(vertices(large, 100, seed), corners) for seed in range(500)]
    options = {"method": "star", "backend": "gpu", "concurrency": 500}
    run = lambda: list(mgraph.steiner_trees(large, queries, **options))  # noqa: E731
    list(mgraph.steiner_trees(large, [corners], method="star", backend="gpu"))
    assert stopped.seconds_to_stop(run, after=0.5) < stopped.PATIENCE


def test_a_whole_graph_is_no_longer_made():
    import cupy

    model = CopyModel(1 << 30, 8, 0.01, 1, "cuppa")
    grid.cache_clear()  # with it goes what searches on it keep
    gc.collect()
    cupy.get_default_memory_pool().free_all_blocks()
    if cupy.cuda.Device().mem_info[0] < 1.2 * 4 * model.edges_before(model.n):
        pytest.skip("needs a GPU with 42 GB of free memory")
    small = CopyModel(1 << 16, 8, 0.01, 1, "cuppa")
    generate = preferential_attachment.generate_endpoints
    expected = generate(small, backend="cpu")
    made = stopped.both_ways(lambda: generate(small, backend="gpu").get())
    np.testing.assert_array_equal(made[0], expected)
    run = lambda: generate(model, backend="gpu")  # noqa: E731
    assert stopped.seconds_to_stop(run, after=0.2) < stopped.PATIENCE
    again = generate(small, backend="gpu").get()
    np.testing.assert_array_equal(again, expected)


def test_a_stream_stops():
    model = CopyModel(1 << 30, 8)
    run = lambda: [  # noqa: E731
        block.checksum
        for block in preferential_attachment.stream(model, range(model.n), backend="gpu")
    ]
    assert stopped.seconds_to_stop(run, after=1.0) < stopped.PATIENCE


def test_a_knapsack_stops():
    def solved(kind, items, coefficients=1000):
        asked = pisinger_instance(kind, items, coefficients, 1)
        sizes = asked.profits, asked.weights, asked.capacity
        return mgraph.knapsack(*sizes, method="branch_and_bound", backend="gpu")

    found = stopped.both_ways(lambda: solved("uncorrelated", 1000))
    assert found[0].profit == found[1].profit
    run = lambda: solved("even_odd_subset_sum", 3000, 100_000)  # noqa: E731
    assert stopped.seconds_to_stop(run, after=0.3) < 2 * stopped.PATIENCE  # it sorts its nodes
    assert solved("uncorrelated", 1000).profit == found[0].profit


def test_words_are_of_the_work_and_stay_set():
    from mgraph.core import cancellation_gpu

    assert cancellation_gpu.cancel_flag() == 0
    with cancellation.cancelled_when(lambda: False):
        word = cancellation_gpu.cancel_flag()
        assert word == cancellation_gpu.cancel_flag() != 0
        cancellation_gpu.finish()
    with cancellation.cancelled_when(lambda: True):
        cancellation_gpu.cancel_flag()
        assert cancellation.current_token()()
        assert cancellation.current_token().device_flag[0] == 1
        with pytest.raises(cancellation.Cancelled):
            cancellation_gpu.finish()
