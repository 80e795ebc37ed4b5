"""``mgraph cluster`` and ``mgraph doctor`` on GPUs: a worker each, by dask-cuda."""

import pytest

import mgraph
from mgraph.core.backend import gpu_count
from mgraph.distributed.clusters import background_cluster
from mgraph.distributed.clusters.cluster_status import status
from mgraph.distributed.doctor import diagnosis

pytestmark = pytest.mark.gpu


def test_one_worker_a_gpu_that_doctor_finds_well(tmp_path):
    folder = tmp_path / "c"
    home = background_cluster.start(folder=folder, dashboard="127.0.0.1:0")
    record = home.read()
    try:
        found = status(folder)
        assert (found.state, found.backend, found.workers) == ("running", "gpu", gpu_count())
        checks = list(diagnosis.checks(scheduler_file=home.scheduler_file, out=tmp_path / "out"))
        assert not [check for check in checks if check.state == diagnosis.FAIL]
        messages = {check.name: check.message for check in checks}
        assert messages["gpus"].startswith(f"{gpu_count()} workers see ")
        assert "compiled and ran" in messages["kernels"]
        model = mgraph.CopyModel(100_000, 4)
        with mgraph.connect(scheduler_file=home.scheduler_file) as cluster:
            assert cluster.backend == "gpu"
            made = mgraph.generate(tmp_path / "g", model, cluster=cluster, progress=None)
        assert made.manifest.checksum == model.edges(backend="cpu").checksum
    finally:
        background_cluster.stop(folder)
    assert not [one for process in record.processes() for one in process.tree()]


def test_more_workers_than_gpus_are_refused(tmp_path):
    with pytest.raises(mgraph.UsageError, match="one per GPU"):
        background_cluster.start(folder=tmp_path / "c", workers=gpu_count() + 1)


def test_a_kernel_here():
    checks = {check.name: check for check in diagnosis.checks()}
    assert checks["gpu"].state == checks["kernels"].state == diagnosis.OK
