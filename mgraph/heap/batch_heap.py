"""The heap's front door: checks, the choice of a backend, and conversion of keys and values."""

from typing import Any

import numpy as np

from mgraph.core import backend as backends
from mgraph.core.arrays import as_dtype
from mgraph.core.choices import Backend, check_choice
from mgraph.core.memory import memory_guard
from mgraph.errors import UsageError
from mgraph.heap.key_order import KEY_TYPES, to_keys, to_words, word_type

MAX_NODE_KEYS = MAX_HEAPS = 1024
VALUE_TYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")
INSERTIONS = ("bottom_up", "top_down", "paper_bottom_up")


class BatchHeap:
    """A priority queue that takes and gives keys by the thousand, each with a value or without.

    A binary heap whose nodes hold ``node`` sorted keys each; keys that do not fill a node wait in a
    buffer. On a GPU many blocks push and pop at once; a CPU does the same, one node after another.

    Parameters
    ----------
    dtype : dtype
        The keys' type: int32, uint32, int64, uint64, float32 or float64.
    values : dtype, optional
        The type of the values that go with the keys, one of the same types. None: keys alone.
    largest : bool, default False
        Whether the largest key comes first instead of the smallest.
    node : int, default 1024
        Keys per node, a power of two from 2 to 1024.
    insert : {"bottom_up", "top_down", "paper_bottom_up"}, default "bottom_up"
        How a GPU inserts: from the lowest node that a batch belongs below, or from the root;
        ``paper_bottom_up``, for comparison, from the leaf up. Only the time depends on it.
    heaps : int, default 1
        The number of heaps, up to 1024, that a GPU uses as one queue. With more than one, blocks
        seldom wait for each other, and ``pop`` gives keys that are near the first, in no strict
        order. A CPU has a single heap.
    capacity : int, optional
        The number of keys that the heap refuses to exceed. None: it grows.
    backend : {"auto", "cpu", "gpu"}, default "auto"
        Where the heap lives.
    block_threads : int, default 512
        Threads per block on a GPU, a power of two from 32 to 1024, of which at most ``node`` are
        used.
    blocks : int, optional
        The number of blocks that work at once on a GPU. None: as many as are resident.

    Raises
    ------
    UsageError
        If a parameter is not as above.
    DeviceError
        If ``backend="gpu"`` and there is no GPU.

    Notes
    -----
    Cost of K = ``node`` keys in a heap of N nodes: at most log2 N merges of 2 K keys to push them,
    twice as many to pop them. Memory: up to twice that of the keys and values, since the nodes of
    the last level may stand anywhere in it, and as much again while the heap grows. With one
    heap, CPU and GPU give the same keys; the values of equal keys come in any order. Source:
    Y. Chen et al., "Accelerating concurrent heap on GPUs", 2019;
    ``batch_heap_gpu`` says where the heap departs from it. Several heaps: H. Rihani, P. Sanders,
    R. Dementiev, "MultiQueues", 2015.

    Examples
    --------
    >>> heap = mgraph.BatchHeap("int32", values="int32", backend="cpu")
    >>> heap.push([5, 1, 4, 2], [50, 10, 40, 20])
    >>> heap
    BatchHeap(int32 keys, int32 values, len=4, node=1024, bottom_up on cpu)
    >>> heap.peek()
    np.int32(1)
    >>> heap.pop(3)
    (array([1, 2, 4], dtype=int32), array([10, 20, 40], dtype=int32))
    >>> len(heap)
    1
    """

    def __init__(
        self,
        dtype: Any,
        *,
        values: Any = None,
        largest: bool = False,
        node: int = MAX_NODE_KEYS,
        insert: str = "bottom_up",
        heaps: int = 1,
        capacity: int | None = None,
        backend: Backend = "auto",
        block_threads: int = 512,
        blocks: int | None = None,
    ) -> None:
        """Make an empty heap."""
        self.dtype = _as_number_type("dtype", dtype, KEY_TYPES)
        self.value_dtype = (
            None if values is None else _as_number_type("values", values, VALUE_TYPES)
        )
        self.largest = bool(largest)
        check_choice("insert", insert, INSERTIONS)
        check_dimensions(node, block_threads, blocks)
        if not _is_integer(heaps) or not 1 <= heaps <= MAX_HEAPS:
            raise UsageError(
                f"heaps must be a whole number from 1 to {MAX_HEAPS:,} (got {heaps!r})"
            )
        if capacity is not None and (not _is_integer(capacity) or capacity < 1):
            raise UsageError(
                f"capacity must be a whole number of at least 1, or None (got {capacity!r})"
            )
        self.capacity = capacity
        self.backend = backends.resolve(backend)
        self._node, self._insert = int(node), insert
        words = word_type(self.dtype), self.value_dtype and word_type(self.value_dtype)
        if self.backend == "gpu":
            from mgraph.heap import batch_heap_gpu

            self._heap: Any = batch_heap_gpu.Heap(
                *words, node, insert, block_threads, blocks, heaps=heaps
            )
        else:
            from mgraph.heap import batch_heap_cpu

            self._heap = batch_heap_cpu.Heap(*words, node)

    def __len__(self) -> int:
        """The number of keys."""
        return int(self._heap.size())

    def __repr__(self) -> str:
        """The types, the numbers of keys and of keys per node, the insertion and the backend."""
        values = "" if self.value_dtype is None else f"{self.value_dtype} values, "
        order = ", largest first" if self.largest else ""
        return (
            f"BatchHeap({self.dtype} keys{order}, {values}len={len(self)}, node={self._node}, "
            f"{self._insert} on {self.backend})"
        )

    def push(self, keys: Any, values: Any = None) -> None:
        """Insert keys, in any order.

        Parameters
        ----------
        keys : array_like, shape (count,)
            NumPy or CuPy arrays, lists or ranges. Numbers of another type are converted if each can
            be represented exactly; the floats of a list are rounded to the heap's type.
        values : array_like, shape (count,), optional
            A value per key, if the heap has values.

        Raises
        ------
        UsageError
            If a number cannot be represented or is NaN, if the shapes differ, if values are missing
            or superfluous, and if the heap would exceed its capacity.
        OutOfMemoryError
            If there is not enough memory; the heap is unchanged then.

        Examples
        --------
        >>> heap = mgraph.BatchHeap("float32", largest=True, backend="cpu")
        >>> heap.push([0.5, 2.5])
        >>> heap.push([1.5])
        >>> heap.pop(2)
        array([2.5, 1.5], dtype=float32)
        """
        keys = self._as_heap_array("keys", keys, self.dtype)
        if values is None and self.value_dtype is not None:
            raise UsageError("values must be given: this heap has a value per key")
        if values is not None and self.value_dtype is None:
            raise UsageError("values must be left out: this heap has keys alone")
        if values is not None:
            values = self._as_heap_array("values", values, self.value_dtype)
            if values.shape != keys.shape:
                raise UsageError(
                    "keys and values must have the same length "
                    f"(got {keys.size:,} and {values.size:,})"
                )
        if self.dtype.kind == "f" and bool((keys != keys).any()):
            raise UsageError("keys must be numbers (got NaN), since NaN has no place in an order")
        total = len(self) + keys.size
        if self.capacity is not None and total > self.capacity:
            raise UsageError(
                f"the heap's capacity is {self.capacity:,} keys (got {keys.size:,}, and it holds "
                f"{len(self):,}); pop some first, or make it with a larger capacity"
            )
        words = None if values is None else values.view(word_type(self.value_dtype))
        with memory_guard(f"{total:,} keys", "pop some first, or push fewer"):
            self._heap.push(to_words(keys, self.largest), words)

    def pop(self, count: int = 1) -> Any:
        """Remove the first ``count`` keys, or all if there are fewer.

        Parameters
        ----------
        count : int, default 1
            How many keys to remove.

        Returns
        -------
        array or tuple of array
            The keys in order, shape (count,), or ``(keys, values)`` if the heap has values: NumPy
            arrays on a CPU, CuPy arrays on a GPU.

        Raises
        ------
        UsageError
            If ``count`` is negative or not a whole number.

        Examples
        --------
        >>> heap = mgraph.BatchHeap("int64", backend="cpu")
        >>> heap.push([3, 1, 2])
        >>> heap.pop()
        array([1])
        >>> heap.pop(99)
        array([2, 3])
        """
        if not _is_integer(count) or count < 0:
            raise UsageError(f"count must be a whole number of at least 0 (got {count!r})")
        words, values = self._heap.pop(min(int(count), len(self)))
        keys = to_keys(words, self.dtype, self.largest)
        return keys if self.value_dtype is None else (keys, values.view(self.value_dtype))

    def peek(self) -> Any:
        """Return the first key as a NumPy scalar, without removing it.

        Raises
        ------
        IndexError
            If the heap is empty.

        Examples
        --------
        >>> heap = mgraph.BatchHeap("int32", backend="cpu")
        >>> heap.push([3, 1, 2])
        >>> heap.peek()
        np.int32(1)
        """
        if not len(self):
            raise IndexError("peek at an empty heap")
        return to_keys(self._heap.first(), self.dtype, self.largest)[0]

    def _as_heap_array(self, name: str, numbers: Any, dtype: Any) -> Any:
        """Convert to a contiguous array of a type, where the heap is."""
        array = as_dtype(name, numbers, dtype, "as the heap's are")
        if array.ndim != 1:
            raise UsageError(f"{name} must have one dimension (got {array.ndim})")
        return self._heap.array(array).astype(dtype, order="C", copy=False)


def check_dimensions(node: Any, block_threads: Any, blocks: Any) -> None:
    """Raise UsageError unless a heap may have such nodes, and such blocks may work on it."""
    _check_power_of_two("node", node, 2, MAX_NODE_KEYS)
    _check_power_of_two("block_threads", block_threads, 32, 1024)
    if blocks is not None and (not _is_integer(blocks) or blocks < 1):
        raise UsageError(f"blocks must be a whole number of at least 1, or None (got {blocks!r})")


def _as_number_type(name: str, dtype: Any, choices: tuple[str, ...]) -> Any:
    """Convert to a NumPy dtype; raise UsageError if it is none of the choices."""
    try:
        result = np.dtype(dtype)
    except TypeError as error:
        raise UsageError(f"{name} must be a NumPy type (got {dtype!r})") from error
    if str(result) not in choices:
        raise UsageError(f"{name} must be one of {', '.join(choices)} (got {result})")
    return result


def _check_power_of_two(name: str, value: Any, minimum: int, maximum: int) -> None:
    if not _is_integer(value) or not minimum <= value <= maximum or value & (value - 1):
        raise UsageError(
            f"{name} must be a power of two from {minimum} to {maximum} (got {value!r})"
        )


def _is_integer(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)
