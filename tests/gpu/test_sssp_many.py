"""Shortest paths from many sources over a cluster of GPUs."""

import pytest

import mgraph
from mgraph import CopyModel
from tests.gpu.workers import edges_handled

pytestmark = pytest.mark.gpu


@pytest.mark.parametrize("cutoff", [None, 40])  # all are reached, and some
def test_many_sources_over_a_cluster(cutoff, tmp_path):
    model = CopyModel(20_000, 4, weights=(1, 50))
    checksums = set()
    for backend in ("cpu", "gpu"):
        with mgraph.connect(workers=1, backend=backend, dashboard="127.0.0.1:0") as cluster:
            if backend == "cpu":
                mgraph.generate(tmp_path / "g", model, cluster=cluster, parts=4, progress=None)
            run = mgraph.sssp_many(
                tmp_path / "g",
                out=tmp_path / backend,
                random=9,
                cutoff=cutoff,
                cluster=cluster,
                progress=None,
            )
        assert [search.source for search in run.searches] == sorted(
            search.source for search in run.searches
        )
        checksums.add(run.checksum)
    assert len(checksums) == 1


@pytest.mark.multigpu
def test_every_gpu_searches(tmp_path):
    model = CopyModel(200_000, 8, weights=(1, 50))
    with mgraph.connect(backend="gpu", dashboard="127.0.0.1:0") as cluster:
        assert len(cluster.workers) >= 2
        mgraph.generate(tmp_path / "g", model, cluster=cluster, parts=8, progress=None)
        before = cluster.client.run(edges_handled)
        mgraph.sssp_many(tmp_path / "g", random=64, cluster=cluster, progress=None)
        after = cluster.client.run(edges_handled)
    assert all(after[worker] > before[worker] for worker in after)
