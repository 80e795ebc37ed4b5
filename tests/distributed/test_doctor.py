"""``mgraph doctor`` on healthy clusters, and on others."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile

import dask
import pytest

from mgraph.distributed.clusters import client
from mgraph.distributed.doctor import diagnosis, worker_probe
from mgraph.distributed.doctor import folder_probe as probing
from mgraph.errors import UsageError
from tests.waiting import wait_for_json


def found(checks):
    """Checks by name; of the same name the last."""
    return {check.name: check for check in checks}


def test_this_machine_alone():
    checks = found(diagnosis.checks())
    assert checks["python"].message.startswith(".".join(map(str, sys.version_info[:3])))
    assert {"mgraph", "dask", "distributed", "numba", "cores", "memory", "disk"} <= set(checks)
    assert "only this machine" in checks["scheduler"].message
    assert not [check for check in checks.values() if check.state == diagnosis.FAIL]
    assert str(checks["cores"]).startswith("ok    cores        ")


def test_invalid_settings_fail():
    with dask.config.set({"mgraph.monitor.interval": "soon", "mgraph.cancel-grace": -1}):
        checks = [check for check in diagnosis.checks() if check.name == "settings"]
    assert [check.state for check in checks] == [diagnosis.FAIL] * 2
    assert "mgraph.cancel-grace must be a number of seconds" in checks[0].message
    assert "mgraph.monitor.interval must be a number of seconds" in checks[1].message
    with dask.config.set({"mgraph.surprise": 1}):
        (check,) = [check for check in diagnosis.checks() if check.name == "settings"]
    assert "mgraph.surprise" in check.message


def test_a_healthy_cluster_passes(cluster, tmp_path):
    address = cluster.client.scheduler.address
    every = list(diagnosis.checks(scheduler=address, out=tmp_path / "new" / "out"))
    assert not [check for check in every if check.state != diagnosis.OK]
    checks = found(every)
    assert checks["workers"].message == "2 answer"
    for name in ("python", "mgraph", "dask", "distributed", "numpy", "numba", "pyarrow"):
        assert checks[name].message.endswith("everywhere")
    assert checks["encryption"].message == "none, on this machine alone"
    assert checks["out"].message.startswith("read and written by 2 workers, ")
    assert (
        "operations use the cores" in checks["gpus"].message
        or "workers see" in checks["gpus"].message
    )
    assert not os.listdir(tmp_path)  # what it made it removed


def test_an_existing_folder_is_unchanged(cluster, tmp_path):
    (tmp_path / "mine").write_text("")
    checks = found(diagnosis.checks(scheduler=cluster.client.scheduler.address, out=tmp_path))
    assert checks["out"].state == diagnosis.OK
    assert os.listdir(tmp_path) == ["mine"]


def test_a_folder_that_cannot_be_written_fails(cluster, tmp_path):
    (tmp_path / "file").write_text("")
    for where in ({}, {"scheduler": cluster.client.scheduler.address}):
        checks = found(diagnosis.checks(out=tmp_path / "file" / "deeper", **where))
        assert checks["out"].state == diagnosis.FAIL
        assert "cannot be written from here" in checks["out"].message
    assert (tmp_path / "file").read_text() == ""


@pytest.fixture
def ordinary_user():
    """For a while this process is a user without access everywhere; for root, uid 65534."""
    if os.geteuid():
        yield os.geteuid()
        return
    os.seteuid(65534)
    try:
        yield 65534
    finally:
        os.seteuid(0)


@pytest.mark.parametrize(("mode", "state"), [(0o000, diagnosis.FAIL), (0o300, diagnosis.OK)])
def test_a_folder_that_cannot_be_listed_may_pass(ordinary_user, mode, state):
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        os.chmod(folder, mode)
        try:
            with probing.FolderProbe(folder) as probe:
                check = diagnosis._check_folder(probe)
        finally:
            os.chmod(folder, 0o700)
        assert check.state == state, check
        assert os.listdir(folder) == []


def test_a_folder_that_workers_do_not_share_fails(monkeypatch, cluster, tmp_path):
    monkeypatch.setattr(worker_probe, "SEE_SECONDS", 0.2)
    monkeypatch.setattr(probing.FolderProbe, "__enter__", lambda probe: probe)  # no file is there
    checks = found(diagnosis.checks(scheduler=cluster.client.scheduler.address, out=tmp_path))
    assert checks["out"].state == diagnosis.FAIL
    assert "2 of 2 workers do not see what was written here" in checks["out"].message
    assert checks["out"].remedy.startswith("--out must be one folder for all")


@contextlib.contextmanager
def scheduler_and_worker(folder, path=None):
    """Processes of another environment, in which ``path`` comes first."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [
        path, os.environ.get("PYTHONPATH")]))}  # fmt: skip
    file = folder / "scheduler.json"
    python = [sys.executable, "-m"]
    how = {"env": environment, "cwd": folder, "stderr": subprocess.DEVNULL}
    processes = [
        subprocess.Popen(
            [*python, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
             "--no-dashboard", "--scheduler-file", str(file)], **how),
        subprocess.Popen(
            [*python, "distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads",
             "1", "--no-nanny", "--no-dashboard", "--local-directory", str(folder)], **how),
    ]  # fmt: skip
    try:
        wait_for_json(file, processes[0])
        with client.open_client(None, file, seconds=30, workers_needed=True, silent=False):
            pass
        yield file, processes[1]
    finally:
        for process in processes:
            process.kill()
            process.wait()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__version__ = '0.0.1'", "0.0.1 on the scheduler and on 1 worker (tcp://"),
        ("raise ModuleNotFoundError(name='mgraph')", "none on 1 worker (tcp://"),
        ("1 / 0", "broken (division by zero) on the scheduler and on 1 worker"),
    ],
    ids=["older", "none", "broken"],
)
def test_workers_with_another_mgraph(tmp_path, text, words):
    """The other mgraph has nothing of what is run there."""
    other = tmp_path / "path" / "mgraph"
    other.mkdir(parents=True)
    (other / "__init__.py").write_text(text)
    with scheduler_and_worker(tmp_path, str(other.parent)) as (file, _):
        every = list(diagnosis.checks(scheduler_file=file, out=tmp_path))
    checks = found(every)
    assert checks["mgraph"].state == diagnosis.FAIL
    assert words in checks["mgraph"].message
    assert "install the same versions" in checks["mgraph"].remedy
    assert checks["out"].state == checks["memory"].state == diagnosis.OK
    assert ("page" in checks) == ("Module" in text)


