"""Submitted workflows: they end, fail, are cancelled, lose a worker, lose their scheduler."""

import dataclasses
import errno
import json
import os
import signal
import socket
import threading
import time
from pathlib import Path

import psutil
import pytest
from distributed import Client, LocalCluster

import mgraph
from mgraph import ClusterError, CopyModel, StorageError, UsageError
from mgraph.core import stopping
from mgraph.distributed import attempts, driver, tasks
from mgraph.distributed import runs as runs_module
from mgraph.distributed.runs import Runs, shipped
from mgraph.io import run_folder
from mgraph.io.run_folder import RunFolder, RunRecord, folders, new_id

GENERATE = """
import sys, mgraph
with mgraph.connect(announce=sys.stdout) as cluster:
    model = mgraph.CopyModel(int(sys.argv[2]), 16)
    made = mgraph.generate(sys.argv[1], model, cluster=cluster, parts=48, overwrite=True)
    print("made", made.made_parts, "kept", made.kept_parts)
"""


@pytest.fixture(scope="module")
def client():
    """Of a cluster of two workers, which tests may kill."""
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        yield cluster.client


@pytest.fixture
def runs(tmp_path, client):
    client.wait_for_workers(2, timeout=30)
    return Runs(tmp_path / "runs", client)


@pytest.fixture
def submitted(tmp_path, runs):
    def submit(text, *arguments, companions=(), **options):
        script = tmp_path / "script.py"
        script.write_text(text)
        files = shipped(script, companions)
        run, _ = runs.submit(files, [str(argument) for argument in arguments], **options)
        return run

    return submit


def ended(runs, run):
    record = runs.wait(run).record
    return record.state, record.status, runs.output(run, 0).decode()


def until(what, seconds=30):
    deadline = time.monotonic() + seconds
    while not (found := what()):
        assert time.monotonic() < deadline, what
        time.sleep(0.02)
    return found


def alive(pid):
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def test_a_script_runs_beside_the_workers_and_finds_them(runs, submitted, tmp_path):
    companion = tmp_path / "beside.py"
    companion.write_text("word = 'beside'\n")
    text = "import beside\nprint(beside.word)\n" + GENERATE
    run = submitted(text, tmp_path / "g", 2000, companions=[companion])
    state, status, output = ended(runs, run)
    assert (state, status) == ("finished", 0), output
    assert output.startswith("beside\ncluster at tcp://127.0.0.1:")
    assert output.endswith("made 48 kept 0\n")
    told = [(event["event"], event.get("state")) for event in runs.events(run)]
    assert told == [("submitted", None), ("run", "running"), ("operation", "running"),
                    ("operation", "finished"), ("run", "finished")]  # fmt: skip
    assert (tmp_path / "runs").stat().st_mode & 0o777 | (
        run_path := _path(runs, run)
    ).stat().st_mode
    assert run_path.stat().st_mode & 0o077 == 0


def _path(runs, run):
    return RunFolder(runs.path, run.record.id).path


@pytest.mark.parametrize(
    ("text", "status", "words"),
    [
        ("import sys; sys.exit(3)", 3, ""),
        ("import sys; sys.exit('no')", 1, "no\n"),
        ("import mgraph; mgraph.CopyModel(5, 8)", 2, "mgraph: n must be above d"),
        ("print('a'); 1 / 0", 1, "ZeroDivisionError: division by zero"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, ""),
        ("def f(:", 1, "SyntaxError"),
    ],
)
def test_how_a_script_fails_is_told(runs, submitted, text, status, words):
    run = submitted(text)
    state, found, output = ended(runs, run)
    assert (state, found) == ("failed", status)
    assert words in output
    assert "run_script" not in output  # our frames are not the user's
    assert "runpy" not in output


