"""Graphs built on a GPU are equal to those built on the CPU."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import CopyModel, EdgeList
from mgraph.core import csr_gpu
from tests.strategies import weights

pytestmark = pytest.mark.gpu


def assert_same(gpu, cpu):
    assert gpu.backend == "gpu"
    np.testing.assert_array_equal(gpu.indptr.get(), cpu.indptr)
    np.testing.assert_array_equal(gpu.indices.get(), cpu.indices)
    assert (gpu.weights is None) == (cpu.weights is None)
    if cpu.weights is not None:
        np.testing.assert_array_equal(gpu.weights.get(), cpu.weights)
        assert gpu.weights.dtype == cpu.weights.dtype


@pytest.mark.parametrize("batch", [None, 16])
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_small_graphs_of_all_kinds(batch, data):
    n = data.draw(st.integers(1, 40))
    m = data.draw(st.integers(0, 3 * n))
    ends = st.lists(st.integers(0, n - 1), min_size=m, max_size=m)
    ids = data.draw(st.sampled_from([np.int32, np.int64]))
    dtype = data.draw(st.sampled_from(["int32", "int64", "float32", "float64", None]))
    edges = EdgeList(
        np.array(data.draw(ends), ids),
        np.array(data.draw(ends), ids),
        None if dtype is None else data.draw(weights(m, dtype)),
    )
    names = ("directed", "drop_loops", "merge")
    choices = {name: data.draw(st.booleans()) for name in names}
    before = csr_gpu._BATCH_ARCS
    csr_gpu._BATCH_ARCS = batch or before
    try:
        gpu = mgraph.from_edges(edges, n, backend="gpu", **choices)
    finally:
        csr_gpu._BATCH_ARCS = before
    cpu = mgraph.from_edges(edges, n, backend="cpu", **choices)
    assert_same(gpu, cpu)
    for ours, theirs in zip(gpu.to_edges(), cpu.to_edges(), strict=True):
        np.testing.assert_array_equal(ours.get(), theirs)


@pytest.mark.parametrize("bounds", [None, (1, 9)])
@pytest.mark.parametrize("directed", [True, False])
def test_a_large_graph(bounds, directed):
    model = CopyModel(2_000_000, 8, weights=bounds)
    gpu, cpu = (
        mgraph.from_edges(
            model.edges(backend=backend).edges,
            model.n,
            directed=directed,
            merge=True,
            backend=backend,
        )
        for backend in ("gpu", "cpu")
    )
    assert_same(gpu, cpu)


def test_datasets_and_matrices(tmp_path):
    model = CopyModel(300_000, 4, weights=(1, 9))
    with mgraph.connect(workers=1, backend="gpu", dashboard="127.0.0.1:0") as cluster:
        mgraph.generate(tmp_path / "g", model, cluster=cluster, parts=7, progress=None)
    gpu = mgraph.read_graph(tmp_path / "g")
    assert_same(gpu, mgraph.read_graph(tmp_path / "g", backend="cpu"))
    matrix = gpu.to_sparse()
    assert matrix.shape == (model.n, model.n)
    back = mgraph.from_sparse(matrix, directed=False)
    assert_same(
        mgraph.Graph(back.indptr, back.indices, back.weights.astype(np.int32), False),
        gpu.to_cpu(),
    )


@pytest.mark.parametrize("bounds", [(0, 0), (1, 99), (0, 2**31 - 1)])
@pytest.mark.parametrize(("n", "d"), [(50_000, 1), (50_000, 8), (20_000, 33), (1 << 40, 8)])
def test_weights_of_generated_edges(n, d, bounds):
    model = CopyModel(n, d, weights=bounds)
    part = range(n) if n < 1 << 31 else range(n - 300, n)
    cpu, gpu = (model.edges(part, backend=backend) for backend in ("cpu", "gpu"))
    np.testing.assert_array_equal(gpu.edges.weight.get(), cpu.edges.weight)
    assert gpu.checksum == cpu.checksum
