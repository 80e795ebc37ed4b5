"""The kernels that build graphs on a GPU, on the emulator: their graphs are those of the CPU."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import EdgeList
from mgraph.core import csr_gpu, primitives_gpu, rows
from tests import emulator
from tests.emulator.device import Device, DeviceArray, on_device
from tests.strategies import weights

pytestmark = pytest.mark.skipif(emulator.COMPILER is None, reason="needs g++")
DTYPES = ["int32", "int64", "float32", "float64", None]


@pytest.fixture(scope="module")
def device():
    with (
        pytest.MonkeyPatch.context() as patch,
        Device(threads=64, blocks=2).patched(patch, csr_gpu, primitives_gpu) as device,
    ):
        # The emulator's arrays are NumPy's as well.
        patch.setattr(rows, "on_gpu", lambda array: isinstance(array, DeviceArray))
        yield device


def build(edges, n, **options):
    arrays = EdgeList(*map(on_device, edges))
    return csr_gpu.build(arrays, n, **options)


def assert_same(gpu, cpu):
    np.testing.assert_array_equal(gpu.indptr, cpu.indptr)
    np.testing.assert_array_equal(gpu.indices, cpu.indices)
    if cpu.weights is None:
        assert gpu.weights is None
    else:
        np.testing.assert_array_equal(gpu.weights, cpu.weights)
        assert gpu.weights.dtype == cpu.weights.dtype


@settings(max_examples=40)
@given(data=st.data())
def test_small_graphs_of_all_kinds(device, data):
    n = data.draw(st.integers(1, 40))
    m = data.draw(st.integers(0, 3 * n))
    ends = st.lists(st.integers(0, n - 1), min_size=m, max_size=m)
    ids = data.draw(st.sampled_from([np.int32, np.int64]))
    dtype = data.draw(st.sampled_from(DTYPES))
    edges = EdgeList(
        np.array(data.draw(ends), ids),
        np.array(data.draw(ends), ids),
        None if dtype is None else data.draw(weights(m, dtype)),
    )
    options = {name: data.draw(st.booleans()) for name in ("directed", "drop_loops", "merge")}
    cpu = mgraph.from_edges(edges, n, backend="cpu", **options)
    assert_same(build(edges, n, **options), cpu)


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("batch", [None, 9000])
def test_rows_of_all_lengths(device, dtype, merge, batch, monkeypatch):
    """Rows that a warp sorts with 1 to 8 arcs per lane, that a block sorts, and longer ones."""
    monkeypatch.setattr(csr_gpu, "_BATCH_ARCS", batch or csr_gpu._BATCH_ARCS)
    draws = np.random.default_rng(5)
    lengths = [0, 1, 2, 31, 32, 33, 64, 65, 128, 129, 256, 257, 700, 8200, 0, 20_000, 3, 9000]
    if dtype in ("int64", "float64"):
        lengths += [2048, 2049, 4097]
    src = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    dst = draws.integers(0, 5000, src.size).astype(np.int32)  # with many parallel arcs
    weight = None
    if dtype is not None:
        weight = draws.integers(-9, 10, src.size).astype(dtype)
        if np.dtype(dtype).kind == "f":
            weight *= np.dtype(dtype).type(0.37)
    order = draws.permutation(src.size)
    edges = EdgeList(src[order], dst[order], None if weight is None else weight[order])
    cpu = mgraph.from_edges(edges, 5000, merge=merge, backend="cpu")
    gpu = build(edges, 5000, directed=True, drop_loops=False, merge=merge)
    assert_same(gpu, cpu)


@pytest.mark.parametrize("dtype", DTYPES[:4])
def test_rows_by_weight(device, dtype):
    draws = np.random.default_rng(6)
    lengths = [0, 5, 31, 100, 300, 9000]
    indptr = np.cumsum([0, *lengths])
    indices = draws.permutation(indptr[-1]).astype(np.int32)
    weight = draws.integers(-50, 50, indices.size).astype(dtype)
    weight *= np.dtype(dtype).type(3.3)
    arrays = on_device(indptr), on_device(indices), on_device(weight)
    csr_gpu.sort_rows_by_weight(*arrays)
    for begin, end in itertools.pairwise(indptr):
        order = np.lexsort((indices[begin:end], weight[begin:end]))
        np.testing.assert_array_equal(arrays[1][begin:end], indices[begin:end][order])
        np.testing.assert_array_equal(arrays[2][begin:end], weight[begin:end][order])


@given(
    values=st.lists(st.integers(0, 1000), max_size=60),
    repeat=st.integers(1, 300),
    dtype=st.sampled_from(["uint32", "int64", "uint64"]),
)
@settings(max_examples=15)
def test_cumulative_sums(device, values, repeat, dtype):
    array = np.tile(np.array(values, dtype), repeat)
    expected = np.cumsum(array, dtype=dtype)
    np.testing.assert_array_equal(primitives_gpu.accumulate(on_device(array)), expected)


@given(degrees=st.lists(st.sampled_from([0, 0, 1, 2, 3, 70, 5000]), min_size=1, max_size=40))
@settings(max_examples=15)
def test_rows_of_arcs(device, degrees):
    indptr = np.cumsum([0, *degrees])
    expected = np.repeat(np.arange(len(degrees)), degrees)
    for first in (0, 7):
        found = primitives_gpu.tails(on_device(indptr + 3 * first), expected.size, first)
        np.testing.assert_array_equal(found, expected + first)
    arcs = sorted({0, expected.size // 2, expected.size - 1} - {-1, expected.size})
    assert primitives_gpu.find_rows(on_device(indptr), arcs) == expected[arcs].tolist()
    summary = primitives_gpu.summarize_degrees(on_device(indptr), 32)
    assert summary.maximum == max(degrees)
    for count in (1, 5, 64):
        largest = np.argsort(-np.array(degrees), kind="stable")[:count]
        assert primitives_gpu.largest_rows(on_device(indptr), count).tolist() == largest.tolist()
    assert summary.pieces == sum(-(-degree // 32) for degree in degrees if degree > 32)


@pytest.mark.parametrize("dtype", ["int32", "int64", "float32", "float64"])
def test_values_of_every_type(device, dtype):
    array = np.arange(700).astype(dtype)
    assert primitives_gpu.sum_as_float(on_device(array)) == 700 * 699 / 2
    assert primitives_gpu.sum_as_float(on_device(array[:0])) == 0
    limits = np.finfo if np.dtype(dtype).kind == "f" else np.iinfo
    for value in (0, limits(dtype).max, limits(dtype).min):
        assert (primitives_gpu.full(5000, value, dtype) == np.dtype(dtype).type(value)).all()
    assert primitives_gpu.full(0, 1, dtype).size == 0


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_are_added_up_exactly(device, dtype):
    limits = np.iinfo(dtype)
    array = np.random.default_rng(1).integers(limits.min, limits.max, 3000, dtype, endpoint=True)
    array[:9] = limits.max
    assert primitives_gpu.sum_integers(on_device(array)) == sum(array.tolist())
    assert primitives_gpu.sum_integers(on_device(array[:0])) == 0


def test_some_elements_are_set(device):
    table = on_device(np.zeros((3, 50, 4), np.int64))
    primitives_gpu.fill_leading(table, 3, 9)
    assert (table[..., :3] == 9).all()
    assert not table[..., 3].any()
    words = on_device(np.zeros((10, 2), np.uint64))
    primitives_gpu.put_each(words, np.array([0, 19]), np.array([7, 8], np.uint64))
    assert words.ravel().tolist() == [7, *[0] * 18, 8]
    array = on_device(np.zeros(100, np.float64))
    primitives_gpu.put(array, on_device(np.array([0, 99, 5, 5])), 2.5)
    assert np.flatnonzero(array).tolist() == [0, 5, 99]
    assert array.sum() == 7.5
