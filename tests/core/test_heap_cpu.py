import heapq
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.core import compiled, heap_cpu
from mgraph.core.heap_cpu import capacity, grow, pop, push

KINDS = {  # n, whether keys are small
    "packed": (2**32, True),
    "pair": (2**32, False),
    "pair of wide vertices": (2**32 + 1, True),
}

SOURCES = int(compiled._digest(vars(heap_cpu)), 16)  # kept code of this file depends on these, too


@compiled.compiled
def replay(heap, keys, vertices, popped_keys, popped_vertices):
    """Push where a key is at least 0, else pop; returns how often the heap grew."""
    size, grew, out = 0, 0, 0
    for i in range(keys.size):
        if keys[i] >= 0:
            if size >= capacity(heap):
                heap = grow(heap)
                grew += 1
            push(heap, size, keys[i], vertices[i])
            size += 1
        elif size:
            popped_keys[out], popped_vertices[out] = pop(heap, size)
            size -= 1
            out += 1
    return grew


def check(kind, keys, vertices):
    n, small = KINDS[kind]
    popped_keys, popped_vertices = np.full((2, keys.size), -1, np.int64)
    heap = heap_cpu.new(n, small=small)
    grew = replay(heap, keys, vertices, popped_keys, popped_vertices)
    waiting, expected = [], []
    for key in keys.tolist():
        if key >= 0:
            heapq.heappush(waiting, key)
        elif waiting:
            expected.append(heapq.heappop(waiting))
    popped = slice(len(expected))
    assert popped_keys[popped].tolist() == expected
    went_in = Counter(zip(keys.tolist(), vertices.tolist(), strict=True))
    came_out = zip(popped_keys[popped].tolist(), popped_vertices[popped].tolist(), strict=True)
    assert Counter(came_out) <= went_in
    return grew


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_pops_in_order(kind, data):
    n, small = KINDS[kind]
    largest = 2**31 - 2 if small else 2**63 - 2
    key = st.one_of(st.just(-1), st.integers(0, 4), st.integers(largest - 2, largest))
    keys = data.draw(st.lists(key, max_size=80)) + [-1] * data.draw(st.integers(0, 80))
    vertex = st.one_of(st.integers(0, 4), st.integers(n - 3, n - 1))
    vertices = data.draw(st.lists(vertex, min_size=len(keys), max_size=len(keys)))
    check(kind, np.array(keys, np.int64), np.array(vertices, np.int64))


@pytest.mark.parametrize("kind", KINDS)
def test_grows(kind):
    random = np.random.default_rng(1)
    keys = np.concatenate([random.integers(0, 1000, 5000), np.full(5000, -1)])
    assert check(kind, keys, random.integers(0, 1 << 31, keys.size)) == 3
