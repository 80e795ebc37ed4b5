"""Killed workers, killed clients, full disks: what was finished stays, and the rest is made."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time

import dask
import psutil
import pytest
from dask.utils import parse_timedelta

import mgraph
from mgraph import ClusterError, CopyModel, StorageError
from mgraph.cli.main import main
from mgraph.distributed.clusters.client import request
from mgraph.distributed.operations import components_tasks, graph_operation
from mgraph.distributed.operations.tasks import run_parts
from tests.gate import gated
from tests.waiting import wait_for_json, wait_until

MODEL = CopyModel(20_000, 4)
PARTS = 12
PASSING = 4  # parts before the gate; then each worker has one half-written


def parts_in(folder, pattern="part-*.parquet"):
    return sorted(path.name for path in folder.glob(pattern)) if folder.exists() else []


def command(*arguments):
    return [sys.executable, "-m", "mgraph.cli.main", *map(str, arguments)]


def generate_command(out, *more):
    model = ["-n", MODEL.n, "-d", MODEL.d, "--parts", PARTS, "--backend", "cpu", "--workers", 2]
    return command("generate", out, *model, "--dashboard", "127.0.0.1:0", *more)


@pytest.fixture
def gate(tmp_path):
    with gated(tmp_path / "gate") as gate:
        yield gate


@contextlib.contextmanager
def workers_killed(cluster, gate, out, pattern="part-*", count=1):
    """Kill workers with half-written files in ``out``, and see that they were replaced."""
    pids = cluster.client.run(os.getpid)
    gate.close(PASSING, pattern)

    def kill():
        try:
            assert gate.wait_for(len(pids)) == set(pids.values())
            assert len(parts_in(out, pattern)) == PASSING
            assert len(parts_in(out, f".{pattern}.*tmp")) >= len(pids)
            for pid in list(pids.values())[:count]:
                os.kill(pid, signal.SIGKILL)
        finally:
            gate.open()

    killer = threading.Thread(target=kill)
    killer.start()
    yield
    killer.join()
    assert set(cluster.client.run(os.getpid).values()) != set(pids.values())


def test_a_worker_killed_half_way_is_made_good(tmp_path, gate):
    out = tmp_path / "g"
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        with workers_killed(cluster, gate, out):
            result = mgraph.generate(out, MODEL, cluster=cluster, parts=PARTS, progress=None)
        assert result.made_parts == PARTS
        assert len(parts_in(out)) == PARTS
        assert not list(out.glob(".*"))
        assert result.manifest.checksum == MODEL.edges(backend="cpu").checksum
        assert mgraph.verify(out, regenerate=0.05, cluster=cluster, progress=None).ok


def test_the_last_worker_killed_while_it_loads_is_made_good(tmp_path):
    begun = tmp_path / "begun"

    def load(name):
        if not begun.exists():
            begun.touch()
            time.sleep(60)
        return loaded

    loaded = graph_operation.GraphFacts(n=2, num_arcs=1, length_dtype="int64")
    with mgraph.connect(threaded=True, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        (pid,) = cluster.client.run(os.getpid).values()

        def kill():
            while not begun.exists():
                time.sleep(0.01)
            os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        assert graph_operation.load_everywhere(cluster, load, "g", 1, None) == loaded
        killer.join()


@pytest.mark.parametrize("where", [{"workers": 2}, {"threaded": True}])
def test_a_worker_killed_while_it_searches_is_made_good(tmp_path, gate, where):
    out, sources = tmp_path / "r", list(range(0, 3_000, 250))
    graph = CopyModel(3_000, 4, weights=(1, 99))
    with mgraph.connect(backend="cpu", dashboard="127.0.0.1:0", **where) as cluster:
        mgraph.generate(tmp_path / "g", graph, cluster=cluster, parts=4, progress=None)
        asked = {"cluster": cluster, "progress": None}
        whole = mgraph.sssp_many(tmp_path / "g", sources, tmp_path / "whole", **asked)
        with workers_killed(cluster, gate, out):
            run = mgraph.sssp_many(tmp_path / "g", sources, out, batch=1, **asked)
    assert run.made_parts == len(parts_in(out)) == len(sources)
    assert run.checksum == whole.checksum
    assert not list(out.glob(".*"))


@pytest.mark.parametrize("killed", [1, 2])
def test_workers_killed_while_they_span_are_made_good(tmp_path, gate, killed):
    graph, out = tmp_path / "g", tmp_path / "f"
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        model = CopyModel(4_000, 8, weights=(1, 99))
        mgraph.generate(graph, model, cluster=cluster, parts=32, progress=None)
        asked = {"cluster": cluster, "progress": None, "batch": 1_000}
        whole = mgraph.spanning_forest_dataset(graph, tmp_path / "whole", **asked)
        with workers_killed(cluster, gate, out, "_forest-*done.json", killed):
            run = mgraph.spanning_forest_dataset(graph, out, **asked)
    assert run.manifest.checksum == whole.manifest.checksum
    assert run.total_weight == whole.total_weight
    assert {path.name for path in out.iterdir()} == {"_manifest.json", "part-00000.parquet"}


def take_small_steps():
    """Have this worker unite a few edges per step, and leave a checkpoint after each."""
    components_tasks.STEP_EDGES = {"cpu": 2_000, "gpu": 2_000}
    components_tasks.CHECKPOINT_SECONDS = components_tasks.CHECKPOINT_COST = 0


@pytest.mark.parametrize(
    ("passing", "pattern", "waiting"),
    [(3, "_labels-*", 2), (0, "part-*", 1), (0, "_components.parquet", 1)],
)
def test_a_worker_killed_while_it_unites_or_writes_is_made_good(
    tmp_path, gate, passing, pattern, waiting
):
    graph, out = tmp_path / "g", tmp_path / "c"
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        asked = {"cluster": cluster, "progress": None}
        mgraph.generate(graph, CopyModel(4_000, 8), parts=32, **asked)
        mgraph.components_dataset(graph, tmp_path / "whole", **asked)
        cluster.client.run(take_small_steps)
        gate.close(passing, pattern)

        def kill():
            try:
                os.kill(min(gate.wait_for(waiting)), signal.SIGKILL)
            finally:
                gate.open()

        killer = threading.Thread(target=kill)
        killer.start()
        mgraph.components_dataset(graph, out, **asked)
        killer.join()
    expected, found = (
        json.loads((folder / "_manifest.json").read_text()) for folder in (tmp_path / "whole", out)
    )
    assert found["checksum"] == expected["checksum"]
    assert {path.name for path in out.iterdir()} == {
        "_manifest.json", "_components.parquet", "part-00000.parquet",
    }  # fmt: skip


def test_a_worker_that_takes_long_to_come_back_is_waited_for():
    """With Dask's own 15 s a busy machine lost all its workers, and the run waited for ever."""
    key = "distributed.deploy.lost-worker-timeout"
    with mgraph.connect(workers=1, backend="cpu", dashboard="127.0.0.1:0"):
        assert parse_timedelta(dask.config.get(key)) >= 600
    with dask.config.set({key: "7s"}), mgraph.connect(workers=1, backend="cpu"):
        assert dask.config.get(key) == "7s"  # what the user has set counts


