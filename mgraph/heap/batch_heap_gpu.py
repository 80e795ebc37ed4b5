"""The heap of sorted nodes on a GPU: many blocks insert and delete at once.

Source: Y. Chen et al., "Accelerating concurrent heap on GPUs", 2019. The
nodes, and what an insertion and a deletion do to them, are described in ``batch_heap_cpu``. A block
works on an operation, all its threads on a merge. Each node has a word, its lock (section 3.3.1).
The holder of a node acquires those below it before it releases the node, so that no operation
overtakes another on the way down, and no circular wait arises. A deletion begins at the root, where
it also takes the last node away. If that is still the target of an insertion under way, the
deletion marks it, and the insertion gives it what it carries (the paper's co-operation). All
deletions pass the root, one after another, so a deletion costs the time that it holds the root: it
acquires the last node and the children while the root's keys are on their way, and some threads
release nodes while others acquire the next.

Blocks queue for the root, since many blocks polling one word would slow each other down. In the
queue, an insertion of a full batch and a deletion beside it need the root only once: what the
insertion carries replaces the root's keys, instead of the last node's, which stay
(``ticket_lock.cuh``). The deletion is linearised first, then the insertion.

``top_down`` insertions begin at the root as well: TD-INS/TD-DEL of the paper, whose linearisation
point is a time at which an operation holds the root.

``bottom_up`` insertions of full batches, if no block waits for the root, begin at the lowest node
on their path whose keys are all smaller than their own. This is not the paper's BU-INS, which lets
keys rise from the leaf and leaves them meanwhile in a node that it releases (INSHOLD), for a
deletion to change (DELMOD). Histories of that, of full batches alone, that are not linearisable are
easily found, and it can leave a heap that violates the heap property: a deletion that passes moves
rising keys up past a node whose order with its parent it has already established. A second
insertion below compares its keys with those, finds all in order, and is done; then the first one's
keys move on, larger ones replace them, and the second one's stay below larger ones for good. Nor
may the keys of a full buffer rise from a leaf, since keys of completed insertions would be out of
sight meanwhile. Here nothing rises: the search for the node to begin at only reads, and the keys go
down from there, from held node to held node, as those of ``top_down`` do; what a full buffer gives
goes down from the root. Such an insertion is linearised when it holds the node that it begins at:
all nodes above have smaller keys. ``paper_bottom_up`` is the paper's BU-INS, to compare with
(``paper_heap.cuh``): right where a launch only inserts or only deletes, as ``BatchHeap`` does.

Several heaps may serve as one queue (``multi_heap.cuh``), since one root serves one block at a
time. Then keys come out in no strict order: ``BENCHMARKS.md`` has their rank errors.

An insertion draws the next place by adding to a count; a bottom-up one without holding any node. So
it may draw a place that a deletion has not yet vacated, or a place below one; the count's upper
half tells it that a deletion is removing a node, and it waits until that has ended. Then it waits
for its parent to be present, or for a deletion to mark its own place.

Memory order: ``ticket_lock.cuh`` and ``heap_memory.cuh`` argue each hand-over between blocks.
Device bytes: the nodes', in places up to the next power of two, and 32 for each node's word.
"""

import functools
from typing import Any

import numpy as np

from mgraph.cuda.source import Source, launch_resident, resident_blocks
from mgraph.heap.key_order import word_type

_INITIAL_PLACES = 15
_STRUCTS = ("heap_arrays", "item_batches", "operation_list", "operation_record")
_C_TYPES = {"uint32": "unsigned", "uint64": "unsigned long long", "None": "mgraph::no_value"}


def defines(word: Any, node: int, block_threads: int) -> dict[str, str]:
    """The macros of all kernels whose blocks merge nodes."""
    return {
        "MGRAPH_KEY_T": _C_TYPES[str(word)],
        "MGRAPH_NODE": str(node),
        "MGRAPH_THREADS": str(block_threads),
    }


