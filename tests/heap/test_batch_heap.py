"""The heap gives keys of every type in order, with their values; wrong parameters are refused."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph import OutOfMemoryError, UsageError
from mgraph.heap import BatchHeap, batch_heap_cpu, key_order

TYPES = key_order.KEY_TYPES


def cpu_heap(dtype, **options):
    return BatchHeap(dtype, backend="cpu", **options)


def draw_keys(rng, dtype, count):
    """Random keys, among them the type's extremes and many equal ones."""
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        limits = np.finfo(dtype)
        ends = limits.max, limits.smallest_subnormal, -limits.smallest_subnormal
        special = np.array([np.inf, -np.inf, 0.0, -0.0, *ends], dtype)
        keys = (rng.normal(size=count) * 10 ** rng.uniform(-15, 15, count)).astype(dtype)
    else:
        limits = np.iinfo(dtype)
        special = np.array([limits.min, limits.max, limits.max - 1, 0], dtype)
        keys = rng.integers(limits.min, limits.max, count, dtype, endpoint=True)
    keys[rng.random(count) < 0.3] = rng.choice(special)
    return keys


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dtype", TYPES)
def test_words_have_the_order_of_the_keys_and_convert_back(dtype, largest):
    keys = draw_keys(np.random.default_rng(1), dtype, 1000)
    words = key_order.to_words(keys, largest)
    converted = key_order.to_keys(words, dtype, largest)
    assert converted.tobytes() == keys.tobytes()
    ordered = keys[np.argsort(words, kind="stable")]
    np.testing.assert_array_equal(ordered, np.sort(keys)[:: -1 if largest else 1])


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_pushes_and_pops_agree_with_heapq(data):
    dtype = data.draw(st.sampled_from(TYPES))
    largest, with_values = data.draw(st.booleans()), data.draw(st.booleans())
    values = data.draw(st.sampled_from(["int32", "uint64", "float64"])) if with_values else None
    node = data.draw(st.sampled_from([2, 4, 32]))
    heap = cpu_heap(dtype, largest=largest, values=values, node=node)
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    expected, key_of, pushed = [], {}, 0
    for _ in range(data.draw(st.integers(1, 20))):
        count = data.draw(st.integers(0, 5 * node))
        if data.draw(st.booleans()):
            keys = draw_keys(rng, dtype, count)
            names = np.arange(pushed, pushed + count)
            pushed += count
            heap.push(keys, names.astype(values) if values else None)
            for word, name, key in zip(
                key_order.to_words(keys, largest).tolist(), names.tolist(), keys, strict=True
            ):
                heapq.heappush(expected, word)
                key_of[name] = key
        else:
            popped = heap.pop(count)
            keys, names = popped if values else (popped, None)
            first = [heapq.heappop(expected) for _ in range(min(count, len(expected)))]
            assert key_order.to_words(keys, largest).tolist() == first
            if values:
                assert names.dtype == values
                pushed_keys = np.array([key_of.pop(int(name)) for name in names], dtype)
                assert pushed_keys.tobytes() == keys.tobytes()
        assert len(heap) == len(expected)
        if expected:
            assert key_order.to_words(heap.peek().reshape(1), largest)[0] == expected[0]