def die(_):
    os._exit(1)


def test_a_part_that_kills_its_workers_is_one_clear_error():
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 2}),
        mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster,
        pytest.raises(ClusterError, match="workers died repeatedly"),
    ):
        run_parts(cluster, die, {0: None}, {0: 1}, verb="die", progress=None)


def started(gate, out, **options):
    """A command, whose workers have written a few parts and wait with others half-written."""
    gate.close(PASSING)
    environment = os.environ | gate.environment
    client = subprocess.Popen(generate_command(out, "-q"), env=environment, text=True, **options)
    gate.wait_for(2)
    return client


def test_a_client_killed_half_way_resumes(tmp_path, gate, cluster, capsys):
    out = tmp_path / "g"
    client = started(gate, out, stderr=subprocess.DEVNULL)
    family = psutil.Process(client.pid).children(recursive=True)
    client.kill()
    client.wait()
    psutil.wait_procs(family, timeout=30)  # the workers notice and end
    assert not any(process.is_running() and process.status() != "zombie" for process in family)
    assert not (out / "_manifest.json").exists()
    kept = {name: (out / name).stat().st_mtime_ns for name in parts_in(out)}
    assert len(kept) == PASSING

    to_it = ["--scheduler", cluster.client.scheduler.address]
    model = ["-n", str(MODEL.n), "-d", str(MODEL.d), "--parts", str(PARTS)]
    assert main(["generate", str(out), *model, "-q", "--resume", *to_it]) == 0
    assert f"in {PARTS} parts, {len(kept)} of them kept" in capsys.readouterr().out
    for name, stamp in kept.items():
        assert (out / name).stat().st_mtime_ns == stamp
    assert not list(out.glob(".*"))
    assert main(["verify", str(out), "-q", *to_it]) == 0


