"""Every operation that writes a folder owns it: a second is refused, one that was killed is not."""

import dataclasses
import os
import signal
import subprocess
import sys

import pytest

import mgraph
from mgraph import CopyModel, StorageError, UsageError
from mgraph.cli.main import main
from mgraph.distributed.operations import operation, ranks
from mgraph.distributed.protocol import run_context
from mgraph.io import run_folder
from mgraph.io.folder import Folder
from mgraph.io.owner import owner_json, this_process
from mgraph.io.ownership import NAME, is_owner_file, owning
from mgraph.io.run_folder import RunFolder, RunRecord, new_id
from tests.gate import Gate
from tests.io.moto_store import moto_bucket

MODEL = CopyModel(2_000, 3, weights=(1, 9))


@pytest.fixture(scope="module")
def graph(tmp_path_factory, cluster):
    out = tmp_path_factory.mktemp("owned") / "g"
    mgraph.generate(out, MODEL, cluster=cluster, parts=3, progress=None)
    return out


def knapsack(graph, out, **how):
    file = graph.parent / "a.data"
    mgraph.KnapsackInstance([6, 10, 12], [1, 2, 3], 5).write(file)
    return mgraph.knapsack_many([file], out, **how)


OPERATIONS = {
    "generate": lambda graph, out, **how: mgraph.generate(out, MODEL, parts=3, **how),
    "sssp": lambda graph, out, **how: mgraph.sssp_many(graph, [0, 5], out, batch=1, **how),
    "steiner": lambda graph, out, **how: mgraph.steiner_many(graph, [[0, 5, 9]], out, **how),
    "knapsack": knapsack,
    "msf": mgraph.spanning_forest_dataset,
}


def far():
    """An owner on another machine."""
    owner = this_process("mgraph generate", None, claims=False)
    return dataclasses.replace(owner, host="far", boot="another")


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_refused_where_another_writes(tmp_path, cluster, graph, name):
    out = tmp_path / "out"
    out.mkdir()
    (out / NAME).write_bytes(owner_json(far()))
    for how in ({}, {"resume": True}, {"overwrite": True}):
        with pytest.raises(
            UsageError, match=r"being written by mgraph generate \(process .* on far"
        ):
            OPERATIONS[name](graph, out, cluster=cluster, progress=None, **how)
    assert os.listdir(out) == [NAME]


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_owns_its_folder_and_leaves_no_trace(
    tmp_path, cluster, graph, name, monkeypatch
):
    out, seen = tmp_path / "out", []

    def spy(function):
        def spied(*arguments, **options):
            seen.append(os.path.exists(out / NAME))
            with pytest.raises(UsageError, match=f"being written by mgraph {name}"):
                mgraph.generate(out, MODEL, cluster=cluster, progress=None, overwrite=True)
            return function(*arguments, **options)

        return spied

    for module in (operation, ranks):
        monkeypatch.setattr(module, "run_parts", spy(module.run_parts))
    OPERATIONS[name](graph, out, cluster=cluster, progress=None)
    assert seen
    assert all(seen)
    assert "_manifest.json" in os.listdir(out)
    assert not [entry for entry in os.listdir(out) if is_owner_file(entry) or entry[0] == "."]


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_that_fails_leaves_no_owner(tmp_path, graph, name, monkeypatch):
    monkeypatch.setattr("mgraph.distributed.clusters.client.REFUSED_SECONDS", 0.1)
    with pytest.raises(mgraph.ClusterError):
        OPERATIONS[name](
            graph, tmp_path / "new" / "out", progress=None,
            cluster=mgraph.connect(scheduler="tcp://127.0.0.1:9"),
        )  # fmt: skip
    assert not os.path.exists(tmp_path / "new")


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_that_lost_its_folder_writes_no_more(
    tmp_path, cluster, graph, name, monkeypatch
):
    out = tmp_path / "out"

    def robbed(function):
        def run(*arguments, **options):
            (out / NAME).write_bytes(owner_json(far()))
            return function(*arguments, **options)

        return run

    for module in (operation, ranks):
        monkeypatch.setattr(module, "run_parts", robbed(module.run_parts))
    with pytest.raises(StorageError, match="no longer written by this operation"):
        OPERATIONS[name](graph, out, cluster=cluster, progress=None)
    assert NAME in os.listdir(out)
    assert "_manifest.json" not in os.listdir(out)
    assert not list(out.glob("*.parquet"))


