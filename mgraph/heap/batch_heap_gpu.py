"""The heap of sorted nodes on a GPU: many blocks insert and delete at once.

Source: Y. Chen, F. Hua, Y. Jin, E. Z. Zhang, "Accelerating concurrent heap on GPUs", 2019. The
nodes, and what an insertion and a deletion do to them, stand in ``batch_heap_cpu``. A block works
on an operation, all its threads on a merge. Each node has a word that says whether someone works on
it; whoever holds a node takes those below it before he lets it go, so that nobody overtakes anybody
on the way down, and nobody waits in a circle. A deletion begins at the root, where it also takes
the last node away. Where that is still the target of an insertion under way, it marks it, and the
insertion gives it what it carries (the paper's co-operation). All deletions pass the root, one
after another, so the time that one holds it is what they cost: it takes the last node and the
children while the root's keys come, and some threads let nodes go while others take the next.

Whoever wants the root takes a number, since many blocks at one word would be in each other's way.
In that line, an insertion of a full batch and a deletion beside it need the root but once: what the
insertion carries takes the place of the root's keys, in place of the last node's, which stays
(``ticket_lock.cuh``). The deletion comes first in the order of both, then the insertion.

``top_down`` insertions begin at the root, too: TD-INS/TD-DEL of the paper, whose linearisation
point is the time at which an operation holds the root.

``bottom_up`` insertions of full batches, where nobody waits for the root, begin at the lowest node
on their way whose keys are all smaller than their own. This is not the paper's BU-INS, which lets
keys rise from the leaf, and leaves them in a node that it lets go in between (INSHOLD), for a
deletion to change (DELMOD). Histories of it, full batches alone, that are not linearisable are
easily found, and it can leave a heap that is none: a deletion that passes moves rising keys up past
a node whose order with its parent it has already seen to. A second insertion below compares itself
with those keys, finds all in order, and is done; then the first one's keys move on, larger ones
take their place, and the second one's stand below larger ones, for good. Nor may a full buffer's
keys rise from a leaf, since those that completed insertions put there would be out of sight
meanwhile. Here nothing rises: the search for where to begin reads, and the keys go down from there,
from node to held node, as those of ``top_down`` do; what fills up the buffer goes down from the
root. Such an insertion is linearised when it holds the node that it begins at: all above have
smaller keys.

An insertion takes the next place by adding to a count; a bottom-up one without holding anything.
So it may be given a place that a deletion has not yet emptied, or a place below one; the count's
upper half tells it that a deletion is at that point, and it waits for its end. Then it waits for
its parent to be there, which lasts until a deletion asks for its own place.

Memory order: a node's word is taken by compare-and-exchange with acquire and release, and let go by
a store with release after a block barrier; keys are read past the first-level cache.
Device bytes: the nodes', in places up to the next power of two, and 32 for each node's word.
"""

from typing import Any

import numpy as np

from mgraph.cuda.source import Source, launch_resident, resident_blocks
from mgraph.heap.key_order import word_type

_FIRST_PLACES = 15
COUNT_WORDS = 36  # of heap_counts, 8 bytes each
BUFFERED, REMOVED, TICKETS = 8, 9, 10  # which of them
SPARE_ROWS = 10  # of heap_memory, a node each, beside its places
_WORD_BYTES = 32
_AVAILABLE = 1  # a node's word, where nobody works on it
_C_TYPES = {"uint32": "unsigned", "uint64": "unsigned long long", "None": "mgraph::no_value"}


def defines(word: Any, value_word: Any, node: int, block_threads: int) -> dict[str, str]:
    """The kernels' macros."""
    return {
        "MGRAPH_KEY_T": _C_TYPES[str(word)],
        "MGRAPH_VALUE_T": _C_TYPES[str(value_word)],
        "MGRAPH_NODE": str(node),
        "MGRAPH_THREADS": str(block_threads),
    }


def shared_bytes(word: Any, value_word: Any, node: int) -> int:
    """What a block needs: three nodes' keys and values, and a few words."""
    return 3 * node * (word.itemsize + (value_word.itemsize if value_word else 0)) + 112 + 16


def places_of(nodes: int) -> np.ndarray:
    """Where the first nodes stand, int64: each level from 1 << level on, by reversed bits."""
    found = [np.zeros(0, np.int64)]
    for level in range(nodes.bit_length()):
        first = 1 << level
        turn = np.arange(min(first, nodes + 1 - first))
        bits = (turn[:, None] >> np.arange(level) & 1) << np.arange(level)[::-1]
        found.append(first + bits.sum(axis=1))
    return np.concatenate(found)


KERNELS = Source(
    __package__,
    "batch_heap.cu",
    check=tuple(
        tuple(defines(word_type(word), value and word_type(value), node, threads).items())
        for word, value in (("uint32", None), ("uint32", "uint32"), ("uint64", "uint64"))
        for node, threads in ((1024, 512), (2, 2))
    ),
)