def test_a_client_that_is_gone_changes_nothing(runs, submitted, client, tmp_path):
    script = tmp_path / "slow.py"
    script.write_text("import time\nprint('begun', flush=True)\ntime.sleep(1)\nprint('done')")
    with Client(client.scheduler.address) as first:
        run, _ = Runs(runs.path, first).submit(shipped(script))
    with Client(client.scheduler.address) as second:
        later = Runs(runs.path, second)
        assert later.find(run.record.id).record.state in ("submitted", "running")
        assert b"".join(later.follow(run)) == b"begun\ndone\n"
        assert later.find(run.record.id).record.state == "finished"
    assert Runs(runs.path).find(run.record.id).record.status == 0  # without any client


def test_cancelling_leaves_nothing_running_and_the_dataset_to_be_resumed(
    runs, submitted, client, tmp_path
):
    out = tmp_path / "g"
    run = submitted(GENERATE, out, 20_000_000)
    until(lambda: len(list(out.glob("part-*"))) >= 2, 60)
    began = time.monotonic()
    record = runs.cancel(run, 30).record
    assert time.monotonic() - began < 5
    assert record.state == "cancelled"
    assert record.error is None
    assert not any(tasks.running(client).values())
    assert not any(client.processing().values())
    there = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    time.sleep(0.5)
    assert there == {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    assert not list(out.glob(".*"))
    assert runs.cancel(run, 1).record == record  # again: it has ended
    with mgraph.connect(scheduler=client.scheduler.address) as cluster:
        how = {"cluster": cluster, "progress": None}
        made = mgraph.generate(out, CopyModel(20_000_000, 16), resume=True, **how)
        assert made.kept_parts >= 2
        assert mgraph.verify(out, **how).ok


def test_what_lies_where_it_runs_shadows_nothing(runs, submitted, tmp_path, monkeypatch):
    (tmp_path / "mgraph").mkdir()
    (tmp_path / "mgraph" / "__init__.py").write_text("1 / 0")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "numpy.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path / "data")
    state, _, output = ended(runs, submitted("import numpy, os; print(os.getcwd())"))
    assert (state, output) == ("finished", f"{tmp_path / 'data'}\n")


def test_a_script_that_will_not_end_is_ended(runs, submitted):
    run = submitted(
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf')\n"
        "time.sleep(600)",
        grace=0.5,
    )
    until(lambda: runs.output(run, 0) == b"deaf\n")
    began = time.monotonic()
    assert runs.cancel(run, 20).record.state == "cancelled"
    assert time.monotonic() - began < 4


def test_a_driver_whose_worker_dies_begins_again_and_resumes(runs, submitted, tmp_path):
    out, note = tmp_path / "g", tmp_path / "child"
    child = (
        "import subprocess, pathlib\n"
        f"child = subprocess.Popen(['sleep', '600'])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid))\n"
    )
    run = submitted(child + GENERATE + "child.kill()", out, 6_000_000)
    until(lambda: len(list(out.glob("part-*"))) >= 4, 60)
    first, its_child = runs.find(run.record.id).record, int(note.read_text())
    os.kill(first.pid, signal.SIGKILL)
    until(lambda: not alive(its_child), 10)  # what the script had started ends with it
    state, _, output = ended(runs, run)
    assert state == "finished", output
    assert "--- attempt 2, " in output
    made, kept = map(int, output.splitlines()[-1].split()[1::2])
    assert made + kept == 48
    assert kept >= 4
    assert runs.find(run.record.id).record.attempt == 2


def test_a_script_that_lost_its_scheduler_begins_again(runs, submitted):
    text = (
        "import os, mgraph\nprint('attempt', os.environ['MGRAPH_RUN_ATTEMPT'], flush=True)\n"
        "if os.environ['MGRAPH_RUN_ATTEMPT'] == '1':\n    raise mgraph.ConnectionLostError('lost')"
    )
    state, _, output = ended(runs, run := submitted(text))
    assert state == "finished"
    assert "attempt 1\nmgraph: lost\n--- attempt 2" in output
    assert runs.find(run.record.id).record.attempt == 2


def test_an_attempt_that_another_has_replaced_says_nothing(runs, submitted):
    run = submitted("import time\nprint('on', flush=True)\ntime.sleep(1)")
    until(lambda: runs.output(run, 0) == b"on\n")
    folder = RunFolder(runs.path, run.record.id)
    folder.begin_attempt(host="elsewhere", pid=None)
    time.sleep(2)
    assert folder.record().state == "running"
    assert folder.record().host == "elsewhere"
    folder.update(state="failed")


def test_a_run_without_driver_or_scheduler_is_lost_and_can_be_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(runs_module, "SILENT_SECONDS", 0.5)
    script = tmp_path / "s.py"
    script.write_text("import time; time.sleep(600)")
    with LocalCluster(n_workers=1, host="127.0.0.1", dashboard_address="127.0.0.1:0") as cluster:
        client = Client(cluster)
        there = Runs(tmp_path / "runs", client)
        run, _ = there.submit(shipped(script))
        until(lambda: there.find(run.record.id).record.state == "running")
    until(lambda: there.find(run.record.id).record.state == "lost", 30)  # by who had seen it
    client.close()
    alone = Runs(tmp_path / "runs")
    until(lambda: alone.find(run.record.id).record.state == "lost", 10)
    assert "its driver is gone" in alone.find(run.record.id).record.error
    assert [one.record.state for one in alone.all()] == ["lost"]
    assert alone.cancel(run, 5).record.state == "lost"
    assert alone.find(run.record.id).record.ended is not None
    assert alone.remove_ended(1) == 0
    assert alone.remove_ended(0) == 1
    assert alone.all() == []


def test_a_run_that_waits_for_a_worker_can_be_cancelled(tmp_path):
    script = tmp_path / "s.py"
    script.write_text("print('never')")
    with (
        LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address="127.0.0.1:0") as empty,
        Client(empty) as client,
    ):
        runs = Runs(tmp_path / "runs", client)
        run, _ = runs.submit(shipped(script))
        assert runs.find(run.record.id).record.state == "submitted"
        assert runs.cancel(run, 5).record.state == "cancelled"
        assert runs.output(run, 0) == b""


