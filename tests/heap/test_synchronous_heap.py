"""The synchronous heap, without a GPU and with one, does what it is told in that order."""

import heapq

import numpy as np
import pytest

from mgraph.heap import synchronous_heap_gpu
from tests import emulator

WORD = np.dtype(np.uint32)


def operations(rng, node):
    """Sizes, keys with each insertion's sorted, and what deletions must give."""
    count = int(rng.integers(1, 60))
    sizes = np.zeros(count, np.uint32)
    keys = rng.integers(0, 500, count * node, WORD)
    expected, there, heap = keys.copy(), 0, []
    for j in range(count):
        here = slice(j * node, (j + 1) * node)
        if not there or rng.random() < 0.55:
            sizes[j], there = node, there + 1
            keys[here] = expected[here] = np.sort(keys[here])
            for key in keys[here].tolist():
                heapq.heappush(heap, key)
        else:
            there -= 1
            expected[here] = [heapq.heappop(heap) for _ in range(node)]
    return sizes, keys, expected


@pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")
def test_without_a_gpu():
    for seed in range(1, 300):
        rng = np.random.default_rng(seed)
        node, blocks = int(rng.choice([2, 4])), int(rng.choice([1, 2, 3]))
        sizes, keys, expected = operations(rng, node)
        depth, places = synchronous_heap_gpu.DEPTH, 127
        arguments = (
            np.zeros((places + 1) * node, WORD), np.zeros(places + 1, np.uint32),
            np.uint32(places), np.zeros((depth + 1) * node, WORD),
            np.zeros(3 * (depth + 1), np.uint32), sizes, np.uint64(sizes.size),
            keys, np.uint32(depth), np.zeros(1, np.uint64),
        )  # fmt: skip
        emulator.launch(
            synchronous_heap_gpu.KERNELS,
            "synchronous_heap_run",
            synchronous_heap_gpu.defines(WORD, node, 2),
            blocks,
            2,
            arguments,
            shared=3 * node * 4,
            seed=seed,
        )
        np.testing.assert_array_equal(keys, expected)


@pytest.mark.gpu
@pytest.mark.parametrize("node", [32, 1024])
def test_on_a_gpu(node):
    import cupy

    for seed in range(30):
        sizes, keys, expected = operations(np.random.default_rng(seed), node)
        ours = cupy.asarray(keys)
        synchronous_heap_gpu.run(cupy.asarray(sizes), ours, node, min(node, 512))
        np.testing.assert_array_equal(ours.get(), expected)
