"""The kernels of components without a GPU: in the emulator, NumPy in CuPy's place."""

import numpy as np
import pytest

import mgraph
from mgraph import EdgeList, UsageError
from mgraph.components import afforest_gpu, component_sizes_gpu, edge_components_gpu
from tests import emulator
from tests.components.oracles import assert_ordered, draw_edges, draw_labels, labels_of
from tests.steiner.emulated import Host

pytestmark = pytest.mark.skipif(emulator.COMPILER is None, reason="needs g++")


@pytest.fixture
def host(monkeypatch):
    host = Host(threads=64)
    host.patch(monkeypatch)
    return host


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("directed", [False, True])
def test_rows(host, seed, directed):
    n = 300
    src, dst = draw_edges(seed, n, 60 + 60 * seed)
    src[10:60] = 7  # a row for a warp
    edges = EdgeList(src, dst.astype(np.int64) if seed == 1 else dst)
    graph = mgraph.from_edges(edges, n, directed=directed, backend="cpu")
    host.seed = seed
    labels = afforest_gpu.label_components(graph)
    np.testing.assert_array_equal(labels, labels_of(src, dst, n))
    assert [name.removeprefix("afforest_") for name in host.launched] == [
        "begin", "compress", "sample", "link", "link_long", "flatten",
    ]  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_edges_in_blocks(host, seed):
    n = 300
    src, dst = draw_edges(seed, n, 280)
    host.seed = seed
    components = edge_components_gpu.EdgeComponents(n)
    for i in range(0, 280, 70):
        components.add(src[i : i + 70], dst[i : i + 70])
    np.testing.assert_array_equal(components.labels(), labels_of(src, dst, n))


def test_edges_outside_the_graph(host):
    components = edge_components_gpu.EdgeComponents(5)
    with pytest.raises(UsageError, match=r"vertices must lie in \[0, 5\) \(got -3\)"):
        components.add(np.array([1, 2], np.int64), np.array([0, -3], np.int64))


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("n", [0, 1, 400])
def test_sizes(host, n, dtype):
    host.seed = n + 1
    labels = draw_labels(n, dtype)
    assert_ordered(component_sizes_gpu.count_sizes(labels), labels)
