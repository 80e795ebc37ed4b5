"""Checksums of edges in device memory are those of the same edges in the host's."""

import itertools

import numpy as np
import pytest

from mgraph import EdgeList
from mgraph.core import edge_list_cpu, edge_list_gpu

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("ids", ["int32", "int64"])
@pytest.mark.parametrize("weights", [None, "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("m", [0, 1, 31, 1000, 3_000_000])
def test_checksum(ids, weights, m):
    import cupy

    rng = np.random.default_rng(m)
    columns = [rng.integers(0, np.iinfo(ids).max, m, ids) for _ in range(2)]
    if weights is not None:
        columns.append((rng.standard_normal(m) * 1e6).astype(weights))
    on_gpu = EdgeList(*map(cupy.asarray, columns))
    edges = EdgeList(*columns)
    assert edge_list_gpu.checksum(on_gpu) == edge_list_cpu.checksum(edges)
    cuts = sorted({0, m, *rng.integers(0, m + 1, 5).tolist()})
    assert edge_list_gpu.checksums(on_gpu, cuts) == [
        edge_list_cpu.checksum(edges.rows(first, stop)) for first, stop in itertools.pairwise(cuts)
    ]
