"""What a history of heap operations must be: its operations one after another, in some order.

Keys are different from each other. Operations that held the root have tickets, which give their
order; those from below that did not may be put anywhere between their beginning and their end.
"""

import bisect
from typing import NamedTuple

import numpy as np

NO_TICKET = (1 << 64) - 1


class Operation(NamedTuple):
    """An insertion of keys, or, where size is 0, a deletion that gave them."""

    size: int
    begin: int
    end: int
    done: bool
    ticket: int
    keys: list


def operations(sizes, record, given, found, node):
    """From what the kernel was told and wrote: record's rows begin, end, done, count, …, ticket."""
    rows = zip(sizes.tolist(), record.tolist(), strict=True)
    return [
        Operation(size, begin, end, bool(done), ticket,
                  (given if size else found)[j * node : j * node + (size or count)].tolist())
        for j, (size, (begin, end, done, count, _, ticket)) in enumerate(rows)
    ]  # fmt: skip


def fault(history, left, node):
    """What is wrong with it, or None. left: the keys that are in the heap at the end."""
    insertions = [one for one in history if one.size and one.done]
    turns = sorted((one for one in history if one.ticket != NO_TICKET), key=lambda one: one.ticket)
    deletions = [one for one in turns if not one.size]
    given = [key for one in insertions for key in one.keys]
    taken = [key for one in deletions for key in one.keys]
    if sorted(given) != sorted(taken + left):
        return "keys were lost, doubled or made up"
    if [one.ticket for one in turns] != list(range(len(turns))):
        return "two operations had the same turn at the root"
    latest = 0
    for one in turns:
        if one.end < latest:
            return "an operation had its turn after one that began when it was over"
        latest = max(latest, one.begin)
    return _replayed(insertions, deletions, node)


def _replayed(insertions, deletions, node):
    """Deletions in order; each must give the smallest keys of what is there for certain.

    An insertion without a ticket is there once it is over, or once one of its keys was deleted.
    """
    by_ticket = sorted((x for x in insertions if x.ticket != NO_TICKET), key=lambda x: x.ticket)
    by_end = sorted((x for x in insertions if x.ticket == NO_TICKET), key=lambda x: x.end)
    of_key = {key: one for one in insertions for key in one.keys}
    there, seen = [], set()

    def add(one):
        if id(one) not in seen:
            seen.add(id(one))
            for key in one.keys:
                bisect.insort(there, key)

    ticketed = finished = 0
    for deletion in deletions:
        while ticketed < len(by_ticket) and by_ticket[ticketed].ticket < deletion.ticket:
            add(by_ticket[ticketed])
            ticketed += 1
        while finished < len(by_end) and by_end[finished].end < deletion.begin:
            add(by_end[finished])
            finished += 1
        for key in deletion.keys:
            one = of_key[key]
            later = one.ticket != NO_TICKET and one.ticket > deletion.ticket
            if later or one.begin > deletion.end:
                return "a key was deleted before it was inserted"
            add(one)
        if there[: len(deletion.keys)] != deletion.keys:
            return "a deletion passed over a smaller key"
        if len(deletion.keys) < node and len(there) > len(deletion.keys):
            return "a deletion gave fewer keys than there were"
        del there[: len(deletion.keys)]
    return None


def heap_fault(keys, words, counts, node):
    """What is wrong with a heap at rest, or None; and its keys."""
    nodes, buffered = int(counts[0]) & 0xFFFFFFFF, int(counts[8])
    rows, states = keys.reshape(-1, node), words.reshape(-1, 8)[:, 0]
    there = np.flatnonzero(states == 1)
    present = [*rows[there].ravel().tolist(), *rows[0, :buffered].tolist()]
    for row in there.tolist():
        if (np.diff(rows[row].astype(object)) < 0).any():
            return f"the keys of node {row} are not in order", present
        if row > 1 and (states[row // 2] != 1 or rows[row // 2, -1] > rows[row, 0]):
            return f"node {row} is not below its parent", present
    if there.size != nodes or set(states[1:].tolist()) - {0, 1}:
        return "nodes are left in other states", present
    if nodes and buffered and rows[0, 0] < rows[1, -1]:
        return "the buffer has a key below the root's largest", present
    return None, present
