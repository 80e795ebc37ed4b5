"""A GPU generates the edges of a CPU, bit for bit, in memory, in a stream and in files."""

import numpy as np
import pytest

import mgraph
from mgraph import CopyModel
from mgraph.generators import preferential_attachment
from tests.gpu.workers import edges_handled

pytestmark = pytest.mark.gpu

SIZES = [
    (2, 1), (1000, 1), (100_000, 1), (5, 4), (37, 4), (100_000, 4), (9, 8), (100_000, 8),
    (50_000, 3), (50_000, 7), (20_000, 32), (34, 33), (20_000, 33), (5_000, 500), (4_300, 4096),
]  # fmt: skip


def both(model, part=None):
    return (model.edges(part, backend=backend) for backend in ("cpu", "gpu"))


def assert_equal(cpu, gpu):
    np.testing.assert_array_equal(gpu.edges.src.get(), cpu.edges.src)
    np.testing.assert_array_equal(gpu.edges.dst.get(), cpu.edges.dst)
    assert gpu.edges.dst.dtype == cpu.edges.dst.dtype
    assert gpu.checksum == cpu.checksum


@pytest.mark.parametrize("p", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_gpu_equals_cpu(n, d, p):
    assert_equal(*both(CopyModel(n, d, p, seed=11)))


@pytest.mark.parametrize("d", [1, 4, 8, 33])
@pytest.mark.parametrize("p", [0.0, 0.01, 0.5, 1.0])
def test_gpu_equals_cpu_at_ten_million(d, p):
    model = CopyModel(10_000_000, d, p)
    part = range(0, model.n) if p >= 0.5 and d < 33 else range(9_900_000, 10_000_000)
    assert_equal(*both(model, part))


@pytest.mark.parametrize("d", [1, 8, 32, 33, 4096])
def test_ids_of_64_bits(d):
    model = CopyModel(1 << 40, d)
    assert_equal(*both(model, range((1 << 40) - 500, 1 << 40)))


@pytest.mark.parametrize("parts", [1, 7, 64])
@pytest.mark.parametrize("block_edges", [1, 1000, 1 << 20])
def test_streams_are_the_entire_graph(parts, block_edges):
    model = CopyModel(600 if block_edges == 1 else 30_000, 8)
    complete = model.edges(backend="cpu")
    row = checksum = 0
    for part in model.split(parts):
        for block in preferential_attachment.stream(
            model, part, backend="gpu", block_edges=block_edges
        ):
            rows = slice(row, row + block.edges.src.size)
            np.testing.assert_array_equal(block.edges.src, complete.edges.src[rows])
            np.testing.assert_array_equal(block.edges.dst, complete.edges.dst[rows])
            row, checksum = rows.stop, checksum + block.checksum
    assert row == model.num_edges
    assert checksum % (1 << 64) == complete.checksum


@pytest.fixture(scope="module")
def gpu_cluster():
    with mgraph.connect(workers=1, backend="gpu", dashboard="127.0.0.1:0") as cluster:
        yield cluster


@pytest.mark.parametrize("parts", [1, 7, 64])
@pytest.mark.parametrize("model", [CopyModel(100_000, 8), CopyModel(2_000_000, 4)], ids=str)
def test_datasets_are_those_of_the_cpu(tmp_path, gpu_cluster, model, parts):
    result = mgraph.generate(tmp_path / "g", model, cluster=gpu_cluster, parts=parts, progress=None)
    assert gpu_cluster.backend == "gpu"
    assert result.manifest.checksum == model.edges(backend="cpu").checksum
    assert mgraph.verify(tmp_path / "g", regenerate=1.0, cluster=gpu_cluster, progress=None).ok


@pytest.mark.multigpu
def test_every_gpu_takes_part(tmp_path):
    model = CopyModel(4_000_000, 8)
    with mgraph.connect(backend="gpu", dashboard="127.0.0.1:0") as cluster:
        assert len(cluster.workers) >= 2
        result = mgraph.generate(tmp_path / "g", model, cluster=cluster, parts=64, progress=None)
        counted = cluster.client.run(edges_handled)
    assert all(counted.values())
    assert sum(counted.values()) == model.num_edges
    assert result.manifest.checksum == model.edges(backend="cpu").checksum
