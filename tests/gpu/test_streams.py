"""Kernels whose blocks wait for each other, on several streams at once: none waits for ever."""

import threading

import numpy as np
import pytest

import mgraph
from mgraph import EdgeList

pytestmark = [pytest.mark.gpu, pytest.mark.timeout(200)]

REPEATS = 30


@pytest.fixture(scope="module")
def graph():
    random = np.random.default_rng(5)
    n, count = 50_000, 200_000
    ends = random.integers(0, n, (2, count), np.int32)
    weight = random.integers(1, 1000, count, np.int32)
    chain = np.arange(1, n, dtype=np.int32)
    edges = EdgeList(
        np.concatenate([ends[0], chain]),
        np.concatenate([ends[1], chain - 1]),
        np.concatenate([weight, np.full(n - 1, 1000, np.int32)]),
    )
    return mgraph.from_edges(edges, n, directed=False, drop_loops=True).to_gpu()


def searching(method):
    return lambda graph: mgraph.sssp(graph, 7, method=method, backend="gpu").distance.get()


def forest(graph):
    return mgraph.minimum_spanning_forest(graph, method="filter_boruvka").weight.get()


def tree(graph):
    return mgraph.steiner_tree(graph, [1, 500, 40_000, 123], backend="gpu").weight


WORK = {
    "near_far": searching("near_far"),
    "self_tuning": searching("self_tuning"),
    "frontier": searching("frontier_edge"),
    "forest": forest,
    "tree": tree,
}


@pytest.mark.parametrize(
    ("first", "second"),
    [("near_far", "near_far"), ("frontier", "self_tuning"), ("forest", "near_far"),
     ("forest", "forest"), ("tree", "self_tuning"), ("tree", "forest")],
)  # fmt: skip
def test_two_streams_at_once(graph, first, second):
    import cupy

    expected = {name: np.asarray(WORK[name](graph)) for name in (first, second)}
    failed = []

    def work(name):
        try:
            with cupy.cuda.Stream(non_blocking=True) as stream:
                for _ in range(REPEATS):
                    np.testing.assert_array_equal(WORK[name](graph), expected[name])
                stream.synchronize()
        except BaseException as error:
            failed.append(error)

    cupy.cuda.Device().synchronize()
    threads = [threading.Thread(target=work, args=(name,), daemon=True) for name in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads), "they wait for each other"
    assert not failed, failed
