"""Sequences and arrays of any kind are converted without loss, or refused."""

import array
import collections
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import BatchHeap, EdgeList, UsageError
from mgraph.core.arrays import as_array, as_dtype, as_list, checked_vertices

TYPES = ("int32", "uint32", "int64", "uint64", "float32", "float64")
SOURCES = ("int8", "uint8", "int16", "float16", *TYPES)
EDGES = EdgeList([0, 1, 2], [1, 2, 3], [1, 5, 1])

ONE_TWO_THREE = {
    "list": lambda: [1, 2, 3],
    "tuple": lambda: (1, 2, 3),
    "range": lambda: range(1, 4),
    "generator": lambda: (i + 1 for i in range(3)),
    "keys": lambda: {1: "a", 2: "b", 3: "c"}.keys(),
    "deque": lambda: collections.deque([1, 2, 3]),
    "array": lambda: array.array("h", [1, 2, 3]),
    "memoryview": lambda: memoryview(bytes([1, 2, 3])),
    "scalars": lambda: [np.int8(1), np.uint64(2), 3],
    "int16": lambda: np.array([1, 2, 3], np.int16),
    "swapped": lambda: np.array([1, 2, 3], ">i8"),
    "strided": lambda: np.array([1, 0, 2, 0, 3])[::2],
    "objects": lambda: np.array([1, 2, 3], object),
    "unmasked": lambda: np.ma.array([1, 2, 3]),
}
SETS = {"set": lambda: {3, 1, 2}, "frozenset": lambda: frozenset([2, 3, 1])}
NO_NUMBERS = {
    "text": lambda: "123",
    "bytes": lambda: b"123",
    "dict": lambda: {1: 2},
    "strings": lambda: ["1", "2", "3"],
    "booleans": lambda: [True, False, True],
    "complex": lambda: [1j, 2, 3],
    "ragged": lambda: [[1], [2, 3]],
    "none": lambda: [1, None, 3],
    "dates": lambda: np.array(["2025-11-25"] * 3, "M8[D]"),
    "masked": lambda: np.ma.array([1, 2, 3], mask=[0, 1, 0]),
    "one": lambda: 1,
    "nothing": lambda: None,
}


def kept(value, dtype):
    """Whether a type holds a Python number as it is."""
    if dtype.kind in "iu":
        if not math.isfinite(value) or value != int(value):
            return False
        limits = np.iinfo(dtype)
        return limits.min <= value <= limits.max
    if not math.isfinite(value):
        return True
    with np.errstate(over="ignore"):
        found = float(dtype.type(value))
    return math.isfinite(found) and Fraction(found) == Fraction(value)


@settings(deadline=None, max_examples=300)
@given(st.data())
def test_arrays_are_converted_if_each_number_is_kept(data):
    source, dtype = (np.dtype(data.draw(st.sampled_from(kinds))) for kinds in (SOURCES, TYPES))
    if source.kind == "f":
        width = 8 * source.itemsize
        numbers = st.floats(width=width) | st.integers(-(2**15), 2**15).map(float)
        numbers |= st.sampled_from([math.inf, -math.inf])
    else:
        limits = np.iinfo(source)
        edges = [2**k + j for k in (24, 31, 32, 53, 63) for j in (-1, 0, 1)]
        edges = [x for e in edges for x in (e, -e) if limits.min <= x <= limits.max]
        numbers = st.integers(int(limits.min), int(limits.max)) | st.sampled_from([0, *edges])
    with np.errstate(over="ignore"):
        values = np.array(data.draw(st.lists(numbers, max_size=4)), source)
    bad = [value for value in values.tolist() if not kept(value, dtype)]
    if bad:
        with pytest.raises(UsageError, match=f"x must be {dtype}"):
            as_dtype("x", values, dtype)
    else:
        found = as_dtype("x", values, dtype)
        assert found.dtype == dtype
        assert all(a == b or a != a for a, b in zip(found.tolist(), values.tolist(), strict=True))


