"""Generation speed, with pytest-benchmark: ``pytest tests/benchmarks --benchmark-enable``.

The suite runs each once, small. MGRAPH_BENCH_EDGES sets the size of a real measurement.
"""

import os

import pytest

import mgraph
from mgraph import CopyModel
from mgraph.generators import preferential_attachment
from mgraph.io.folder import Folder
from mgraph.io.parquet import COMPRESSIONS, writing_part

EDGES = int(os.environ.get("MGRAPH_BENCH_EDGES", 200_000))


def report(benchmark, edges):
    if benchmark.stats:
        benchmark.extra_info["million edges/s"] = edges / benchmark.stats["median"] / 1e6


@pytest.mark.parametrize("d", [1, 4, 8, 33])
@pytest.mark.parametrize("p", [0.5, 1.0])
def test_cuppa_hash_on_one_core(benchmark, d, p):
    model = CopyModel(EDGES // d + d, d, p)
    generated = benchmark(model.edges, backend="cpu", threads=1)
    assert generated.edges.src.size == model.num_edges
    report(benchmark, model.num_edges)


@pytest.mark.gpu
@pytest.mark.parametrize("d", [1, 4, 8, 33])
def test_cuppa_hash_on_a_gpu(benchmark, d):
    model = CopyModel(EDGES // d + d, d)
    generated = benchmark(model.edges, backend="gpu")
    assert generated.edges.src.size == model.num_edges
    report(benchmark, model.num_edges)


@pytest.mark.parametrize("compression", COMPRESSIONS)
@pytest.mark.parametrize("n", [12_500_000, 1 << 33])
def test_encoding_a_part(benchmark, tmp_path, compression, n):
    model = CopyModel(n, 8)
    part = range(n // 2, n // 2 + EDGES // 8)
    blocks = [
        [column.copy() for column in block.edges]
        for block in preferential_attachment.stream(model, part)
    ]

    def write():
        with writing_part(Folder(tmp_path), "part", model.columns, compression) as writer:
            for block in blocks:
                writer.write(mgraph.EdgeList(*block))
            writer.close({})

    benchmark(write)
    edges = model.edges_in(part)
    benchmark.extra_info["bytes per edge"] = (tmp_path / "part").stat().st_size / edges
    report(benchmark, edges)