def test_an_interrupted_client_says_so_and_resumes(tmp_path, gate):
    out = tmp_path / "g"
    client = started(gate, out, stderr=subprocess.PIPE, start_new_session=True)
    os.killpg(client.pid, signal.SIGINT)  # what a terminal does on ctrl-C
    _, said = client.communicate(timeout=60)
    assert client.returncode == 130
    assert said.strip() == "mgraph: interrupted; what is finished is kept"
    assert not list(out.glob(".*"))
    assert len(parts_in(out)) == PASSING


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("seconds", [0, 0.3, 0.6, 0.9, 1.2])
def test_an_interrupt_while_the_cluster_starts(tmp_path, gate, seconds, number):
    gate.close(0)
    client = subprocess.Popen(
        generate_command(tmp_path / "g", "-q"), env=os.environ | gate.environment,
        stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    while not psutil.Process(client.pid).children():  # before that, Python starts
        assert client.poll() is None
        time.sleep(0.01)
    time.sleep(seconds)
    if number == signal.SIGINT:
        os.killpg(client.pid, number)
    else:  # what ends a process is sent to it alone
        client.send_signal(number)
    _, said = client.communicate(timeout=60)
    assert said.strip() == "mgraph: interrupted; what is finished is kept"
    assert client.returncode == 128 + number
    wait_until(lambda: not in_session(client.pid))


def in_session(leader):
    """The processes of a session that still run."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(OSError, psutil.Error):
            if os.getsid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=40m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small tmpfs needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_one_clear_error_and_resumes(small_disk, cluster):
    out = small_disk / "g"
    model = CopyModel(1_000_000, 8)  # 25 MB
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * (28 << 20))
    with pytest.raises(StorageError, match=r"is full.* `resume=True`"):
        mgraph.generate(out, model, cluster=cluster, parts=16, progress=None)
    assert not list(out.glob(".*")), "half-written files were left"
    assert not (out / "_manifest.json").exists()
    kept = len(parts_in(out))
    assert 0 < kept < 16

    ballast.unlink()
    result = mgraph.generate(out, model, cluster=cluster, resume=True, progress=None)
    assert (result.kept_parts, result.made_parts) == (kept, 16 - kept)
    assert mgraph.verify(out, cluster=cluster, progress=None).ok


def test_a_lost_scheduler_is_one_clear_error(tmp_path, gate, cluster, monkeypatch):
    out = tmp_path / "g"
    file = tmp_path / "scheduler.json"
    python = [sys.executable, "-m"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    scheduler = subprocess.Popen(
        [*python, "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", "0",
         "--no-dashboard", "--scheduler-file", str(file)], **quiet
    )  # fmt: skip
    worker = subprocess.Popen(
        [*python, "distributed.cli.dask_worker", "--scheduler-file", str(file), "--nthreads", "2",
         "--death-timeout", "20", "--local-directory", str(tmp_path)],
        env=os.environ | gate.environment, **quiet
    )  # fmt: skip
    try:
        address = wait_for_json(file, scheduler)["address"]
        wait_until(lambda: request(address, None, 10, op="identity", n_workers=0)["n_workers"])
        # As long as it takes to connect, a client tries to connect again.
        monkeypatch.setattr("mgraph.distributed.clusters.connect.CONNECT_SECONDS", 3)
        with mgraph.connect(scheduler_file=file) as lost:
            gate.close(PASSING)

            def kill():
                gate.wait_for(1)
                scheduler.kill()

            killer = threading.Thread(target=kill)
            killer.start()
            with pytest.raises(ClusterError, match="connection to the scheduler was lost"):
                mgraph.generate(out, MODEL, cluster=lost, parts=PARTS, progress=None)
            killer.join()
    finally:
        for process in (scheduler, worker):
            process.kill()
            process.wait()
    assert len(parts_in(out)) == PASSING
    result = mgraph.generate(out, MODEL, cluster=cluster, resume=True, progress=None)
    assert (result.kept_parts, result.made_parts) == (PASSING, PARTS - PASSING)