@settings(deadline=None, max_examples=300)
@given(st.lists(st.integers(-(2**70), 2**70) | st.sampled_from([2**63, -1]), max_size=4),
       st.sampled_from(TYPES))  # fmt: skip
def test_python_integers_are_kept_or_refused(values, name):
    dtype = np.dtype(name)
    if all(kept(value, dtype) for value in values):
        assert [int(x) for x in as_dtype("x", values, dtype)] == values
    else:
        with pytest.raises(UsageError, match=f"x must be {dtype}"):
            as_dtype("x", values, dtype)


@pytest.mark.parametrize("form", ONE_TWO_THREE.values(), ids=ONE_TWO_THREE)
@pytest.mark.parametrize("dtype", TYPES)
def test_a_heap_accepts_all_forms(form, dtype):
    heap = BatchHeap(dtype, values=dtype, backend="cpu")
    heap.push(form(), form())
    keys, values = heap.pop(9)
    assert keys.tolist() == values.tolist() == [1, 2, 3]
    assert keys.dtype == values.dtype == dtype


@pytest.mark.parametrize(
    ("dtype", "keys"),
    [
        ("int32", [3.5]), ("int32", [2**40]), ("int32", [-(2**31) - 1]), ("uint32", [-1]),
        ("int32", np.array([3.5])), ("int32", np.array([2**40])), ("uint64", np.array([-1])),
        ("int64", [2**63]), ("uint64", [2**64, -1]), ("int64", np.array([2**63], np.uint64)),
        ("int64", np.array([2.0**63])), ("int32", [float("nan")]), ("int32", [float("inf")]),
        ("float32", [2**24 + 1]), ("float64", [2**53 + 1]), ("float64", [2**53 + 1, 0.5]),
        ("float32", [1e300]), ("float32", np.array([0.1])), ("float32", np.array([1e300])),
        ("float32", [float("nan")]), ("float64", [2**1100]),
    ],
)  # fmt: skip
def test_a_heap_refuses_what_would_be_lost(dtype, keys):
    heap = BatchHeap(dtype, backend="cpu")
    with pytest.raises(UsageError, match=r"keys must be|not a number"):
        heap.push(keys)
    assert len(heap) == 0
    with_values = BatchHeap("int32", values=dtype, backend="cpu")
    if dtype[0] != "f" or keys[0] == keys[0]:  # values may be NaN
        with pytest.raises(UsageError, match="values must be"):
            with_values.push(range(len(keys)), keys)
        assert len(with_values) == 0


def test_a_list_of_floats_is_rounded_to_the_heaps_type():
    heap = BatchHeap("float32", backend="cpu")
    heap.push([0.5, 3, 0.1, float("inf"), 0.25])
    assert heap.pop(9).tolist() == [np.float32(0.1), 0.25, 0.5, 3, np.inf]
    whole = BatchHeap("int32", backend="cpu")
    whole.push([3.0, -2.0])
    assert whole.pop(2).tolist() == [-2, 3]


@pytest.mark.parametrize("form", [*NO_NUMBERS.values(), *SETS.values()],
                         ids=[*NO_NUMBERS, *SETS])  # fmt: skip
def test_anything_but_a_list_of_numbers_is_refused(form):
    calls = [
        lambda: BatchHeap("int32", backend="cpu").push(form()),
        lambda: mgraph.knapsack(form(), [1, 1, 1], 2),
        lambda: mgraph.knapsack([1, 1, 1], form(), 2),
        lambda: mgraph.from_edges(EdgeList(form(), [1, 2, 3]), backend="cpu"),
    ]
    for call in calls:
        with pytest.raises(UsageError):
            call()


@pytest.mark.parametrize("form", [*ONE_TWO_THREE.values(), *SETS.values()],
                         ids=[*ONE_TWO_THREE, *SETS])  # fmt: skip
