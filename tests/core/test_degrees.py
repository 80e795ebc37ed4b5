"""Degree histograms of edges in memory, compared with NumPy's counts."""

import numpy as np
import pytest

from mgraph import CopyModel, EdgeList


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


@pytest.mark.gpu
@pytest.mark.parametrize(("edges", "n"), list(cases()))
def test_on_a_gpu(edges, n):
    import cupy

    there = EdgeList(*map(cupy.asarray, edges))
    for ours, theirs in zip(there.degree_histogram(n), expected(edges, n), strict=True):
        assert ours.dtype == np.int64
        np.testing.assert_array_equal(ours, theirs)