def test_files_that_cannot_be_shipped(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("pass")
    (tmp_path / "empty.py").write_text("\n")
    (tmp_path / "d" / "a.py").parent.mkdir()
    (tmp_path / "d" / "a.py").write_text("pass")
    monkeypatch.setattr(runs_module, "LARGEST_FILE", 10)
    (tmp_path / "large").write_text("x" * 11)
    for files, words in [
        (["none.py"], "there is no file"),
        (["d"], "is no file; ship"),
        (["a.py", "d/a.py"], "two files are called a.py"),
        (["empty.py"], "is empty"),
        (["a.py", "large"], "at most"),
    ]:
        with pytest.raises(UsageError, match=words):
            shipped(tmp_path / files[0], [tmp_path / file for file in files[1:]])


def _record(**more):
    where = {"by": "me@here", "cwd": "/", "scheduler": "tcp://a:1", "scheduler_id": "Scheduler-1"}
    return RunRecord(new_id(), "s.py", [], run_folder.now(), **where, mgraph="0", **more)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"id": "../../etc"}', '{"attempt": "x"}', '{"state": "asleep"}',
     '{"surprise": 1}', '{"script": null}', '{"began": "noon"}', '{"ended": "2026-01-01"}',
     '{"pid": "x"}'],
)  # fmt: skip
def test_a_spoilt_record_is_one_sentence_and_hides_no_other(tmp_path, content):
    good, bad = _record(), _record()
    for record in (good, bad):
        RunFolder(tmp_path, record.id).create(record, {"s.py": b"pass"})
    path = tmp_path / bad.id / "run.json"
    changed = content if content in ("", "{", "[]", "{}") else json.dumps(
        bad.to_json() | json.loads(content))  # fmt: skip
    path.write_text(changed)
    with pytest.raises(StorageError, match=r"run\.json is not the record of a run"):
        RunFolder(tmp_path, bad.id).record()
    assert [run.record.id for run in Runs(tmp_path)._known("")] == [good.id]