def command(out, *more):
    options = ["-n", 20_000, "--backend", "cpu", "--workers", 1, "--dashboard", "127.0.0.1:0"]
    words = [sys.executable, "-m", "mgraph.cli.main", "generate", out, "-q", *options, *more]
    return [str(word) for word in words]


@pytest.fixture(params=["disk", "store"])
def place(request, tmp_path, cluster):
    if request.param == "disk":
        yield str(tmp_path / "g")
    else:
        with moto_bucket("owned", cluster) as address:
            yield f"{address}/{tmp_path.name}/g"


def test_two_at_once_into_a_new_folder(place, cluster):
    clients = [
        subprocess.Popen(command(place, "-d", d), stderr=subprocess.PIPE, text=True) for d in (4, 5)
    ]
    said = [client.communicate(timeout=280)[1] for client in clients]
    statuses = sorted(client.returncode for client in clients)
    assert statuses == [0, 2], said
    (refused,) = filter(None, said)
    assert refused.count("\n") == 1
    assert "is being written by mgraph generate (process" in refused or "already holds" in refused
    manifest = mgraph.open_dataset(place).manifest
    assert manifest.model["d"] in (4, 5)
    assert not list(filter(is_owner_file, Folder(place).names()))
    assert mgraph.verify(place, cluster=cluster, progress=None).ok


def test_one_that_was_killed_is_gone_on_from(place, tmp_path, cluster, capsys):
    """One that waits half-way is there, and does nothing."""
    model = ["-d", 4, "--parts", 8]
    gate = Gate(tmp_path / "gate")
    gate.close(2)
    client = subprocess.Popen(
        command(place, *model), env=os.environ | gate.environment, stderr=subprocess.DEVNULL
    )
    gate.wait_for(1)
    client.send_signal(signal.SIGSTOP)
    try:
        assert main_of(cluster, place, *model, "--resume") == 2
        assert f"(process {client.pid} on" in capsys.readouterr().err
    finally:
        client.kill()
        client.wait()
    assert list(filter(is_owner_file, Folder(place).names()))
    assert main_of(cluster, place, *model) == 2
    assert "already holds" in capsys.readouterr().err
    assert main_of(cluster, place, *model, "--resume") == 0
    assert "in 8 parts, 2 of them kept" in capsys.readouterr().out
    assert not list(filter(is_owner_file, Folder(place).names()))


def main_of(cluster, out, *more):
    """The status of the same command in this process."""
    options = ["-n", 20_000, "--scheduler", cluster.client.scheduler.address, *more]
    return main(["generate", out, "-q", *map(str, options)])


def test_an_attempt_of_a_run_goes_on_where_the_last_one_was(tmp_path, monkeypatch, cluster):
    record = RunRecord(
        new_id(), "s.py", [], run_folder.now(), by="me", cwd="/", scheduler="tcp://a:1",
        scheduler_id="x", mgraph="0",
    )  # fmt: skip
    RunFolder(tmp_path, record.id).create(record, {"s.py": b"pass"})
    out = tmp_path / "out"
    out.mkdir()
    (out / NAME).write_bytes(owner_json(dataclasses.replace(far(), run=record.id, attempt=1)))
    monkeypatch.setenv(run_context.FOLDER, str(tmp_path / record.id))
    for attempt in (1, 2):
        monkeypatch.setenv(run_context.ATTEMPT, str(attempt))
        run_context._run_folder.cache_clear()
        intent = run_context.WriteIntent(Folder(out), {}, False, False)
        if attempt == 1:
            with pytest.raises(UsageError, match="on far"):
                intent.check_unowned()
            with pytest.raises(UsageError, match="on far"), intent.owning("x"):
                pass
        else:
            intent.check_unowned()
            with intent.owning("x"):
                assert (out / NAME).exists()
    run_context._run_folder.cache_clear()


def test_an_operation_that_was_interrupted_leaves_no_owner(tmp_path):
    out, gate = tmp_path / "g", Gate(tmp_path / "gate")
    gate.close(1)
    client = subprocess.Popen(
        command(out, "-d", 4, "--parts", 8),
        env=os.environ | gate.environment,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    gate.wait_for(1)
    assert (out / NAME).exists()
    os.killpg(client.pid, signal.SIGTERM)
    assert client.wait(60) == 143
    assert not (out / NAME).exists()


def test_one_place_has_one_owner_by_any_name(tmp_path):
    (tmp_path / "g").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "g")
    with (
        owning(Folder(tmp_path / "g"), "x"),
        pytest.raises(UsageError, match="being written by x"),
        owning(Folder(f"file://localhost{tmp_path}/link/"), "y"),
    ):
        pass
