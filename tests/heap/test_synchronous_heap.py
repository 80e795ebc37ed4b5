"""The synchronous heap does operations in order, in the emulator and on a GPU."""

import functools
import heapq
import sys

import numpy as np
import pytest

from mgraph.heap import synchronous_heap_gpu
from tests import emulator

WORD = np.dtype(np.uint32)


def draw_operations(rng, node):
    """Sizes, keys (sorted for each insertion), and the keys with those that deletions must give."""
    count = int(rng.integers(1, 60))
    sizes = np.zeros(count, np.uint32)
    keys = rng.integers(0, 500, count * node, WORD)
    expected, nodes, heap = keys.copy(), 0, []
    for j in range(count):
        row = slice(j * node, (j + 1) * node)
        if not nodes or rng.random() < 0.55:
            sizes[j], nodes = node, nodes + 1
            keys[row] = expected[row] = np.sort(keys[row])
            for key in keys[row].tolist():
                heapq.heappush(heap, key)
        else:
            nodes -= 1
            expected[row] = [heapq.heappop(heap) for _ in range(node)]
    return sizes, keys, expected


def launch_emulated(macros, threads, arguments, shared, *, blocks, seed):
    emulator.launch(
        synchronous_heap_gpu.KERNELS, "synchronous_heap_run", macros, blocks, threads, arguments,
        shared=shared, seed=seed,
    )  # fmt: skip


@pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")
def test_operations_are_done_in_order_in_the_emulator(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", emulator.numpy_as_cupy())
    for seed in range(1, 300):
        rng = np.random.default_rng(seed)
        node, blocks = int(rng.choice([2, 4])), int(rng.choice([1, 2, 3]))
        sizes, keys, expected = draw_operations(rng, node)
        launch = functools.partial(launch_emulated, blocks=blocks, seed=seed)
        monkeypatch.setattr(synchronous_heap_gpu, "_launch", launch)
        synchronous_heap_gpu.run(sizes, keys, node, 2)
        np.testing.assert_array_equal(keys, expected)


@pytest.mark.gpu
@pytest.mark.parametrize("node", [32, 1024])
def test_operations_are_done_in_order_on_a_gpu(node):
    import cupy

    for seed in range(30):
        sizes, keys, expected = draw_operations(np.random.default_rng(seed), node)
        device_keys = cupy.asarray(keys)
        synchronous_heap_gpu.run(cupy.asarray(sizes), device_keys, node, min(node, 512))
        np.testing.assert_array_equal(device_keys.get(), expected)
