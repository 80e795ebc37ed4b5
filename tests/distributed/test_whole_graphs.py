"""Methods that make a graph as a whole, over a cluster: a worker makes it once, for its parts."""

import os
import signal

import pytest

import mgraph
from mgraph import ClusterError, CopyModel, OutOfMemoryError, UsageError, experiments
from mgraph.core.backend import gpu_count

METHODS = ("copy", "cuppa", "ba", "copy_hash")


def generate(out, model, cluster, **options):
    return mgraph.generate(out, model, cluster=cluster, progress=None, **options)


@pytest.mark.parametrize("parts", [1, 7])
@pytest.mark.parametrize("method", METHODS)
def test_parts_are_those_of_one_graph(tmp_path, cluster, method, parts):
    model = CopyModel(20_000, 8, method=method, weights=(0, 9))
    made = generate(tmp_path / "g", model, cluster, parts=parts)
    assert made.manifest.checksum == model.edges(backend="cpu").checksum
    verdict = mgraph.verify(tmp_path / "g", regenerate=1.0, cluster=cluster, progress=None)
    assert verdict.ok
    assert verdict.regenerated == parts


def test_a_part_that_is_lost_is_made_again(tmp_path, cluster):
    model = CopyModel(20_000, 8, method="copy")
    whole = generate(tmp_path / "g", model, cluster, parts=5)
    (tmp_path / "g" / "part-00003.parquet").unlink()
    again = generate(tmp_path / "g", model, cluster, resume=True)
    assert (again.made_parts, again.kept_parts) == (1, 4)
    assert again.manifest.checksum == whole.manifest.checksum
    nothing = generate(tmp_path / "g", model, cluster, resume=True)
    assert (nothing.made_parts, nothing.kept_parts) == (0, 5)


def test_parts_of_another_method_are_not_taken(tmp_path, cluster):
    generate(tmp_path / "g", CopyModel(2000, method="copy"), cluster)
    with pytest.raises(UsageError, match="method is copy there and ba here"):
        generate(tmp_path / "g", CopyModel(2000, method="ba"), cluster, resume=True)


@pytest.mark.parametrize("method", ["copy", "cuppa", "ba"])
def test_a_graph_too_large_for_a_worker_is_refused_before_it_is_begun(tmp_path, cluster, method):
    model = CopyModel(1 << 36, 4, method=method)
    with pytest.raises(OutOfMemoryError, match=r"needs 2,048\.0 GiB.*worker.*cuppa_hash"):
        generate(tmp_path / "g", model, cluster)
    assert not (tmp_path / "g").exists()


def test_nothing_stays_on_the_workers(tmp_path, cluster):
    generate(tmp_path / "g", CopyModel(2000, method="copy"), cluster)

    def held(dask_worker):
        return [name for name in dask_worker.plugins if name.startswith("mgraph-graph")]

    assert not any(cluster.client.run(held).values())


@pytest.mark.skipif(gpu_count() > 0, reason="a cluster that is started would have GPUs")
def test_without_a_cluster_one_worker_has_the_graph(tmp_path):
    model = CopyModel(20_000, 8, method="copy")
    made = mgraph.generate(tmp_path / "g", model, progress=None)
    assert made.manifest.checksum == model.edges(backend="cpu").checksum
    assert mgraph.verify(tmp_path / "g", regenerate=1.0, progress=None).ok


def test_scaling(cluster):
    model = CopyModel(20_000, 8)
    found = experiments.generator_scaling(model, repeats=1, cluster=cluster, progress=None)
    assert [report.workers for report in found] == [1, 2]
    assert all(report.seconds > 0 and report.edges == model.num_edges for report in found)
    with pytest.raises(UsageError, match="method copy cannot generate parts"):
        experiments.generator_scaling(CopyModel(2000, method="copy"), cluster=cluster)
    with pytest.raises(UsageError, match="repeats must be at least 1"):
        experiments.generator_scaling(CopyModel(2000), repeats=0, cluster=cluster)


def test_scaling_ends_when_a_worker_is_lost():
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        pids = cluster.client.run(os.getpid)
        os.kill(pids[min(pids)], signal.SIGKILL)
        with pytest.raises(ClusterError, match="a worker was lost during the measurement"):
            experiments.generator_scaling(
                CopyModel(2000), repeats=1, cluster=cluster, progress=None
            )