def heap_defines(
    word: Any, value_word: Any, node: int, block_threads: int, insert: str, merge: str
) -> dict[str, str]:
    """The macros of ``batch_heap.cu``; insert, merge: as for ``Heap``."""
    macros = defines(word, node, block_threads)
    macros["MGRAPH_VALUE_T"] = _C_TYPES[str(value_word)]
    macros["MGRAPH_HEAP"] = "paper_heap_block" if insert == "paper_bottom_up" else "heap_block"
    return macros | ({"MGRAPH_MERGE_PATH": "1"} if merge == "merge_path" else {})


@functools.cache
def read_constant(name: str) -> int:
    """A constant of the heap's headers; those that depend on the macros are not available."""
    return KERNELS.constant(name)


def scratch_bytes(word: np.dtype, value_word: np.dtype | None, node: int) -> int:
    """The size of a block's scratch in shared memory."""
    item = word.itemsize + (value_word.itemsize if value_word else 0)
    lists, extra = read_constant("scratch_lists"), read_constant("scratch_extra_bytes")
    return int(lists * node * item + extra)


def bit_reversed_places(nodes: int) -> np.ndarray:
    """The places of the first nodes, int64: each level from 1 << level on, by reversed bits."""
    places = [np.zeros(0, np.int64)]
    for level in range(nodes.bit_length()):
        first = 1 << level
        rank = np.arange(min(first, nodes + 1 - first))
        bits = (rank[:, None] >> np.arange(level) & 1) << np.arange(level)[::-1]
        places.append(first + bits.sum(axis=1))
    return np.concatenate(places)


KERNELS = Source(
    __package__,
    "batch_heap.cu",
    check=tuple(
        tuple(heap_defines(word_type(word), value and word_type(value), *way).items())
        for word, value in (("uint32", None), ("uint32", "uint32"), ("uint64", "uint64"))
        for way in (
            (1024, 512, "bottom_up", "bitonic"),
            (2, 2, "bottom_up", "bitonic"),
            (1024, 512, "paper_bottom_up", "bitonic"),
            (1024, 512, "bottom_up", "merge_path"),
        )
    ),
)


