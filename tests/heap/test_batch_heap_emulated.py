"""The heap's kernels in the emulator, in many orders of events, launched by the host's own code."""

import itertools
import re
import sys

import numpy as np
import pytest

from mgraph.heap import batch_heap_cpu, batch_heap_gpu
from mgraph.heap.batch_heap import INSERTIONS
from tests import emulator
from tests.heap import histories

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")

WORD = np.dtype(np.uint32)


class Heap(batch_heap_gpu.Heap):
    """The heap with its memory on the host and its kernels in the emulator."""

    def __init__(
        self, node, max_nodes, *, insert, threads, blocks, word=WORD, value_word=WORD,
        merge="bitonic", heaps=1,
    ):  # fmt: skip
        places = (1 << max_nodes.bit_length()) - 1
        self.emulated_blocks, self.seed = blocks, 0
        super().__init__(
            word, value_word, node, insert, threads, merge=merge, heaps=heaps, places=places,
            max_nodes=max_nodes,
        )  # fmt: skip

    def _launch(self, name, tasks, *arguments):
        emulator.launch(
            batch_heap_gpu.KERNELS, name, self._macros, self.emulated_blocks, self._threads,
            (self.memory, *arguments), shared=self._shared, seed=self.seed,
        )  # fmt: skip


@pytest.fixture(autouse=True)
def arrays_on_the_host(monkeypatch):
    monkeypatch.setitem(sys.modules, "cupy", emulator.numpy_as_cupy())