@pytest.mark.parametrize(
    "name", ["../x", "", "a/b", "20260101-000000-zzzz", "20260101-000000-0000/"]
)
def test_a_run_s_name_leads_nowhere_else(tmp_path, name):
    with pytest.raises(UsageError, match="no run's name"):
        RunFolder(tmp_path, name)


def test_a_run_is_found_by_how_its_name_begins(tmp_path):
    records = [_record(state="finished"), _record(state="failed")]
    for record in records:
        RunFolder(tmp_path, record.id).create(record, {"s.py": b"pass"})
    runs = Runs(tmp_path)
    if records[0].id != records[1].id:
        assert runs.find(records[0].id).record.state == "finished"
    with pytest.raises(UsageError, match="2 runs are called"):
        runs.find(records[0].id[:6])
    with pytest.raises(UsageError, match="there is no run 1999"):
        runs.find("1999")
    assert len(folders(tmp_path)) == 2


def test_a_run_is_found_by_its_name_s_end_and_a_spoilt_one_is_told(tmp_path):
    record = _record(state="finished")
    folder = RunFolder(tmp_path, record.id)
    folder.create(record, {"s.py": b"pass"})
    assert Runs(tmp_path).find(record.id[-4:]).record == record
    with pytest.raises(UsageError, match="is empty"):
        Runs(tmp_path).find("")
    (folder.path / "run.json").write_text("{")
    with pytest.raises(StorageError, match="not the record of a run"):
        Runs(tmp_path).find(record.id)


def test_how_a_run_ended_is_written_on_a_full_disk(tmp_path, monkeypatch):
    record = _record()
    folder = RunFolder(tmp_path, record.id)
    folder.create(record, {"s.py": b"pass"})

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_folder, "write_whole", full)
    with pytest.raises(StorageError, match="No space left"):
        folder.write("begun.json", {})
    assert folder.update(state="finished", status=0, ended=run_folder.now()).over
    assert folder.record().status == 0
    other = RunFolder(tmp_path, new_id())
    with pytest.raises(StorageError, match="No space left"):
        other.create(record, {"s.py": b"pass"})
    assert not other.path.exists()