class Heap:
    """The heap behind ``BatchHeap``, of unsigned words; values are words as well, or None."""

    def __init__(
        self,
        word: Any,
        value_word: Any,
        node: int,
        insert: str,
        block_threads: int,
        blocks: int | None = None,
        *,
        heaps: int = 1,
        merge: str = "bitonic",
        places: int = _INITIAL_PLACES,
        max_nodes: int | None = None,
    ) -> None:
        """Make an empty heap on the current device.

        insert: one of ``batch_heap.INSERTIONS``. blocks: the maximum of a launch. heaps: among
        so many the items are spread (``multi_heap.cuh``); with more than one, deletions give items
        that are near the smallest, in no strict order. merge: how nodes are merged, ``bitonic``
        (Batcher's network) or ``merge_path`` (as in the paper, for comparison). places: the nodes
        of a heap for which there is memory at first, a power of two less 1. max_nodes: kernels
        refuse to insert more nodes into a heap; None: no limit but the places.
        """
        import cupy

        self._word, self._value_word, self._node = word, value_word, node
        self._bottom_up = np.int32(insert == "bottom_up")
        self._heaps, self._blocks, self._max_nodes = heaps, blocks, max_nodes
        self._threads = min(block_threads, node)
        self._macros = heap_defines(word, value_word, node, self._threads, insert, merge)
        self._shared = 8 * read_constant("counter_words") + scratch_bytes(word, value_word, node)
        types = {"key_t": str(word)} | ({"value_t": str(value_word)} if value_word else {})
        self._structs = {name: KERNELS.struct(name, types, **self._macros) for name in _STRUCTS}
        self._word_stride = read_constant("heap_word_bytes") // 4
        self._size = 0
        self._places = places
        self._keys, self._values, self._words = self._allocate(places)
        self._counts = cupy.zeros((heaps, read_constant("count_words")), np.uint64)
        self._memory = self._pack_memory()

    @staticmethod
    def array(array: Any) -> Any:
        """Convert a NumPy or CuPy array to a CuPy array."""
        import cupy

        return cupy.asarray(array)

    def size(self) -> int:
        """The number of keys."""
        return self._size

    def push(self, keys: Any, values: Any) -> None:
        """Insert keys."""
        import cupy

        if not keys.size:
            return
        self.reserve(self._size + keys.size)
        is_full, next_batch = cupy.zeros(1, np.uint32), cupy.zeros(1, np.uint64)
        batches = self._structs["item_batches"].pack(
            {"keys": keys, "values": values, "count": keys.size, "next_batch": next_batch}
        )
        self._launch(
            "batch_heap_push", self._count_batches(keys.size), batches, self._bottom_up, is_full,
        )  # fmt: skip
        assert not is_full[0]
        self._size += keys.size

    def pop(self, count: int) -> tuple[Any, Any]:
        """Delete the ``count`` smallest keys, which there must be (``heaps``: small ones)."""
        import cupy

        keys = cupy.empty(count, self._word)
        values = cupy.empty(count if self._value_word else 0, self._value_word or np.uint32)
        if count:
            self._counts[:, read_constant("removed_word")] = 0
            next_batch = cupy.zeros(1, np.uint64)
            batches = self._structs["item_batches"].pack(
                {"keys": keys, "values": values, "count": count, "next_batch": next_batch}
            )
            kernel = "batch_heap_pop" if self._heaps == 1 else "batch_heap_pop_any"
            self._launch(kernel, self._count_batches(count), batches)
            self._size -= count
        return keys, values

    def operate(self, sizes: Any, keys: Any, values: Any = None) -> Any:
        """Insert and delete batches, in the order in which blocks come to them.

        sizes: uint32, shape (operations,). Operation j inserts that many keys, from
        ``keys[j * node]`` on; if its size is 0 it deletes up to ``node`` keys and writes them
        there. There must be memory for all insertions (``reserve``). Returns the operations'
        outcomes, uint64, one row per operation with the fields of ``operation_record``.
        """
        import cupy

        fields = self._structs["operation_record"].dtype.names or ()
        history = cupy.zeros((sizes.size, len(fields)), np.uint64)
        next_operation = cupy.zeros(1, np.uint64)
        operations = self._structs["operation_list"].pack(
            {"sizes": sizes, "keys": keys, "values": values, "count": sizes.size,
             "history": history, "next_operation": next_operation}
        )  # fmt: skip
        self._launch("batch_heap_history", sizes.size, operations, self._bottom_up)
        done, count = (history[:, fields.index(name)] for name in ("done", "count"))
        self._size += int(sizes[done > 0].sum()) - int(count.sum())
        return history

    def reserve(self, items: int) -> None:
        """Provide memory for that many items in all."""
        nodes = -(-(items // self._node) // self._heaps)
        if nodes <= self._places:
            return
        places = (1 << nodes.bit_length()) - 1
        grown = self._allocate(places)
        for old, new in zip((self._keys, self._values, self._words), grown, strict=True):
            new.reshape(self._heaps, -1)[:, : old.size // self._heaps] = old.reshape(
                self._heaps, -1
            )
        self._places = places  # all of it, or nothing if memory runs out
        self._keys, self._values, self._words = grown
        self._memory = self._pack_memory()

    @property
    def memory(self) -> np.ndarray:
        """The kernels' argument ``heap_arguments``; valid until the heap's memory grows."""
        return self._memory

    def items(self) -> tuple[Any, Any]:
        """All keys and values, in no particular order, whatever kernels have done to the heap."""
        import cupy

        present = cupy.flatnonzero(self._words[:: self._word_stride])
        buffered, buffer = self._read_counts("buffered"), read_constant("buffer")

        def gather(array: Any) -> Any:
            rows = array.reshape(-1, self._node)
            buffers = rows.reshape(self._heaps, -1, self._node)[:, buffer]
            parts = (row[:count] for row, count in zip(buffers, buffered, strict=True))
            return cupy.concatenate([rows[present].ravel(), *parts])

        return gather(self._keys), gather(self._values)

    def refill(self, keys: Any, values: Any) -> None:
        """Replace all items by these, which are in ascending order of their keys."""
        import cupy

        self.reserve(keys.size)
        nodes, buffered = divmod(keys.size, self._node)
        heap = np.arange(nodes) % self._heaps  # the heaps by turns
        place = bit_reversed_places(-(-nodes // self._heaps))[np.arange(nodes) // self._heaps]
        row_of_node = cupy.asarray(heap * (self._places + read_constant("spare_rows")) + place)
        for array, source in ((self._keys, keys), (self._values, values)):
            rows = array.reshape(-1, self._node)
            rows[row_of_node] = source[: keys.size - buffered].reshape(nodes, self._node)
            rows[read_constant("buffer"), :buffered] = source[keys.size - buffered :]
        self._words[:] = read_constant("node_empty")
        self._words[row_of_node * self._word_stride] = read_constant("node_available")
        counts = np.zeros(self._counts.shape, np.uint64)
        counts[:, read_constant("nodes_word")] = np.bincount(heap, minlength=self._heaps)
        counts[0, read_constant("buffered_word")] = buffered
        self._counts[:] = cupy.asarray(counts)
        self._size = keys.size

    def first(self) -> np.ndarray:
        """The smallest key, shape (1,)."""
        import cupy

        rows = self._keys.reshape(self._heaps, -1, self._node)[:, :, 0]
        roots, buffers = (cupy.asnumpy(rows[:, read_constant(row)]) for row in ("root", "buffer"))
        has_root = self._read_counts("nodes") % read_constant("removal_phase") > 0
        present = has_root | (self._read_counts("buffered") > 0)
        first: np.ndarray = np.where(has_root, roots, buffers)[present].min(keepdims=True)
        return first

    def _read_counts(self, name: str) -> np.ndarray:
        """A count of each heap."""
        import cupy

        counts: np.ndarray = cupy.asnumpy(self._counts[:, read_constant(f"{name}_word")])
        return counts

    def _count_batches(self, items: int) -> int:
        return -(-items // self._node)

    def _launch(self, name: str, tasks: int, *arguments: Any) -> None:
        """Run a kernel with one block per task, or as many as are resident at once."""
        kernel = KERNELS.kernel(name, **self._macros)
        resident = resident_blocks(
            kernel, self._threads, self._shared, f"a heap of {self._node} keys per node",
            "make it with a smaller node, or with backend cpu",
        )  # fmt: skip
        blocks = min(resident, self._blocks or resident, tasks)
        launch_resident(kernel, blocks, self._threads, (self._memory, *arguments), self._shared)

    def _pack_memory(self) -> np.ndarray:
        max_nodes = self._places if self._max_nodes is None else self._max_nodes
        return self._structs["heap_arrays"].pack(
            {"keys": self._keys, "values": self._values, "words": self._words,
             "counts": self._counts, "capacity": min(max_nodes, self._places),
             "places": self._places, "heaps": self._heaps}
        )  # fmt: skip

    def _allocate(self, places: int) -> tuple[Any, Any, Any]:
        """Arrays of keys, values and words for that many places."""
        import cupy

        rows = self._heaps * (places + read_constant("spare_rows"))
        value_count = rows * self._node if self._value_word else 0
        return (
            cupy.empty(rows * self._node, self._word),
            cupy.empty(value_count, self._value_word or np.uint32),
            cupy.zeros(rows * self._word_stride, np.uint32),
        )