def run_history(rng, insert, seed):
    """A random history: its operations, and what is wrong with the heap and with the history."""
    node = int(rng.choice([2, 4]))
    threads, blocks = int(rng.choice([2, node])), int(rng.integers(2, 7))
    count = int(rng.choice([6, 12, 30, 80]))
    max_nodes = int(rng.choice([count, count, max(1, count // 4)]))
    heap = Heap(node, max_nodes, insert=insert, threads=threads, blocks=blocks)
    heap.seed = seed
    return histories.run(rng, heap, count, node, rng.choice([0, 0, 0.3, 1]))


@pytest.mark.parametrize("insert", ["top_down", "bottom_up"])
def test_histories_are_linearizable(insert):
    refused = overlapping = 0
    for seed in range(1, 4000):
        history, *faults = run_history(np.random.default_rng(seed), insert, seed)
        assert (faults, seed) == ([None, None], seed)
        refused += not all(operation.done for operation in history)
        overlapping += any(x.end > y.begin for x, y in itertools.pairwise(history))
    assert refused > 50  # so full heaps are among them,
    assert overlapping > 3900  # and operations at the same time


def test_the_papers_bottom_up_insertion_is_not_linearizable():
    """Neither are its histories, nor is the heap always one that they leave; no key is lost."""
    seen = set()
    for seed in range(1, 4000):
        rng = np.random.default_rng(seed)
        _, heap_fault, fault = run_history(rng, "paper_bottom_up", seed)
        seen |= {fault, heap_fault and re.sub(r"\d+", "N", heap_fault)}
    assert seen == {None, "node N is not below its parent", "a deletion passed over a smaller key"}


@pytest.mark.parametrize("merge", ["bitonic", "merge_path"])
@pytest.mark.parametrize("insert", ["top_down", "bottom_up"])
@pytest.mark.parametrize(("node", "threads"), [(4, 4), (8, 2), (64, 32)])
def test_one_block_makes_the_heap_of_the_cpu(node, threads, insert, merge):
    rng = np.random.default_rng(node)
    heap = Heap(node, 63, insert=insert, threads=threads, blocks=1, merge=merge)
    expected = batch_heap_cpu.Heap(WORD, WORD, node)
    for turn in range(1, 60):
        heap.seed = turn
        if rng.random() < 0.6:
            keys = rng.integers(0, 1000, rng.integers(1, 4 * node), WORD)
            heap.push(keys, ~keys)
            expected.push(keys, ~keys)
        elif count := int(rng.integers(0, expected.size(), endpoint=True)):
            keys, values = heap.pop(count)
            np.testing.assert_array_equal(keys, expected.pop(count)[0])
            np.testing.assert_array_equal(values, ~keys)
        nodes, buffered = expected._counts
        assert heap.size() == expected.size()
        removal_phase = batch_heap_gpu.read_constant("removal_phase")
        assert heap._read_counts("nodes")[0] % removal_phase == nodes
        assert heap._read_counts("buffered")[0] == buffered
        rows = heap._keys.reshape(-1, node)
        np.testing.assert_array_equal(rows[0, :buffered], expected._keys[0, :buffered])
        for i in range(1, nodes + 1):
            place = batch_heap_cpu.bit_reversed_place(i)
            np.testing.assert_array_equal(rows[place], expected._keys[place])


@pytest.mark.parametrize("order", ["random", "descending"])
@pytest.mark.parametrize("insert", INSERTIONS)
def test_many_blocks_give_keys_in_order(insert, order):
    rng = np.random.default_rng(1)
    for seed in range(1, 200):
        node = int(rng.choice([2, 8]))
        keys = rng.integers(0, 300, rng.integers(1, 200), WORD)
        if order == "descending":  # whole nodes are then exchanged
            keys = np.sort(keys)[::-1].copy()
        heap = Heap(node, 127, insert=insert, threads=2, blocks=5)
        heap.seed = seed
        heap.push(keys, ~keys)
        expected = np.sort(keys)
        while expected.size:
            count = int(rng.integers(1, expected.size, endpoint=True))
            popped, values = heap.pop(count)
            np.testing.assert_array_equal(popped, expected[:count])
            np.testing.assert_array_equal(values, ~popped)
            expected = expected[count:]


@pytest.mark.parametrize("insert", INSERTIONS)
def test_several_heaps_give_all_keys_nearly_in_order(insert):
    for seed in range(1, 150):
        rng = np.random.default_rng(seed)
        node, heaps = int(rng.choice([2, 8])), int(rng.integers(2, 6))
        shape = {"insert": insert, "threads": 2, "blocks": int(rng.integers(1, 6))}
        heap = Heap(node, 1, heaps=heaps, **shape)
        heap.seed, heap._max_nodes = seed, None
        keys = rng.permutation(int(rng.integers(1, 400))).astype(WORD)
        for part in np.array_split(keys, 3):
            heap.push(part, ~part)
        assert keys.size == heap.size() == heap.items()[0].size
        assert heap.first()[0] == 0
        order = []
        while heap.size():
            popped, values = heap.pop(int(rng.integers(1, heap.size(), endpoint=True)))
            np.testing.assert_array_equal(values, ~popped)
            order += popped.tolist()
            if rng.random() < 0.3:
                rest = np.sort(heap.items()[0])
                assert rest.tolist() == sorted(set(keys.tolist()) - set(order))
                heap.refill(rest, ~rest)
        assert sorted(order) == sorted(keys.tolist())
        displacement = np.abs(np.asarray(order) - np.arange(keys.size))
        assert displacement.mean() < keys.size / 6 + 3 * node * heaps  # a third if by chance


@pytest.mark.parametrize("value_word", [None, np.dtype(np.uint64)])
@pytest.mark.parametrize("word", [WORD, np.dtype(np.uint64)])
def test_keys_of_either_width_have_values_or_none(word, value_word):
    rng = np.random.default_rng(3)
    types = {"word": word, "value_word": value_word}
    heap = Heap(4, 63, insert="bottom_up", threads=2, blocks=3, **types)
    keys = rng.integers(0, np.iinfo(word).max, 150, word)
    heap.push(keys, None if value_word is None else ~keys.astype(np.uint64))
    popped, values = heap.pop(keys.size)
    np.testing.assert_array_equal(popped, np.sort(keys))
    assert value_word is None or (values == ~popped.astype(np.uint64)).all()


def test_a_heap_grows_and_can_be_refilled():
    rng = np.random.default_rng(2)
    heap = Heap(2, 1, insert="bottom_up", threads=2, blocks=3)
    heap._max_nodes, heap.seed = None, 1
    for count in (1, 5, 30):
        keys = rng.integers(0, 100, count, WORD)
        heap.push(keys, ~keys)
    keys, values = heap.items()
    assert (values == ~keys).all()
    kept = np.sort(keys)[::3]
    heap.refill(kept, ~kept)
    np.testing.assert_array_equal(heap.pop(kept.size)[0], kept)
