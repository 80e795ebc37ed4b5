"""Whether a history of heap operations is linearizable: equal to one that does them one by one.

Keys differ from each other. Operations that held the root, or were combined with one that did, have
sequence numbers, which give their order; bottom-up insertions without one may be put anywhere
between their beginning and their end.
"""

import bisect
from typing import NamedTuple

import numpy as np

from mgraph.heap.batch_heap_gpu import Heap, read_constant

NO_SEQUENCE = (1 << 64) - 1


class Operation(NamedTuple):
    """An insertion of keys, or, if its size is 0, a deletion that returned them."""

    size: int
    begin: int
    end: int
    done: bool
    sequence: int
    keys: list


def run(rng, heap, count, node, partial):
    """Random operations on an empty heap: these, and what is wrong with the heap and with them.

    partial: the fraction of insertions that are not full.
    """
    import cupy

    sizes = np.full(count, node, np.uint32)
    is_partial = rng.random(count) < partial
    sizes[is_partial] = rng.integers(1, node, is_partial.sum(), endpoint=True)
    sizes[rng.random(count) < rng.choice([0.3, 0.5, 0.6])] = 0
    inserted = rng.choice(1 << 31, count * node, replace=False).astype(np.uint32)
    keys, values = cupy.asarray(inserted.copy()), cupy.asarray(~inserted)
    record = cupy.asnumpy(heap.operate(cupy.asarray(sizes), keys, values))
    keys, values = cupy.asnumpy(keys), cupy.asnumpy(values)
    assert (values == ~keys).all()
    history = operations(sizes, record, inserted, keys, node)
    arrays = (cupy.asnumpy(x) for x in (heap._keys, heap._words, heap._counts[0]))
    broken, remaining = heap_fault(*arrays, node)
    numbered = sum(operation.sequence != NO_SEQUENCE for operation in history)
    assert heap._read_counts("next_sequence")[0] == numbered
    return history, broken, fault(history, remaining, node)


def run_on_gpu(rng, insert):
    """Random operations on many blocks: what is wrong with the heap, and with the history."""
    word = np.dtype(np.uint32)
    node, count = int(rng.choice([2, 4, 32])), int(rng.choice([10, 40, 200]))
    max_nodes = 15 if rng.random() < 0.3 else None  # so that some insertions are refused
    heap = Heap(word, word, node, insert, 512, max_nodes=max_nodes)
    heap.reserve(count * node)
    return run(rng, heap, count, node, rng.choice([0, 0.3, 1]))[1:]


def operations(sizes, record, inserted, written, node):
    """Operations from the kernel's arguments and its records.

    inserted, written: the array of keys before and after. record: rows of begin, end, done, count,
    deleted_before, sequence.
    """
    rows = zip(sizes.tolist(), record.tolist(), strict=True)
    return [
        Operation(size, begin, end, bool(done), sequence,
                  (inserted if size else written)[j * node : j * node + (size or count)].tolist())
        for j, (size, (begin, end, done, count, _, sequence)) in enumerate(rows)
    ]  # fmt: skip


def fault(history, remaining, node):
    """What violates linearizability, or None. remaining: the keys in the heap at the end."""
    insertions = [operation for operation in history if operation.size and operation.done]
    ordered = sorted(
        (operation for operation in history if operation.sequence != NO_SEQUENCE),
        key=lambda operation: operation.sequence,
    )
    deletions = [operation for operation in ordered if not operation.size]
    inserted = [key for operation in insertions for key in operation.keys]
    deleted = [key for operation in deletions for key in operation.keys]
    if sorted(inserted) != sorted(deleted + remaining):
        return "keys were lost, duplicated or invented"
    if [operation.sequence for operation in ordered] != list(range(len(ordered))):
        return "two operations have the same sequence number"
    latest = 0
    for operation in ordered:
        if operation.end < latest:
            return "an operation follows one that began after its end"
        latest = max(latest, operation.begin)
    return _replay(insertions, deletions, node)


def _replay(insertions, deletions, node):
    """Do deletions in order; each must return the smallest keys that are certainly in the heap.

    The keys of an insertion without a sequence number are certainly there once it has ended, or
    once one of its keys was deleted.
    """
    numbered = [operation for operation in insertions if operation.sequence != NO_SEQUENCE]
    unnumbered = [operation for operation in insertions if operation.sequence == NO_SEQUENCE]
    by_sequence = sorted(numbered, key=lambda operation: operation.sequence)
    by_end = sorted(unnumbered, key=lambda operation: operation.end)
    insertion_of = {key: operation for operation in insertions for key in operation.keys}
    present, seen = [], set()

    def insert(operation):
        if id(operation) not in seen:
            seen.add(id(operation))
            for key in operation.keys:
                bisect.insort(present, key)

    numbered_count = ended_count = 0
    for deletion in deletions:
        while (
            numbered_count < len(by_sequence)
            and by_sequence[numbered_count].sequence < deletion.sequence
        ):
            insert(by_sequence[numbered_count])
            numbered_count += 1
        while ended_count < len(by_end) and by_end[ended_count].end < deletion.begin:
            insert(by_end[ended_count])
            ended_count += 1
        for key in deletion.keys:
            insertion = insertion_of[key]
            is_numbered = insertion.sequence != NO_SEQUENCE
            follows = is_numbered and insertion.sequence > deletion.sequence
            if follows or insertion.begin > deletion.end:
                return "a key was deleted before it was inserted"
            insert(insertion)
        if present[: len(deletion.keys)] != deletion.keys:
            return "a deletion passed over a smaller key"
        if len(deletion.keys) < node and len(present) > len(deletion.keys):
            return "a deletion returned fewer keys than there were"
        del present[: len(deletion.keys)]
    return None


def heap_fault(keys, words, counts, node):
    """What violates the heap property in a heap at rest, or None; and the heap's keys."""
    empty, available = read_constant("node_empty"), read_constant("node_available")
    nodes = int(counts[read_constant("nodes_word")]) % read_constant("removal_phase")
    buffered = int(counts[read_constant("buffered_word")])
    rows = keys.reshape(-1, node)
    states = words.reshape(-1, read_constant("heap_word_bytes") // 4)[:, 0]
    present = np.flatnonzero(states == available)
    remaining = [*rows[present].ravel().tolist(), *rows[0, :buffered].tolist()]
    for row in present.tolist():
        if (np.diff(rows[row].astype(object)) < 0).any():
            return f"the keys of node {row} are not in order", remaining
        if row > 1 and (states[row // 2] != available or rows[row // 2, -1] > rows[row, 0]):
            return f"node {row} is not below its parent", remaining
    if present.size != nodes or set(states[1:].tolist()) - {empty, available}:
        return "nodes are left in other states", remaining
    if nodes and buffered and rows[0, 0] < rows[1, -1]:
        return "the buffer has a key below the root's largest", remaining
    return None, remaining