def test_nodes_are_sorted_and_below_their_parents():
    heap = cpu_heap("uint32", node=8)
    rng = np.random.default_rng(1)
    for _ in range(300):
        if rng.random() < 0.6:
            heap.push(rng.integers(0, 1000, rng.integers(0, 30), np.uint32))
        else:
            heap.pop(int(rng.integers(0, 25)))
        keys, (nodes, buffered) = heap._heap._keys, heap._heap._counts
        present = sorted(batch_heap_cpu.bit_reversed_place(i) for i in range(1, nodes + 1))
        assert buffered < 8
        assert (np.diff(keys[0, :buffered].astype(int)) >= 0).all()
        for node in present:
            assert (np.diff(keys[node].astype(int)) >= 0).all()
            assert node == 1 or (node // 2 in present and keys[node // 2, -1] <= keys[node, 0])
        assert not (nodes and buffered) or keys[1, -1] <= keys[0, 0]


def test_a_heap_is_shown_by_its_types_and_its_length():
    heap = cpu_heap("float32", values="int64", largest=True, node=8, insert="top_down")
    heap.push([1.0, 2.0], [1, 2])
    assert repr(heap) == (
        "BatchHeap(float32 keys, largest first, int64 values, len=2, node=8, top_down on cpu)"
    )


def test_an_empty_heap_gives_no_keys():
    heap = cpu_heap("int32", values="int64")
    assert len(heap) == 0
    keys, values = heap.pop(5)
    assert (keys.dtype, values.dtype, keys.size, values.size) == (np.int32, np.int64, 0, 0)
    with pytest.raises(IndexError, match="empty heap"):
        heap.peek()
    heap.push(np.array([], np.int32), np.array([], np.int64))
    heap.push([], [])
    assert len(heap) == 0


def test_a_heap_does_not_exceed_its_capacity():
    heap = cpu_heap("int32", capacity=10, node=4)
    heap.push(np.arange(7, dtype=np.int32))
    with pytest.raises(UsageError, match=r"capacity is 10 keys \(got 4, and it holds 7\)"):
        heap.push(np.arange(4, dtype=np.int32))
    assert heap.pop(7).tolist() == list(range(7))
    heap.push(np.arange(10, dtype=np.int32))
    assert heap.pop(99).tolist() == list(range(10))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"dtype": "int16"}, r"dtype must be one of int32, .* \(got int16\)"),
        ({"dtype": "nonsense"}, r"dtype must be a NumPy type \(got 'nonsense'\)"),
        ({"values": "complex64"}, "values must be one of"),
        (
            {"insert": "sideways"},
            r"insert must be one of bottom_up, top_down, paper_bottom_up \(got 'sideways'\)",
        ),
        ({"node": 100}, r"node must be a power of two from 2 to 1024 \(got 100\)"),
        ({"node": True}, "node must be a power of two"),
        ({"heaps": 0}, r"heaps must be a whole number from 1 to 1,024 \(got 0\)"),
        ({"heaps": 2.0}, r"heaps must be a whole number from 1 to 1,024 \(got 2.0\)"),
        ({"capacity": 0}, r"capacity must be a whole number of at least 1, or None \(got 0\)"),
        ({"capacity": "9"}, r"capacity must be a whole number of at least 1, or None \(got '9'\)"),
        ({"block_threads": 48}, "block_threads must be a power of two from 32 to 1024"),
        ({"blocks": 0.5}, r"blocks must be a whole number of at least 1, or None \(got 0.5\)"),
        ({"backend": "tpu"}, "backend must be one of"),
    ],
)
def test_wrong_parameters_are_refused(options, sentence):
    with pytest.raises(UsageError, match=sentence):
        BatchHeap(**({"dtype": "int32", "backend": "cpu"} | options))


@pytest.mark.parametrize(
    ("keys", "values", "sentence"),
    [
        (np.full(3, 0.1), None, "keys must be float32, as the heap's are .got float64"),
        (np.zeros((3, 1), np.float32), None, r"keys must have one dimension \(got 2\)"),
        (np.array([1, np.nan], np.float32), None, r"keys must be numbers \(got NaN\)"),
        (np.zeros(3, np.float32), np.zeros(3), "values must be left out: this heap has keys alone"),
    ],
)
def test_wrong_keys_are_refused(keys, values, sentence):
    heap = cpu_heap("float32")
    with pytest.raises(UsageError, match=sentence):
        heap.push(keys, values)
    assert len(heap) == 0


def test_a_heap_with_values_needs_one_per_key():
    heap = cpu_heap("int32", values="int32")
    with pytest.raises(UsageError, match="values must be given: this heap has a value per key"):
        heap.push(np.zeros(3, np.int32))
    with pytest.raises(UsageError, match=r"must have the same length \(got 3 and 2\)"):
        heap.push(np.zeros(3, np.int32), np.zeros(2, np.int32))
    for count in (-1, 2.5, True):
        with pytest.raises(UsageError, match="count must be a whole number of at least 0"):
            heap.pop(count)


def test_a_heap_that_runs_out_of_memory_is_unchanged(monkeypatch):
    heap = BatchHeap("int32", values="int32", node=4, backend="cpu")
    heap.push(np.arange(100, dtype=np.int32), np.arange(100, dtype=np.int32))
    requests, empty = [], np.empty

    def fail_at_second_request(shape, *rest, **options):
        if isinstance(shape, tuple) and shape[0] > 100:
            requests.append(shape)
            if len(requests) == 2:
                raise MemoryError
        return empty(shape, *rest, **options)

    monkeypatch.setattr(np, "empty", fail_at_second_request)
    with pytest.raises(OutOfMemoryError, match="not enough memory for 2,100 keys"):
        heap.push(np.zeros(2000, np.int32), np.zeros(2000, np.int32))
    monkeypatch.undo()
    keys, values = heap.pop(200)
    assert keys.tolist() == values.tolist() == list(range(100))
