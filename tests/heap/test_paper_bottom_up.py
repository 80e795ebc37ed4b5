"""The paper's bottom-up insertion, step by step: histories that are not linearizable.

``batch_heap_gpu`` says what is done instead.
"""

from mgraph.heap.batch_heap_cpu import bit_reversed_place

K = 2


class PaperHeap:
    """BU-INS/TD-DEL of the paper, its figure 12, with nodes of two keys. A deletion runs to its
    end; an insertion pauses between its steps, when it holds no node."""

    def __init__(self, *nodes):
        self.keys = {bit_reversed_place(i): sorted(keys) for i, keys in enumerate(nodes, 1)}
        self.state = dict.fromkeys(self.keys, "AVAIL")
        self.buffer = []

    def begin(self, keys):
        """Begin to insert a batch: put it into the next node and release that."""
        node = bit_reversed_place(len(self.keys) + 1)
        self.keys[node], self.state[node] = sorted(keys), "INSHOLD"
        return node

    def step(self, node):
        """Do one step of an insertion; return its next node, or None if it has ended."""
        parent = node // 2
        if node not in self.keys or parent not in self.keys:
            return None
        if self.state[node] == "DELMOD":  # a deletion changed the node: go on from its parent
            self.state[node], self.state[parent] = "AVAIL", "INSHOLD"
            return parent if parent > 1 else None
        self.state[node] = "AVAIL"
        if self.keys[parent][-1] <= self.keys[node][0]:
            return None
        merged = sorted(self.keys[parent] + self.keys[node])
        self.keys[parent], self.keys[node] = merged[:K], merged[K:]
        if parent == 1:
            return None
        self.state[parent] = "INSHOLD"
        return parent

    def insert_partial(self, keys):
        """Insert less than a batch: into the buffer, with the root held. A full buffer's smallest
        keys are a batch, whose insertion begins; return its node."""
        merged = sorted(self.buffer + keys)
        if len(merged) < K:
            merged = sorted(self.keys[1] + merged)
            self.keys[1], self.buffer = merged[:K], merged[K:]
            return None
        self.buffer = merged[K:]
        return self.begin(merged[:K])

    def delete(self):
        """Return the root's keys; the last node's sink from there."""
        deleted, last = self.keys[1], bit_reversed_place(len(self.keys))
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
                return deleted
            children.sort(key=lambda child: self.keys[child][-1])
            merged = sorted(key for child in children for key in self.keys[child])
            if len(children) == 2:
                self.put(children[1], merged[K:])
            merged = sorted(merged[:K] + carried)
            self.put(node, merged[:K])
            node, carried = children[0], merged[K:]

    def put(self, node, keys):
        if self.keys[node] != keys and self.state[node] == "INSHOLD":
            self.state[node] = "DELMOD"
        self.keys[node] = keys


def test_full_batches_are_not_linearizable():
    """A deletion moves rising keys up past a node whose order it has already established. An
    insertion that compares its keys with those ends too early, and its keys are passed over."""
    heap = PaperHeap([1, 2], [10, 20], [50, 60], [30, 40], [70, 80], [71, 81], [90, 91])
    assert heap.begin([5, 6]) == 8  # below nodes 4 and 2; it pauses there
    for keys in ([92, 93], [94, 95], [96, 97]):
        assert heap.step(heap.begin(keys)) is None  # in order with the parent: it ends
    second = heap.begin([35, 36])
    assert second == 9  # below node 4 as well
    for keys in ([98, 99], [100, 101]):
        assert heap.step(heap.begin(keys)) is None
    assert heap.delete() == [1, 2]  # what replaces them sinks through 2 and 4 to 8
    assert (heap.keys[2], heap.keys[4]) == ([30, 40], [5, 6])
    assert (heap.state[8], heap.state[9]) == ("DELMOD", "INSHOLD")
    assert heap.step(second) is None  # in order with 5 and 6: the second insertion ends
    assert heap.delete() == [10, 20]
    assert heap.delete() == [30, 40]  # although 35 was in the heap


def test_the_heap_property_can_be_violated_for_good():
    """As above without 100 and 101; then the first insertion goes on: 30 and 40 come down to 4."""
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


def test_keys_of_a_full_buffer_are_out_of_sight():
    """Keys of an insertion that has ended rise from a leaf, and deletions miss them meanwhile."""
    heap = PaperHeap([1, 2], [10, 20], [50, 60])
    assert heap.insert_partial([3]) is None  # it has ended: 3 is in the buffer
    rising = heap.insert_partial([9])  # takes 3 along to a leaf
    assert (rising, heap.keys[rising]) == (4, [3, 9])
    heap.begin([70, 71])
    assert heap.delete() == [1, 2]
    assert heap.delete() == [10, 20]  # although 3 was in the heap
