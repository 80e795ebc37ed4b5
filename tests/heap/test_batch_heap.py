"""The heap gives keys in order, whatever they are, with their values; wrong use is refused."""

import heapq

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph import OutOfMemoryError, UsageError
from mgraph.heap import BatchHeap, batch_heap_cpu, key_order

TYPES = key_order.KEY_TYPES


def on_cpu(dtype, **options):
    return BatchHeap(dtype, backend="cpu", **options)


def some_keys(rng, dtype, count):
    """Random keys among which are the extremes and many that are equal."""
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
def test_words_are_in_the_order_of_keys_and_lose_nothing(dtype, largest):
    keys = some_keys(np.random.default_rng(1), dtype, 1000)
    words = key_order.to_words(keys, largest)
    back = key_order.to_keys(words, dtype, largest)
    assert back.tobytes() == keys.tobytes()
    inorder = keys[np.argsort(words, kind="stable")]
    np.testing.assert_array_equal(inorder, np.sort(keys)[:: -1 if largest else 1])


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_pushes_and_pops_are_those_of_heapq(data):
    dtype = data.draw(st.sampled_from(TYPES))
    largest, with_values = data.draw(st.booleans()), data.draw(st.booleans())
    values = data.draw(st.sampled_from(["int32", "uint64", "float64"])) if with_values else None
    node = data.draw(st.sampled_from([2, 4, 32]))
    heap = on_cpu(dtype, largest=largest, values=values, node=node)
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 32)))
    expected, of_key, pushed = [], {}, 0
    for _ in range(data.draw(st.integers(1, 20))):
        count = data.draw(st.integers(0, 5 * node))
        if data.draw(st.booleans()):
            keys = some_keys(rng, dtype, count)
            names = np.arange(pushed, pushed + count)
            pushed += count
            heap.push(keys, names.astype(values) if values else None)
            for word, name, key in zip(
                key_order.to_words(keys, largest).tolist(), names.tolist(), keys, strict=True
            ):
                heapq.heappush(expected, word)
                of_key[name] = key
        else:
            found = heap.pop(count)
            keys, names = found if values else (found, None)
            first = [heapq.heappop(expected) for _ in range(min(count, len(expected)))]
            assert key_order.to_words(keys, largest).tolist() == first
            if values:
                assert names.dtype == values
                given_then = np.array([of_key.pop(int(name)) for name in names], dtype)
                assert given_then.tobytes() == keys.tobytes()
        assert len(heap) == len(expected)
        if expected:
            assert key_order.to_words(heap.peek().reshape(1), largest)[0] == expected[0]


def test_nodes_are_in_order_and_where_they_belong():
    heap = on_cpu("uint32", node=8)
    rng = np.random.default_rng(1)
    for _ in range(300):
        if rng.random() < 0.6:
            heap.push(rng.integers(0, 1000, rng.integers(0, 30), np.uint32))
        else:
            heap.pop(int(rng.integers(0, 25)))
        keys, (nodes, buffered) = heap._heap._keys, heap._heap._counts
        there = sorted(batch_heap_cpu.place(i) for i in range(1, nodes + 1))
        assert buffered < 8
        assert (np.diff(keys[0, :buffered].astype(int)) >= 0).all()
        for node in there:
            assert (np.diff(keys[node].astype(int)) >= 0).all()
            assert node == 1 or (node // 2 in there and keys[node // 2, -1] <= keys[node, 0])
        assert not (nodes and buffered) or keys[1, -1] <= keys[0, 0]


def test_an_empty_heap():
    heap = on_cpu("int32", values="int64")
    assert len(heap) == 0
    keys, values = heap.pop(5)
    assert (keys.dtype, values.dtype, keys.size, values.size) == (np.int32, np.int64, 0, 0)
    with pytest.raises(IndexError, match="empty heap"):
        heap.peek()
    heap.push(np.array([], np.int32), np.array([], np.int64))
    heap.push([], [])
    assert len(heap) == 0


def test_capacity():
    heap = on_cpu("int32", capacity=10, node=4)
    heap.push(np.arange(7, dtype=np.int32))
    with pytest.raises(UsageError, match="holds 7 keys and may hold 10; 4 more are too many"):
        heap.push(np.arange(4, dtype=np.int32))
    assert heap.pop(7).tolist() == list(range(7))
    heap.push(np.arange(10, dtype=np.int32))
    assert heap.pop(99).tolist() == list(range(10))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"dtype": "int16"}, "keys must be one of int32, .* and are int16"),
        ({"dtype": "nonsense"}, "the type of keys must be a NumPy type, and is 'nonsense'"),
        ({"values": "complex64"}, "values must be one of"),
        ({"insert": "sideways"}, "insert must be bottom_up or top_down, and is 'sideways'"),
        ({"node": 100}, "node must be a power of two from 2 to 1024, and is 100"),
        ({"node": True}, "node must be a power of two"),
        ({"capacity": 0}, "capacity must be a whole number, 1 or more, and is 0"),
        ({"capacity": "9"}, "capacity must be a whole number, 1 or more, and is '9'"),
        ({"block_threads": 48}, "block_threads must be a power of two from 32 to 1024"),
        ({"blocks": 0.5}, "blocks must be a whole number, 1 or more, and are 0.5"),
        ({"backend": "tpu"}, "backend must be one of"),
    ],
)
def test_what_cannot_be_made(options, sentence):
    with pytest.raises(UsageError, match=sentence):
        BatchHeap(**({"dtype": "int32", "backend": "cpu"} | options))


@pytest.mark.parametrize(
    ("keys", "values", "sentence"),
    [
        (np.full(3, 0.1), None, "keys must be float32, as the heap's are .got float64"),
        (np.zeros((3, 1), np.float32), None, "keys must have one dimension, and have 2"),
        (np.array([1, np.nan], np.float32), None, r"not a number \(NaN\)"),
        (np.zeros(3, np.float32), np.zeros(3), "this heap has keys alone"),
    ],
)
def test_what_cannot_be_pushed(keys, values, sentence):
    heap = on_cpu("float32")
    with pytest.raises(UsageError, match=sentence):
        heap.push(keys, values)
    assert len(heap) == 0


def test_values_must_go_with_keys():
    heap = on_cpu("int32", values="int32")
    with pytest.raises(UsageError, match="this heap has a value for each key"):
        heap.push(np.zeros(3, np.int32))
    with pytest.raises(UsageError, match="there are 3 keys and 2 values"):
        heap.push(np.zeros(3, np.int32), np.zeros(2, np.int32))
    for count in (-1, 2.5, True):
        with pytest.raises(UsageError, match="count must be a whole number"):
            heap.pop(count)


def test_no_room_leaves_the_heap_as_it_was(monkeypatch):
    heap = BatchHeap("int32", values="int32", node=4, backend="cpu")
    heap.push(np.arange(100, dtype=np.int32), np.arange(100, dtype=np.int32))
    asked, empty = [], np.empty

    def full(shape, *rest, **options):
        if isinstance(shape, tuple) and shape[0] > 100:
            asked.append(shape)
            if len(asked) == 2:
                raise MemoryError
        return empty(shape, *rest, **options)

    monkeypatch.setattr(np, "empty", full)
    with pytest.raises(OutOfMemoryError, match="not enough memory for 2,100 keys"):
        heap.push(np.zeros(2000, np.int32), np.zeros(2000, np.int32))
    monkeypatch.undo()
    keys, values = heap.pop(200)
    assert keys.tolist() == values.tolist() == list(range(100))
