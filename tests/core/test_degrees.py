"""Degree histograms of edges in memory, compared with NumPy's counts."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph import CopyModel, EdgeList
from mgraph.core import degrees_cpu


def expected(edges, n):
    degrees = np.bincount(edges.src, minlength=n) + np.bincount(edges.dst, minlength=n)
    return np.unique(degrees, return_counts=True)


def cases():
    nothing = np.empty(0, np.int32)
    yield EdgeList(nothing, nothing), 3
    yield EdgeList(np.array([1, 2, 2]), np.array([0, 0, 2])), 5
    for model in (CopyModel(3000, 4), CopyModel(70_000, 1, 0.0)):
        yield model.edges(backend="cpu").edges, model.n


@pytest.mark.parametrize(("edges", "n"), list(cases()))
def test_on_a_cpu(edges, n):
    for ours, theirs in zip(edges.degree_histogram(n), expected(edges, n), strict=True):
        assert ours.dtype == np.int64
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@settings(max_examples=50)
@given(data=st.data())
@pytest.mark.parametrize("cached", [1 << 25, 0])
def test_counts_of_groups_add_up_beyond_eight_bits(cached, dtype, data):
    """Some ids lie outside of the slice, and some are repeated often, in a run or apart."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(degrees_cpu, "_CACHED", cached)
        patch.setattr(degrees_cpu, "_BUCKET_BITS", data.draw(st.integers(0, 9)))
        patch.setattr(degrees_cpu, "_BUCKET_IDS", data.draw(st.integers(1, 300)))
        check_counts(dtype, data)


def check_counts(dtype, data):
    vertices = range(data.draw(st.integers(0, 9)), data.draw(st.integers(9, 300)))
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    repeats = st.sampled_from([1, 2, 255, 256, 257, 70_000])
    counted, blocks = None, []
    for _ in range(data.draw(st.integers(1, 3))):
        counter = degrees_cpu.EndpointCounter(vertices)
        for _ in range(data.draw(st.integers(0, 3))):
            runs = data.draw(st.lists(st.tuples(st.integers(-2, 320), repeats), max_size=6))
            block = np.repeat(*np.array(runs, np.int64).reshape(-1, 2).T).astype(dtype)
            if data.draw(st.booleans()):
                random.shuffle(block)
            counter.add(block)
            blocks.append(block)
        counts = counter.counts()
        counted = degrees_cpu.add_counts(counted, counts) if counted else counts
    ids = np.concatenate([*blocks, np.empty(0, dtype)])
    within = ids[(ids >= vertices.start) & (ids < vertices.stop)] - vertices.start
    whole = np.bincount(within, minlength=len(vertices))
    for known in (counted, degrees_cpu.split_counts(whole.astype(np.uint32))):
        overflows = np.bincount(known.overflows, minlength=len(vertices))
        np.testing.assert_array_equal(known.low + 256 * overflows, whole)
        for ours, theirs in zip(
            degrees_cpu.histogram(known), np.unique(whole, return_counts=True), strict=True
        ):
            assert ours.dtype == np.int64
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.gpu
@pytest.mark.parametrize(("edges", "n"), list(cases()))
def test_on_a_gpu(edges, n):
    import cupy

    there = EdgeList(*map(cupy.asarray, edges))
    for ours, theirs in zip(there.degree_histogram(n), expected(edges, n), strict=True):
        assert ours.dtype == np.int64
        np.testing.assert_array_equal(ours, theirs)
