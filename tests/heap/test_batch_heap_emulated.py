"""The heap's kernels without a GPU, in many orders of events."""

import itertools

import numpy as np
import pytest

from mgraph.heap import batch_heap_cpu, batch_heap_gpu
from tests import emulator
from tests.emulator import aligned
from tests.heap import histories

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")

WORD = np.dtype(np.uint32)


class Memory:
    """A heap in host memory, as the kernels take it."""

    def __init__(self, node, capacity, places=None):
        self.node, self.places = node, places or (1 << capacity.bit_length()) - 1
        self.capacity = capacity
        rows = self.places + batch_heap_gpu.SPARE_ROWS
        self.keys = np.zeros(rows * node, WORD)
        self.values = np.zeros(rows * node, WORD)
        self.words = aligned(rows * 8, np.uint32)
        self.counts = aligned(batch_heap_gpu.COUNT_WORDS, np.uint64)

    @property
    def memory(self):
        return (self.keys, self.values, self.words, self.counts, np.uint32(self.capacity),
                np.uint32(self.places))  # fmt: skip

    def launch(self, name, threads, blocks, seed, *arguments):
        emulator.launch(
            batch_heap_gpu.KERNELS,
            f"batch_heap_{name}",
            batch_heap_gpu.defines(WORD, WORD, self.node, threads),
            blocks,
            threads,
            (*self.memory, *arguments),
            shared=batch_heap_gpu.shared_bytes(WORD, WORD, self.node),
            seed=seed,
        )  # fmt: skip


def counter():
    return np.zeros(1, np.uint64)


def run_history(rng, from_below, seed):
    """A random history, checked; returns its operations."""
    node = int(rng.choice([2, 4]))
    threads, blocks = int(rng.choice([2, node])), int(rng.integers(2, 7))
    count = int(rng.choice([6, 12, 30, 80]))
    partial, deletions = rng.choice([0, 0, 0.3, 1]), rng.choice([0.3, 0.5, 0.6])
    sizes = np.full(count, node, np.uint32)
    some = rng.random(count) < partial
    sizes[some] = rng.integers(1, node, some.sum(), endpoint=True)
    sizes[rng.random(count) < deletions] = 0
    given = rng.choice(1 << 31, count * node, replace=False).astype(WORD)
    memory = Memory(node, int(rng.choice([count, count, max(1, count // 4)])))
    found, found_values = given.copy(), ~given
    record = np.zeros((count, 6), np.uint64)
    memory.launch(
        "history", threads, blocks, seed, sizes, np.uint64(count), found, found_values,
        np.int32(from_below), counter(), record,
    )  # fmt: skip
    history = histories.operations(sizes, record, given, found, node)
    wrong, left = histories.heap_fault(memory.keys, memory.words, memory.counts, node)
    assert (wrong, seed) == (None, seed)
    assert (histories.fault(history, left, node), seed) == (None, seed)
    assert (found_values == ~found).all()
    return history


@pytest.mark.parametrize("from_below", [False, True])
def test_histories_are_linearizable(from_below):
    refused = overlapping = 0
    for seed in range(1, 4000):
        history = run_history(np.random.default_rng(seed), from_below, seed)
        refused += not all(one.done for one in history)
        overlapping += any(x.end > y.begin for x, y in itertools.pairwise(history))
    assert refused > 50  # so full heaps are among them,
    assert overlapping > 3900  # and operations at the same time


@pytest.mark.parametrize("from_below", [False, True])
@pytest.mark.parametrize(("node", "threads"), [(4, 4), (8, 2), (64, 32)])
def test_one_block_makes_the_heap_of_the_cpu(node, threads, from_below):
    rng = np.random.default_rng(node)
    memory, heap = Memory(node, 63), batch_heap_cpu.Heap(WORD, WORD, node)
    for turn in range(1, 60):
        if rng.random() < 0.6:
            keys = rng.integers(0, 1000, rng.integers(1, 4 * node), WORD)
            refused = np.zeros(1, np.uint32)
            memory.launch(
                "push", threads, 1, turn, keys, ~keys, np.uint64(keys.size), np.int32(from_below),
                counter(), refused,
            )  # fmt: skip
            heap.push(keys, ~keys)
            assert not refused[0]
        elif count := int(rng.integers(0, heap.size(), endpoint=True)):
            keys, values = np.zeros(count, WORD), np.zeros(count, WORD)
            memory.counts[batch_heap_gpu.REMOVED] = 0
            memory.launch("pop", threads, 1, turn, keys, values, np.uint64(count), counter())
            np.testing.assert_array_equal(keys, heap.pop(count)[0])
            np.testing.assert_array_equal(values, ~keys)
        nodes, buffered = heap._counts
        assert (memory.counts[0] & np.uint64(0xFFFFFFFF), memory.counts[8]) == (nodes, buffered)
        rows = memory.keys.reshape(-1, node)
        np.testing.assert_array_equal(rows[0, :buffered], heap._keys[0, :buffered])
        for i in range(1, nodes + 1):
            at = batch_heap_cpu.bit_reversed_place(i)
            np.testing.assert_array_equal(rows[at], heap._keys[at])


@pytest.mark.parametrize("from_below", [False, True])
def test_many_blocks_give_keys_in_order(from_below):
    rng = np.random.default_rng(1)
    for seed in range(1, 200):
        node = int(rng.choice([2, 8]))
        keys = rng.integers(0, 300, rng.integers(1, 200), WORD)
        memory, refused = Memory(node, 127), np.zeros(1, np.uint32)
        memory.launch(
            "push", 2, 5, seed, keys, ~keys, np.uint64(keys.size), np.int32(from_below), counter(),
            refused,
        )  # fmt: skip
        expected, left = np.sort(keys), keys.size
        while left:
            count = int(rng.integers(1, left, endpoint=True))
            found, values = np.zeros(count, WORD), np.zeros(count, WORD)
            memory.counts[batch_heap_gpu.REMOVED] = 0
            memory.launch("pop", 2, 5, seed, found, values, np.uint64(count), counter())
            np.testing.assert_array_equal(found, expected[:count])
            np.testing.assert_array_equal(values, ~found)
            expected, left = expected[count:], left - count