def test_a_submitted_run_whose_scheduler_is_gone_is_lost(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    record = dataclasses.replace(_record(), scheduler=address)
    RunFolder(tmp_path, record.id).create(record, {"s.py": b"pass"})
    assert Runs(tmp_path).find(record.id).record.state == "lost"
    assert Runs(tmp_path).remove_ended(0) == 1


def test_variables_for_the_script(runs, submitted):
    run = submitted("import os; print(os.environ['COLOUR'])", environment={"COLOUR": "blue"})
    assert ended(runs, run) == ("finished", 0, "blue\n")


def test_what_an_attempt_goes_on_with(tmp_path, monkeypatch):
    def intent(attempt, asked, resume=False, overwrite=False, record=True):
        monkeypatch.setenv(attempts.FOLDER, str(folder))
        monkeypatch.setenv(attempts.ATTEMPT, str(attempt))
        attempts._folder.cache_clear()
        found = attempts.Intent("/out", {"n": asked}, resume, overwrite)
        if record:
            found.record()
        return found.resume, found.overwrite

    record = _record()
    RunFolder(tmp_path, record.id).create(record, {"s.py": b"pass"})
    folder = tmp_path / record.id
    try:
        # The first attempt is as it was asked for, and so is what it never came to.
        assert intent(1, 1, record=False) == (False, False)
        assert intent(2, 1, record=False) == (False, False)
        # It overwrites one folder twice; the second time it was cut short.
        assert intent(1, 1, overwrite=True) == (False, True)
        assert intent(1, 2, overwrite=True) == (False, True)
        assert intent(2, 1, overwrite=True) == (False, True)
        assert intent(2, 2, overwrite=True) == (False, True)
        assert intent(3, 2, overwrite=True) == (True, False)
        # What it was made of has been made anew: it is replaced, though nobody asked.
        assert intent(3, 3) == (False, True)
        assert intent(4, 3) == (True, False)
    finally:
        attempts._folder.cache_clear()


def test_a_task_whose_client_is_gone_stops(client, tmp_path):
    begun, over = tmp_path / "begun", tmp_path / "over"

    def loop(_):
        begun.touch()
        try:
            while True:
                stopping.check()
                time.sleep(0.01)
        finally:
            over.touch()

    with mgraph.connect(scheduler=client.scheduler.address) as cluster:
        futures = tasks.submit_parts(cluster, loop, {0: None}, verb="loop")
        until(begun.exists)
        assert any(tasks.running(client).values())
        del futures
    until(over.exists, 5)
    until(lambda: not any(tasks.running(client).values()), 5)


def test_a_failing_part_stops_the_others(client, tmp_path):
    over = tmp_path / "over"

    def work(index):
        if index == 0:
            raise StorageError("the disk is full")
        while True:
            try:
                stopping.check()
            except stopping.Stopped:
                over.touch()
                raise
            time.sleep(0.01)

    with (
        mgraph.connect(scheduler=client.scheduler.address) as cluster,
        pytest.raises(StorageError, match="the disk is full"),
    ):
        tasks.run_parts(cluster, work, {1: 1, 0: 0}, {0: 1, 1: 1}, verb="w", progress=None)
    assert over.exists()


def test_nothing_runs_when_a_failure_is_told(client, monkeypatch):
    def lost(*_):
        raise mgraph.ConnectionLostError("lost")

    def loop(index):
        while index:
            stopping.check()
            time.sleep(0.01)

    monkeypatch.setattr(tasks, "_fetch", lost)
    with mgraph.connect(scheduler=client.scheduler.address) as cluster:
        try:
            tasks.run_parts(cluster, loop, {0: 0, 1: 1}, {0: 1, 1: 1}, verb="w", progress=None)
        except mgraph.ConnectionLostError:
            assert not any(tasks.running(client).values())
        else:
            pytest.fail("it should have raised")


def test_results_that_died_with_a_worker_are_made_again(tmp_path):
    """Results are fetched as they come, so few are lost, and those are made again."""
    made = tmp_path / "made"
    made.mkdir()

    def work(index):
        (made / f"{index}-{os.getpid()}-{time.time_ns()}").touch()
        time.sleep(0.1)
        return index

    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        pids = cluster.client.run(os.getpid)

        def kill():
            until(lambda: len(list(made.iterdir())) >= 10)
            os.kill(next(iter(pids.values())), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        indices = range(40)
        found = tasks.run_parts(
            cluster, work, {i: i for i in indices}, dict.fromkeys(indices, 1), verb="w",
            progress=None,
        )  # fmt: skip
        killer.join()
    assert found == {i: i for i in indices}
    assert len(list(made.iterdir())) < 40 + 6


def test_the_driver_s_folder_is_gone(runs, submitted, monkeypatch):
    import shutil

    run = submitted("import time\nprint('on', flush=True)\ntime.sleep(60)")
    until(lambda: runs.output(run, 0) == b"on\n")
    record = runs.find(run.record.id).record
    children = psutil.Process(record.pid).children(recursive=True)
    assert any("run_script" in " ".join(child.cmdline()) for child in children)
    shutil.rmtree(_path(runs, run))
    psutil.wait_procs(children, timeout=10)
    assert not any(alive(child.pid) for child in children)
    with pytest.raises(UsageError, match="there is no run"):
        runs.find(run.record.id)
    assert driver.run_key(record.id).startswith("mgraph-run-")


def test_a_driver_that_does_not_answer_is_an_error(tmp_path):
    record = _record(state="running", host="elsewhere", attempt=1)
    folder = RunFolder(tmp_path, record.id)
    folder.create(record, {"s.py": b"pass"})
    folder.touch(run_folder.ALIVE)
    with pytest.raises(ClusterError, match="its driver on elsewhere does not answer"):
        Runs(tmp_path).cancel(Runs(tmp_path).find(record.id), 0.5)
    assert Path(tmp_path / record.id / "cancel").exists()