class Heap:
    """The heap behind ``BatchHeap``, of unsigned words; values are words too, or None."""

    def __init__(
        self,
        word: Any,
        value_word: Any,
        node: int,
        bottom_up: bool,
        block_threads: int,
        blocks: int | None = None,
    ) -> None:
        """Make an empty heap on the current device."""
        import cupy

        self._word, self._value_word, self._node = word, value_word, node
        self._bottom_up, self._blocks = bottom_up, blocks
        self._threads = min(block_threads, node)
        self._macros = defines(word, value_word, node, self._threads)
        self._shared = shared_bytes(word, value_word, node)
        self._size = 0
        self._places = _FIRST_PLACES
        self._keys, self._values, self._words = self._arrays(_FIRST_PLACES)
        self._counts = cupy.zeros(COUNT_WORDS, np.uint64)

    @staticmethod
    def array(given: Any) -> Any:
        """A CuPy array of a NumPy or CuPy array."""
        import cupy

        return cupy.asarray(given)

    def size(self) -> int:
        """How many keys there are."""
        return self._size

    def push(self, keys: Any, values: Any) -> None:
        """Insert keys."""
        import cupy

        if not keys.size:
            return
        self.reserve(self._size + keys.size)
        refused = cupy.zeros(1, np.uint32)
        self._launch(
            "batch_heap_push", keys.size, keys, 0 if values is None else values,
            np.uint64(keys.size), np.int32(self._bottom_up), cupy.zeros(1, np.uint64), refused,
        )  # fmt: skip
        assert not refused[0]
        self._size += keys.size

    def pop(self, count: int) -> tuple[Any, Any]:
        """Delete the ``count`` smallest keys, which there must be."""
        import cupy

        keys = cupy.empty(count, self._word)
        values = cupy.empty(count if self._value_word else 0, self._value_word or np.uint32)
        if count:
            self._counts[REMOVED] = 0
            self._launch(
                "batch_heap_pop", count, keys, values, np.uint64(count),
                cupy.zeros(1, np.uint64),
            )  # fmt: skip
            self._size -= count
        return keys, values

    def operate(self, sizes: Any, keys: Any, values: Any = None) -> Any:
        """Insert batches and delete some in whatever order the blocks come to it.

        sizes: uint32, shape (operations,): operation j inserts ``keys[j * node :]``, so many of
        them, or deletes where it is 0, and then writes what it gets there. There must be room.
        Returns what came of each, uint64, shape (operations, 6): its begin and end in nanoseconds,
        whether it was done, how many keys it deleted, how many had been before, its ticket.
        """
        import cupy

        record = cupy.zeros((sizes.size, 6), np.uint64)
        self._launch(
            "batch_heap_history", sizes.size * self._node, sizes, np.uint64(sizes.size), keys,
            0 if values is None else values, np.int32(self._bottom_up), cupy.zeros(1, np.uint64),
            record,
        )  # fmt: skip
        inserted = int(sizes[record[:, 2] > 0].sum())
        self._size += inserted - int(record[:, 3].sum())
        return record

    def reserve(self, items: int) -> None:
        """Let there be room for so many items in all."""
        nodes = items // self._node
        if nodes <= self._places:
            return
        places = (1 << nodes.bit_length()) - 1
        larger = self._arrays(places)
        for before, now in zip((self._keys, self._values, self._words), larger, strict=True):
            now[: before.size] = before
        self._places = places  # all of it, or nothing where there is no room
        self._keys, self._values, self._words = larger

    @property
    def memory(self) -> tuple[Any, ...]:
        """What a kernel makes a ``heap_memory`` of."""
        places = np.uint32(self._places)
        return self._keys, self._values, self._words, self._counts, places, places

    @property
    def room(self) -> int:
        """How many items fit, and a node's more."""
        return self._places * self._node

    def items(self) -> tuple[Any, Any]:
        """All keys and values, in no order, whatever kernels have done to the heap."""
        import cupy

        there = cupy.flatnonzero(self._words[:: _WORD_BYTES // 4])
        buffered = int(self._counts[BUFFERED])

        def all_of(array: Any) -> Any:
            rows = array.reshape(-1, self._node)
            return cupy.concatenate([rows[there].ravel(), rows[0, :buffered]])

        return all_of(self._keys), all_of(self._values)

    def refill(self, keys: Any, values: Any) -> None:
        """Hold these items alone, which are in ascending order of their keys."""
        import cupy

        self.reserve(keys.size)
        nodes, buffered = divmod(keys.size, self._node)
        places = cupy.asarray(places_of(nodes))
        for array, its in ((self._keys, keys), (self._values, values)):
            rows = array.reshape(-1, self._node)
            rows[places] = its[: keys.size - buffered].reshape(nodes, self._node)
            rows[0, :buffered] = its[keys.size - buffered :]
        self._words[:] = 0
        self._words[places * (_WORD_BYTES // 4)] = _AVAILABLE
        self._counts[:] = 0
        self._counts[0], self._counts[BUFFERED] = nodes, buffered
        self._size = keys.size

    def first(self) -> np.ndarray:
        """The smallest key, shape (1,)."""
        nodes = int(self._counts[0]) & 0xFFFFFFFF
        row = 1 if nodes else 0
        found: np.ndarray = self._keys[row * self._node : row * self._node + 1].get()
        return found

    def _launch(self, name: str, items: int, *arguments: Any) -> None:
        """Run a kernel with as many blocks as it has batches, and as fit at once."""
        kernel = KERNELS.kernel(name, **self._macros)
        most = resident_blocks(
            kernel, self._threads, self._shared, f"a heap of {self._node} keys a node",
            "make it with a smaller node, or with backend cpu",
        )  # fmt: skip
        blocks = min(most, self._blocks or most, -(-items // self._node))
        launch_resident(kernel, blocks, self._threads, (*self.memory, *arguments), self._shared)

    def _arrays(self, places: int) -> tuple[Any, Any, Any]:
        """Keys, values and words of so many places."""
        import cupy

        rows = places + SPARE_ROWS
        with_values = rows * self._node if self._value_word else 0
        return (
            cupy.empty(rows * self._node, self._word),
            cupy.empty(with_values, self._value_word or np.uint32),
            cupy.zeros(rows * _WORD_BYTES // 4, np.uint32),
        )
