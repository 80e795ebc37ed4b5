"""Components on a GPU, of rows and of edges in blocks, against SciPy's and the CPU's."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import EdgeList, UsageError
from mgraph.distributed.operations import components_tasks
from tests.components.oracles import (
    assert_ordered,
    draw_edges,
    draw_labels,
    labels_of,
    labels_of_graph,
)

pytestmark = pytest.mark.gpu


def long_chain():
    """Return a path whose vertices stand in random order: roots are found late."""
    chain = np.random.default_rng(3).permutation(300_000).astype(np.int32)
    return chain[1:], chain[:-1], chain.size


def two_stars():
    """Return two stars: one of them is not in the sample, and its row is a long one."""
    leaves = np.arange(2, 200_002, dtype=np.int32)
    return leaves, (leaves % 5 == 0).astype(np.int32), 200_002


def shapes():
    yield long_chain()
    yield two_stars()
    for n, m in [(1, 0), (5, 0), (1000, 300), (100_000, 60_000), (100_000, 500_000)]:
        yield *draw_edges(n, n, m), n


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("directed", [False, True])
def test_components_of_rows(dtype, directed):
    for src, dst, n in shapes():
        edges = EdgeList(src, dst)
        graph = mgraph.from_edges(edges, n, directed=directed, backend="cpu")
        graph = mgraph.Graph(graph.indptr, graph.indices.astype(dtype), None, directed)
        components = mgraph.connected_components(graph.to_gpu())
        expected = labels_of(src, dst, n)
        np.testing.assert_array_equal(components.labels.get(), expected)
        sizes = np.unique(expected, return_counts=True)[1]
        np.testing.assert_array_equal(components.sizes, sizes)
        np.testing.assert_array_equal(components.to_cpu().labels, expected)


def test_no_vertices():
    graph = mgraph.Graph(np.zeros(1, np.int64), np.zeros(0, np.int32)).to_gpu()
    assert mgraph.connected_components(graph).num_components == 0


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_components_of_edges_in_blocks(dtype):
    import cupy

    from mgraph.components.edge_components_gpu import EdgeComponents

    for src, dst, n in shapes():
        components = EdgeComponents(n)
        for i in range(0, src.size, 70_000):
            block = src[i : i + 70_000], dst[i : i + 70_000]
            components.add(*(cupy.asarray(ends.astype(dtype)) for ends in block))
        np.testing.assert_array_equal(components.labels().get(), labels_of(src, dst, n))
    with pytest.raises(UsageError, match=r"vertices must lie in \[0, 5\) \(got 7\)"):
        EdgeComponents(5).add(cupy.asarray([1, 7], dtype=dtype), cupy.asarray([2, 1], dtype=dtype))


def test_labels_of_64_bits(monkeypatch):
    """As from 2^31 vertices on."""
    import cupy

    from mgraph.components.edge_components_gpu import EdgeComponents

    src, dst, n = long_chain()
    components = EdgeComponents(n)
    components._parent = components._parent.astype(np.int64)
    components.add(cupy.asarray(src), cupy.asarray(dst))
    labels = components.labels()
    assert labels.dtype == np.int64
    assert not labels.any()


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("n", [0, 1, 400, 3_000_000])
def test_sizes(n, dtype):
    from mgraph.components import component_sizes_gpu

    labels = draw_labels(n, dtype)
    assert_ordered(component_sizes_gpu.count_sizes(labels), labels)


@pytest.mark.parametrize("step", [None, 1000])
def test_a_dataset_on_the_device(tmp_path, monkeypatch, step):
    """In steps, between which there are checkpoints."""
    if step:
        monkeypatch.setattr(components_tasks, "STEP_EDGES", {"gpu": step, "cpu": step})
        monkeypatch.setattr(components_tasks, "CHECKPOINT_SECONDS", 0.0)
    src, dst = draw_edges(1, 30_000, 25_000)
    graph = mgraph.from_edges(
        EdgeList(src, dst, np.arange(src.size)), 30_000, directed=False, backend="cpu"
    )
    mgraph.write_graph(graph, tmp_path / "g")
    with mgraph.connect(backend="gpu", dashboard="127.0.0.1:0", in_process=True) as cluster:
        run = mgraph.components_dataset(
            tmp_path / "g", tmp_path / "c", largest=tmp_path / "l", cluster=cluster, progress=None
        )
    expected = labels_of_graph(graph)
    manifest = json.loads((tmp_path / "c" / "_manifest.json").read_text())
    tables = [pq.read_table(tmp_path / "c" / part["file"]) for part in manifest["parts"]]
    labels = np.concatenate([table["component"].to_numpy() for table in tables])
    np.testing.assert_array_equal(labels, expected)
    assert run.num_components == np.unique(expected).size
    assert mgraph.open_dataset(tmp_path / "l").n == run.largest_size
