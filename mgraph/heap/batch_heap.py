"""The front door of the heap: checks, the choice of a backend, and room."""

from typing import Any

import numpy as np

from mgraph.core import backend as backends
from mgraph.core.arrays import as_dtype
from mgraph.core.memory import memory_guard
from mgraph.errors import UsageError
from mgraph.heap.key_order import KEY_TYPES, to_keys, to_words, word_type

MOST_KEYS_A_NODE = 1024
VALUE_TYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")


class BatchHeap:
    """A priority queue that takes and gives keys by the thousand, each with a value perhaps.

    Source: Y. Chen, F. Hua, Y. Jin, E. Z. Zhang, "Accelerating concurrent heap on GPUs", 2019. A
    binary heap whose nodes hold ``node`` sorted keys each; what does not fill a node waits in a
    buffer. On a GPU many blocks push and pop at once (``batch_heap_gpu``); a CPU does the same, one
    node after another (``batch_heap_cpu``). Both give the same keys. Values of equal keys come in
    any order.
    """

    def __init__(
        self,
        dtype: Any,
        *,
        values: Any = None,
        largest: bool = False,
        node: int = MOST_KEYS_A_NODE,
        insert: str = "bottom_up",
        capacity: int | None = None,
        backend: str = "auto",
        block_threads: int = 512,
        blocks: int | None = None,
    ) -> None:
        """Make an empty heap.

        dtype: the keys', int32, uint32, int64, uint64, float32 or float64. values: a type of these
        for values that go with the keys; None for keys alone. largest: whether the largest key
        comes first, not the smallest. node: keys a node, a power of two from 2 to 1024.
        insert: ``bottom_up`` or ``top_down``, on which only the time depends. capacity: keys that
        it refuses to go beyond; None: it grows. backend: auto, cpu or gpu. block_threads, blocks:
        of a GPU, a power of two from 32 to 1024, at most ``node`` of which are used, and how many
        blocks work at once; None: as many as fit. Memory: up to twice what the keys and values
        take, since nodes of the last level may stand anywhere in it, and while it grows as much
        again. Raises UsageError, and DeviceError for ``gpu`` without a device.
        """
        self.dtype = _type("keys", dtype, KEY_TYPES)
        self.value_dtype = None if values is None else _type("values", values, VALUE_TYPES)
        self.largest = bool(largest)
        if insert not in ("bottom_up", "top_down"):
            raise UsageError(f"insert must be bottom_up or top_down, and is {insert!r}")
        check_shape(node, block_threads, blocks)
        if capacity is not None and (not _is_whole(capacity) or capacity < 1):
            raise UsageError(f"capacity must be a whole number, 1 or more, and is {capacity!r}")
        self.capacity = capacity
        self.backend = backends.resolve(backend)
        words = word_type(self.dtype), self.value_dtype and word_type(self.value_dtype)
        if self.backend == "gpu":
            from mgraph.heap import batch_heap_gpu

            self._heap: Any = batch_heap_gpu.Heap(
                *words, node, insert == "bottom_up", block_threads, blocks
            )
        else:
            from mgraph.heap import batch_heap_cpu

            self._heap = batch_heap_cpu.Heap(*words, node)

    def __len__(self) -> int:
        """How many keys there are."""
        return int(self._heap.size())

    def push(self, keys: Any, values: Any = None) -> None:
        """Put keys in, in any order.

        keys: NumPy or CuPy arrays, lists or ranges of shape (count,). Numbers of another type are
        converted where each can be kept exactly; the floats of a list are rounded to the heap's
        type. values: the same. Raises UsageError for a number that cannot be kept, a NaN, another
        shape, values where the heap has none or the other way round, and beyond the capacity;
        OutOfMemoryError where there is no room, and then the heap is what it was.
        """
        keys = self._array("keys", keys, self.dtype)
        if (values is None) != (self.value_dtype is None):
            there = "keys alone" if self.value_dtype is None else "a value for each key"
            raise UsageError(f"this heap has {there}; push what it has")
        if values is not None:
            values = self._array("values", values, self.value_dtype)
            if values.shape != keys.shape:
                raise UsageError(f"there are {keys.size:,} keys and {values.size:,} values")
        if self.dtype.kind == "f" and bool((keys != keys).any()):
            raise UsageError("a key is not a number (NaN), which has no place in an order")
        if self.capacity is not None and len(self) + keys.size > self.capacity:
            raise UsageError(
                f"the heap holds {len(self):,} keys and may hold {self.capacity:,}; {keys.size:,} "
                "more are too many: pop some, or make it with a larger capacity, or none"
            )
        words = None if values is None else values.view(word_type(self.value_dtype))
        with memory_guard(f"{len(self) + keys.size:,} keys", "pop some first, or push fewer"):
            self._heap.push(to_words(keys, self.largest), words)

    def pop(self, count: int = 1) -> Any:
        """Take the first ``count`` keys out, all where there are fewer.

        Returns them in order, shape (count,), and with values ``(keys, values)``: NumPy arrays on
        a CPU, CuPy arrays on a GPU. Raises UsageError for a count below 0.
        """
        if not _is_whole(count) or count < 0:
            raise UsageError(f"count must be a whole number, 0 or more, and is {count!r}")
        words, values = self._heap.pop(min(int(count), len(self)))
        keys = to_keys(words, self.dtype, self.largest)
        return keys if self.value_dtype is None else (keys, values.view(self.value_dtype))

    def peek(self) -> Any:
        """The first key, as a NumPy scalar; it stays. Raises IndexError where there is none."""
        if not len(self):
            raise IndexError("peek at an empty heap")
        return to_keys(self._heap.first(), self.dtype, self.largest)[0]

    def _array(self, name: str, given: Any, dtype: Any) -> Any:
        array = as_dtype(name, given, dtype, "as the heap's are")
        if array.ndim != 1:
            raise UsageError(f"{name} must have one dimension, and have {array.ndim}")
        return self._heap.array(array).astype(dtype, order="C", copy=False)


def _type(name: str, given: Any, known: tuple[str, ...]) -> Any:
    try:
        dtype = np.dtype(given)
    except TypeError as error:
        raise UsageError(f"the type of {name} must be a NumPy type, and is {given!r}") from error
    if str(dtype) not in known:
        raise UsageError(f"{name} must be one of {', '.join(known)}, and are {dtype}")
    return dtype


def check_shape(node: Any, block_threads: Any, blocks: Any) -> None:
    """Raise UsageError unless a heap may have such nodes, and such blocks may work on it."""
    _power_of_two("node", node, 2, MOST_KEYS_A_NODE)
    _power_of_two("block_threads", block_threads, 32, 1024)
    if blocks is not None and (not _is_whole(blocks) or blocks < 1):
        raise UsageError(f"blocks must be a whole number, 1 or more, and are {blocks!r}")


def _power_of_two(name: str, value: Any, low: int, high: int) -> None:
    if not _is_whole(value) or not low <= value <= high or value & (value - 1):
        raise UsageError(f"{name} must be a power of two from {low} to {high}, and is {value!r}")


def _is_whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