def test_a_worker_that_hangs_is_reported_in_time(tmp_path):
    with scheduler_and_worker(tmp_path) as (file, worker):
        worker.send_signal(signal.SIGSTOP)
        every = list(diagnosis.checks(scheduler_file=file, out=tmp_path))
    (silent,) = [check for check in every if check.name == "workers"]
    assert silent.state == diagnosis.FAIL
    assert silent.message.startswith("1 of 1 do not answer within 5 s: tcp://")


def test_a_scheduler_without_workers_fails():
    from distributed import LocalCluster

    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", host="127.0.0.1") as empty:
        checks = found(diagnosis.checks(scheduler=empty.scheduler_address))
    assert checks["workers"].state == diagnosis.FAIL
    assert checks["workers"].message == "there are none"


def test_a_missing_scheduler_fails(monkeypatch):
    monkeypatch.setattr("mgraph.distributed.clusters.connect.CONNECT_SECONDS", 1)
    checks = found(diagnosis.checks(scheduler="tcp://127.0.0.1:9"))
    assert checks["scheduler"].state == diagnosis.FAIL
    assert "no Dask scheduler answers" in checks["scheduler"].message
    with pytest.raises(UsageError):
        list(diagnosis.checks(scheduler="http://x"))


def test_different_versions_are_listed():
    same = diagnosis._check_equal("dask", {"here": "1", "scheduler": "1", "tcp://a": "1"})
    assert (same.state, same.message) == (diagnosis.OK, "1 everywhere")
    workers = {f"tcp://{name}": "2" for name in "abcde"}
    other = diagnosis._check_equal("dask", {"here": "1", "scheduler": None, **workers})
    assert other.state == diagnosis.FAIL
    assert "1 here" in other.message
    assert "none on the scheduler" in other.message
    assert "2 on 5 workers (tcp://a, tcp://b, tcp://c and 2 more)" in other.message


def test_little_free_space_is_a_warning_and_none_fails():
    def low(*free):
        return diagnosis._check_free_bytes(
            "disk", {f"w{i}": one for i, one in enumerate(free)}, 100, 10, "do"
        )

    assert low(None, None).state == diagnosis.WARN
    assert low(100, None).state == diagnosis.OK
    assert low(99, 200).state == diagnosis.WARN
    assert "w0" in low(99, 200).message
    assert low(9, 200).state == diagnosis.FAIL


def test_clocks_that_differ_are_a_warning():
    answers = {"near": {"began": 10.0, "ended": 10.5}, "slow": {"began": 5.0, "ended": 5.5},
               "fast": {"began": 30.0, "ended": 30.1}}  # fmt: skip
    check = diagnosis._check_clocks(answers, 9.9, 10.6)
    assert check.state == diagnosis.WARN
    assert check.message == "20 s apart: slow, fast"
    assert diagnosis._check_clocks({"near": answers["near"]}, 9.9, 10.6).state == diagnosis.OK


def test_gpus_and_kernels_are_checked_on_all_workers():
    assert diagnosis._check_gpus({"a": 0, "b": 0}).state == diagnosis.OK
    assert diagnosis._check_gpus({"a": 1, "b": 1}).message == "2 workers see 1 each"
    some = diagnosis._check_gpus({"a": 1, "b": 0})
    assert (some.state, some.message) == (diagnosis.WARN, "1 of 2 workers see none: b")
    ran = {"error": "", "seconds": 1.0, "free": 2**30}
    assert diagnosis._check_kernels({"a": ran}, 1).state == diagnosis.OK
    wrong = diagnosis._check_kernels(
        {"a": ran, "b": {"error": "no driver"}, "c": TimeoutError()}, 3
    )
    assert wrong.state == diagnosis.FAIL
    assert wrong.message == "no driver: b, c"


def test_trying_a_kernel_without_a_gpu_returns_the_error(monkeypatch):
    monkeypatch.setattr("mgraph.core.backend.gpu_count", lambda: 0)
    assert worker_probe.try_kernel_here()["error"].startswith(
        "DeviceError: backend gpu was requested"
    )
