"""The heap on a GPU gives what the CPU's heap gives; its histories are linearizable."""

import numpy as np
import pytest

from mgraph import UsageError
from mgraph.heap import BatchHeap, batch_heap_cpu, key_order
from tests.heap import histories
from tests.heap.test_batch_heap import draw_keys

pytestmark = pytest.mark.gpu

INSERTIONS = ["top_down", "bottom_up"]
ALL_INSERTIONS = [*INSERTIONS, "paper_bottom_up"]


@pytest.mark.parametrize("insert", ALL_INSERTIONS)
@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", key_order.KEY_TYPES)
def test_keys_and_values_of_all_types(dtype, largest, insert):
    rng = np.random.default_rng(1)
    for values, node in ((None, 1024), ("int32", 64), ("float64", 256)):
        heap = BatchHeap(dtype, values=values, largest=largest, node=node, insert=insert,
                         backend="gpu")  # fmt: skip
        keys = draw_keys(rng, dtype, 50_000)
        names = None if values is None else np.arange(keys.size).astype(values)
        for begin in range(0, keys.size, 7000):
            batch = slice(begin, begin + 7000)
            heap.push(keys[batch], None if names is None else names[batch])
        assert len(heap) == keys.size
        words = np.sort(key_order.to_words(keys, largest))
        assert key_order.to_words(heap.peek().reshape(1), largest)[0] == words[0]
        popped = 0
        for count in (1, 999, 10_000, 100_000):
            result = heap.pop(count)
            popped_keys = (result if values is None else result[0]).get()
            expected = words[popped : popped + count]
            np.testing.assert_array_equal(key_order.to_words(popped_keys, largest), expected)
            if values is not None:
                indices = result[1].get().astype(np.int64)
                assert keys[indices].tobytes() == popped_keys.tobytes()
                assert np.unique(indices).size == indices.size
            popped += expected.size
        assert len(heap) == 0


@pytest.mark.parametrize("insert", INSERTIONS)
def test_single_operations_make_the_heap_of_the_cpu(insert):
    node = 32
    rng = np.random.default_rng(2)
    gpu = BatchHeap("uint32", node=node, insert=insert, backend="gpu")
    cpu = batch_heap_cpu.Heap(np.dtype(np.uint32), None, node)
    for _ in range(400):
        if rng.random() < 0.6:
            for _ in range(int(rng.integers(1, 4))):
                keys = rng.integers(0, 5000, rng.integers(1, node, endpoint=True), np.uint32)
                gpu.push(keys)
                cpu.push(keys, None)
        else:
            count = min(node, cpu.size())
            np.testing.assert_array_equal(gpu.pop(count).get(), cpu.pop(count)[0])
        nodes, buffered = cpu._counts.tolist()
        rows = gpu._heap._keys.get().reshape(-1, node)
        assert gpu._heap._read_counts("nodes")[0] % (1 << 32) == nodes
        assert gpu._heap._read_counts("buffered")[0] == buffered
        present = [batch_heap_cpu.bit_reversed_place(i) for i in range(1, nodes + 1)]
        np.testing.assert_array_equal(rows[present], cpu._keys[present])
        np.testing.assert_array_equal(rows[0, :buffered], cpu._keys[0, :buffered])


@pytest.mark.parametrize("is_sorted", [False, True])
@pytest.mark.parametrize("insert", ALL_INSERTIONS)
def test_a_million_keys_in_and_out_at_once(insert, is_sorted):
    import cupy

    keys = cupy.random.default_rng(3).integers(0, 1 << 31, 3_000_017, np.int32)
    if is_sorted:
        keys = cupy.sort(keys)[::-1].copy()
    heap = BatchHeap("int32", values="int32", insert=insert, backend="gpu")
    heap.push(keys, ~keys)
    half, names = heap.pop(1_234_567)
    heap.push(half, names)
    popped, names = heap.pop(keys.size)
    assert bool((popped == cupy.sort(keys)).all())
    assert bool((names == ~popped).all())


@pytest.mark.parametrize("heaps", [2, 7, 64])
def test_several_heaps_give_all_keys_nearly_in_order(heaps):
    import cupy

    keys = cupy.random.RandomState(heaps).permutation(1 << 21).astype(np.uint32)
    heap = BatchHeap("uint32", values="uint32", node=256, heaps=heaps, backend="gpu")
    heap.push(keys, ~keys)
    assert heap.peek() == 0
    parts = heap.pop(1_000_003), heap.pop(keys.size - 1_000_003)
    order, values = (cupy.concatenate(column) for column in zip(*parts, strict=True))
    assert bool((values == ~order).all())
    assert bool((cupy.sort(order) == cupy.arange(keys.size)).all())
    displacement = cupy.abs(order.astype(np.int64) - cupy.arange(keys.size))
    assert float(displacement.mean()) < keys.size / 6  # a third if by chance


@pytest.mark.parametrize("insert", INSERTIONS)
def test_ten_thousand_histories_are_linearizable(insert):
    rng = np.random.default_rng(4)
    for _ in range(5_000):
        assert histories.run_on_gpu(rng, insert) == (None, None)


def test_no_key_is_lost_by_the_papers_bottom_up_insertion():
    rng = np.random.default_rng(4)
    for _ in range(5_000):
        heap_fault, fault = histories.run_on_gpu(rng, "paper_bottom_up")
        assert heap_fault is None or heap_fault.endswith("is not below its parent")
        assert fault in (None, "a deletion passed over a smaller key")


def test_a_heap_grows_up_to_its_capacity():
    heap = BatchHeap("int64", node=2, backend="gpu", capacity=1000)
    for begin in range(0, 1000, 100):
        heap.push(np.arange(begin, begin + 100)[::-1])
    with pytest.raises(UsageError, match=r"capacity is 1,000 keys \(got 1, and it holds 1,000\)"):
        heap.push(np.zeros(1, np.int64))
    assert heap.pop(2000).get().tolist() == list(range(1000))
    assert heap.pop(5).size == 0
    with pytest.raises(IndexError):
        heap.peek()
    with pytest.raises(UsageError, match="got NaN"):
        BatchHeap("float32", backend="gpu").push(np.array([np.nan], np.float32))


@pytest.mark.parametrize("dtype", ["int32", "uint64", "float32"])
def test_lists_and_arrays_of_other_types_are_kept_exactly_or_refused(dtype):
    import cupy

    heap = BatchHeap(dtype, values="int32", backend="gpu")
    convertible = [3, 1, 2], range(4, 7), np.array([9, 7, 8], np.int16), cupy.array([11.0, 12, 10])
    for keys in convertible:
        heap.push(keys, keys)
    for keys in (
        [2**70 + 1],
        cupy.array([2.1, 2.0**70]),
        np.array([-0.1]),
        [np.nan],
        "123",
        {1, 2},
    ):
        with pytest.raises(UsageError):
            heap.push(keys, [0] * len(keys))
    with pytest.raises(UsageError, match="values must be int32"):
        heap.push([1, 2], cupy.array([2**40, 1]))
    keys, values = heap.pop(99)
    assert keys.dtype == dtype
    assert keys.tolist() == values.tolist() == list(range(1, 13))