def test_vertices_are_accepted_in_all_forms(form):
    assert checked_vertices("x", form(), 4).tolist() == [1, 2, 3]
    graph = mgraph.from_edges(EDGES, directed=False, backend="cpu")
    assert mgraph.steiner_tree(graph, form(), backend="cpu").terminals.tolist() == [1, 2, 3]
    found = mgraph.sssp(graph, form(), backend="cpu")
    assert found.distance.tolist() == [[1, 0, 5, 6], [6, 5, 0, 1], [7, 6, 1, 0]]
    found = mgraph.sssp(graph, 0, targets=form(), cutoff=1, backend="cpu")
    assert found.reached.tolist() == [True, True, False, False]


@pytest.mark.parametrize("names", ["Ana", ["Ana", "Bo"], np.array(["Ana"], object)])
def test_names_in_place_of_vertices_are_told_how_to_become_some(names):
    with pytest.raises(UsageError, match=r"graph.vertex\(label\) gives the number"):
        checked_vertices("x", names, 9)


@pytest.mark.parametrize("form", ONE_TWO_THREE.values(), ids=ONE_TWO_THREE)
def test_algorithms_accept_all_forms(form):
    assert mgraph.knapsack(form(), form(), 5).items.tolist() == [1, 2]
    graph = mgraph.from_edges(EdgeList(form(), form(), form()), backend="cpu")
    assert graph.indices.tolist() == graph.weights.tolist() == [1, 2, 3]
    degree, count = EdgeList(form(), form()).degree_histogram(4)
    assert (degree.tolist(), count.tolist()) == ([0, 2], [1, 3])
    assert len(EdgeList(form(), form()).rows(1, 3)) == 2


def test_queries_are_accepted_in_all_forms():
    graph = mgraph.from_edges(EDGES, directed=False, backend="cpu")
    several = ([{0, 3}, range(2)], ({0, 3}, range(2)), (q for q in ({0, 3}, range(2))))
    for queries in (*several, np.array([[0, 3], [0, 1]])):
        found = dict(mgraph.steiner_trees(graph, queries, backend="cpu"))
        assert [found[i].terminals.tolist() for i in (0, 1)] == [[0, 3], [0, 1]]
    for bad in ({(0, 3)}, "03", 5, None, {0: 3}):
        with pytest.raises(UsageError, match="queries must be a list"):
            mgraph.steiner_trees(graph, bad)


@pytest.mark.parametrize(
    "bad", ["12", b"12", {1: 2}, [0.5], [True], [None], [[1, 2]], [1, [2]], np.ones(2)]
)
def test_anything_but_vertices_is_refused(bad):
    with pytest.raises(UsageError, match="x must be"):
        checked_vertices("x", bad, 9)


def test_large_integers_keep_their_last_digits():
    for values in ([2**63, -1], [2**53 + 1, 0.5], [-(2**63), 2**63 + 5]):
        assert as_array("x", values).tolist() == values


def test_lists():
    assert as_list("x", (i for i in "ab")) == ["a", "b"]
    assert as_list("x", {1: 2}.values()) == [2]
    for bad in ("ab", {1}, {1: 2}, 5, None):
        with pytest.raises(UsageError, match="x must be a list"):
            as_list("x", bad)


@pytest.mark.parametrize("dtype", [">f8", ">f4", ">i8", ">i4", ">u8", ">u2"])
def test_numbers_of_another_byte_order_are_the_same_numbers(dtype):
    given = np.array([3, 1, 200], dtype)
    if given.dtype.kind == "f":
        given[1] = 1e30
    graph = mgraph.from_edges(
        EdgeList(np.arange(3, dtype=">i8"), np.array([1, 2, 0], ">i4"), given), backend="cpu"
    )
    assert graph.weights.dtype.isnative
    assert graph.weights.tolist() == given.tolist()
    assert graph.indices.tolist() == [1, 2, 0]
    with pytest.raises(UsageError, match="below 2\\^63"):
        mgraph.from_edges(EdgeList([0], [1], np.array([1 << 63], ">u8")))


@pytest.mark.parametrize("n", ["3", 3.0, 2.5, True])
def test_a_number_of_vertices_is_whole(n):
    with pytest.raises(UsageError, match=r"n must be a whole number \(got"):
        mgraph.from_edges(EdgeList([0], [1]), n=n)
