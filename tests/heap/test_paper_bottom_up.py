"""The paper's bottom-up insertion, step by step: histories that no order of operations explains.

``batch_heap_gpu`` tells what is done instead.
"""

from mgraph.heap.batch_heap_cpu import bit_reversed_place

K = 2


class PaperHeap:
    """BU-INS/TD-DEL of the paper, its figure 12, with nodes of two keys. A deletion runs through;
    an insertion stops between its steps, where it holds no node."""

    def __init__(self, *nodes):
        self.keys = {bit_reversed_place(i): sorted(keys) for i, keys in enumerate(nodes, 1)}
        self.state = dict.fromkeys(self.keys, "AVAIL")
        self.buffer = []

    def begin(self, keys):
        """The insertion of a batch: puts it into the next node and lets that go."""
        node = bit_reversed_place(len(self.keys) + 1)
        self.keys[node], self.state[node] = sorted(keys), "INSHOLD"
        return node

    def step(self, node):
        """One step of an insertion: where it stands next; None when it is over."""
        above = node // 2
        if node not in self.keys or above not in self.keys:
            return None
        if self.state[node] == "DELMOD":  # a deletion was here: go on from the node above
            self.state[node], self.state[above] = "AVAIL", "INSHOLD"
            return above if above > 1 else None
        self.state[node] = "AVAIL"
        if self.keys[above][-1] <= self.keys[node][0]:
            return None
        both = sorted(self.keys[above] + self.keys[node])
        self.keys[above], self.keys[node] = both[:K], both[K:]
        if above == 1:
            return None
        self.state[above] = "INSHOLD"
        return above

    def insert_some(self, keys):
        """Fewer than a batch: into the buffer, with the root held. A full buffer's smallest keys
        are a batch, whose insertion begins; returns where."""
        both = sorted(self.buffer + keys)
        if len(both) < K:
            merged = sorted(self.keys[1] + both)
            self.keys[1], self.buffer = merged[:K], merged[K:]
            return None
        self.buffer = both[K:]
        return self.begin(both[:K])

    def delete(self):
        """The root's keys; the last node's sink from there."""
        found, last = self.keys[1], bit_reversed_place(len(self.keys))
        carried = self.keys.pop(last)
        self.state.pop(last)
        if self.buffer:
            merged = sorted(carried + self.buffer)
            carried, self.buffer = merged[:K], merged[K:]
        node = 1
        while True:
            children = [child for child in (2 * node, 2 * node + 1) if child in self.keys]
            if all(carried[-1] <= self.keys[child][0] for child in children):
                self.put(node, carried)
                return found
            children.sort(key=lambda child: self.keys[child][-1])
            both = sorted(key for child in children for key in self.keys[child])
            if len(children) == 2:
                self.put(children[1], both[K:])
            both = sorted(both[:K] + carried)
            self.put(node, both[:K])
            node, carried = children[0], both[K:]

    def put(self, node, keys):
        if self.keys[node] != keys and self.state[node] == "INSHOLD":
            self.state[node] = "DELMOD"
        self.keys[node] = keys


def test_full_batches():
    """A deletion lifts rising keys past an order that it has seen to; who compares itself with
    them is done too early, and his keys are passed over."""
    heap = PaperHeap([1, 2], [10, 20], [50, 60], [30, 40], [70, 80], [71, 81], [90, 91])
    assert heap.begin([5, 6]) == 8  # below nodes 4 and 2; it waits there
    for keys in ([92, 93], [94, 95], [96, 97]):
        assert heap.step(heap.begin(keys)) is None  # in order with the one above, and over
    second = heap.begin([35, 36])
    assert second == 9  # below node 4, too
    for keys in ([98, 99], [100, 101]):
        assert heap.step(heap.begin(keys)) is None
    assert heap.delete() == [1, 2]  # what replaces them sinks through 2 and 4 to 8
    assert (heap.keys[2], heap.keys[4]) == ([30, 40], [5, 6])
    assert (heap.state[8], heap.state[9]) == ("DELMOD", "INSHOLD")
    assert heap.step(second) is None  # in order with 5 and 6: the second insertion is over
    assert heap.delete() == [10, 20]
    assert heap.delete() == [30, 40]  # and 35 was there


def test_a_heap_that_is_none_in_the_end():
    """Before 98 and 99 the same; then the first insertion goes on: 30 and 40 come down upon 35."""
    heap = PaperHeap([1, 2], [10, 20], [50, 60], [30, 40], [70, 80], [71, 81], [90, 91])
    first = heap.begin([5, 6])
    for keys in ([92, 93], [94, 95], [96, 97]):
        heap.step(heap.begin(keys))
    second = heap.begin([35, 36])
    heap.step(heap.begin([98, 99]))
    heap.delete()
    assert heap.step(second) is None
    while first:
        first = heap.step(first)
    assert (heap.keys[4], heap.keys[9]) == ([30, 40], [35, 36])


def test_the_buffer():
    """Keys of an insertion that is over rise from a leaf, and are out of sight meanwhile."""
    heap = PaperHeap([1, 2], [10, 20], [50, 60])
    assert heap.insert_some([3]) is None  # it is over: 3 is in the buffer
    rising = heap.insert_some([9])  # takes 3 along to a leaf
    assert (rising, heap.keys[rising]) == (4, [3, 9])
    heap.begin([70, 71])
    assert heap.delete() == [1, 2]
    assert heap.delete() == [10, 20]  # and 3 was there
