"""Runs as their folders show them: names, records, and what an attempt resumes."""

import dataclasses
import errno
import json
import socket
from pathlib import Path

import numpy as np
import pytest

from mgraph import ClusterError, StorageError, UsageError
from mgraph.distributed.protocol import run_context
from mgraph.distributed.submission import payload, state
from mgraph.distributed.submission import runs as runs_module
from mgraph.distributed.submission.payload import collect_files
from mgraph.distributed.submission.run_store import RunStore
from mgraph.distributed.submission.runs import Run, Runs
from mgraph.io import run_folder
from mgraph.io.run_folder import RunFolder, RunRecord, folders, new_id


def _record(**more):
    where = {"by": "me@here", "cwd": "/", "scheduler": "tcp://a:1", "scheduler_id": "Scheduler-1"}
    return RunRecord(new_id(), "s.py", [], run_folder.now(), **where, mgraph="0", **more)


@pytest.mark.parametrize(
    "content",
    ["", "{", "[]", "{}", '{"id": "../../etc"}', '{"attempt": "x"}', '{"state": "asleep"}',
     '{"version": 2}', '{"script": null}', '{"began": "noon"}', '{"ended": "2026-01-01"}',
     '{"pid": "x"}'],
)  # fmt: skip
def test_a_corrupt_record_is_one_sentence_and_hides_no_other(tmp_path, content):
    good, bad = _record(), _record()
    for record in (good, bad):
        RunFolder(tmp_path, record.id).create(record, {"s.py": b"pass"})
    path = tmp_path / bad.id / "run.json"
    changed = content if content in ("", "{", "[]", "{}") else json.dumps(
        bad.to_json() | json.loads(content))  # fmt: skip
    path.write_text(changed)
    with pytest.raises(StorageError, match=r"run\.json is not the record of a run"):
        RunFolder(tmp_path, bad.id).record()
    assert [run.record.id for run in Runs(tmp_path)._matching("")] == [good.id]


@pytest.mark.parametrize(
    "name", ["../x", "", "a/b", "20260101-000000-zzzz", "20260101-000000-0000/"]
)
def test_a_run_s_name_leads_to_no_other_folder(tmp_path, name):
    with pytest.raises(UsageError, match="not a run's ID"):
        RunFolder(tmp_path, name)


def test_a_run_is_found_by_the_beginning_of_its_id(tmp_path):
    records = [_record(state="finished"), _record(state="failed")]
    for record in records:
        RunFolder(tmp_path, record.id).create(record, {"s.py": b"pass"})
    runs = Runs(tmp_path)
    if records[0].id != records[1].id:
        assert runs.find(records[0].id).record.state == "finished"
    with pytest.raises(UsageError, match="stands for 2 runs"):
        runs.find(records[0].id[:6])
    with pytest.raises(UsageError, match="there is no run 1999"):
        runs.find("1999")
    assert len(folders(tmp_path)) == 2


def test_a_run_is_found_by_the_end_of_its_id_and_a_corrupt_one_is_an_error(tmp_path):
    record = _record(state="finished")
    folder = RunFolder(tmp_path, record.id)
    record = folder.create(record, {"s.py": b"pass"})
    assert Runs(tmp_path).find(record.id[-4:]).record == record
    with pytest.raises(UsageError, match="must not be empty"):
        Runs(tmp_path).find("")
    (folder.path / "run.json").write_text("{")
    with pytest.raises(StorageError, match="not the record of a run"):
        Runs(tmp_path).find(record.id)


def test_a_run_s_end_is_recorded_on_a_full_disk(tmp_path, monkeypatch):
    record = _record()
    folder = RunFolder(tmp_path, record.id)
    folder.create(record, {"s.py": b"pass"})

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(run_folder, "write_atomically", full)
    with pytest.raises(StorageError, match="No space left"):
        folder.write("begun.json", {})
    assert folder.update(state="finished", status=0, ended=run_folder.now()).over
    assert folder.record().status == 0
    other = RunFolder(tmp_path, new_id())
    with pytest.raises(StorageError, match="No space left"):
        other.create(record, {"s.py": b"pass"})
    assert not other.path.exists()


def test_runs_that_cannot_be_read_are_listed(tmp_path, monkeypatch):
    runs = tmp_path / "runs"
    assert Runs(runs).unreadable() == []
    good, bad = _record(state="finished"), _record()
    for record in (good, bad):
        RunFolder(runs, record.id).create(record, {"s.py": b"pass"})
    RunFolder(runs, new_id()).path.mkdir()  # one that is being made
    (runs / bad.id / "run.json").write_text("{")
    (problem,) = Runs(runs).unreadable()
    assert f"{bad.id}/run.json is not the record of a run" in problem

    def refuse(path):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(run_folder.os, "listdir", refuse)
    with pytest.raises(
        StorageError, match=r"the folder of runs .* cannot be read: Permission denied"
    ):
        Runs(runs).unreadable()


def test_a_submitted_run_whose_scheduler_is_gone_is_lost(tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
    record = dataclasses.replace(_record(), scheduler=address)
    RunFolder(tmp_path, record.id).create(record, {"s.py": b"pass"})
    assert Runs(tmp_path).find(record.id).record.state == "lost"
    assert Runs(tmp_path).remove_ended(0) == 1


def test_an_attempt_resumes_what_an_earlier_one_had_begun(tmp_path, monkeypatch):
    def intent(attempt, request, resume=False, overwrite=False, record=True):
        monkeypatch.setenv(run_context.FOLDER, str(folder))
        monkeypatch.setenv(run_context.ATTEMPT, str(attempt))
        run_context._run_folder.cache_clear()
        found = run_context.WriteIntent("/out", {"n": request}, resume, overwrite)
        if record:
            found.record()
        return found.resume, found.overwrite

    record = _record()
    RunFolder(tmp_path, record.id).create(record, {"s.py": b"pass"})
    folder = tmp_path / record.id
    try:
        # The first attempt is as it was request for, and so is what it never came to.
        assert intent(1, 1, record=False) == (False, False)
        assert intent(2, 1, record=False) == (False, False)
        # It overwrites one folder twice; the second time it was cut short.
        assert intent(1, 1, overwrite=True) == (False, True)
        assert intent(1, 2, overwrite=True) == (False, True)
        assert intent(2, 1, overwrite=True) == (False, True)
        assert intent(2, 2, overwrite=True) == (False, True)
        assert intent(3, 2, overwrite=True) == (True, False)
        # Its sources were replaced: so is it, without a request.
        assert intent(3, 3) == (False, True)
        assert intent(4, 3) == (True, False)
        # Other sources are another question, though NumPy prints them alike.
        sources = np.arange(2000)
        others = np.where(sources == 1000, 5, sources)
        assert str(sources) == str(others)
        assert intent(4, sources) == (False, True)
        assert intent(5, others, record=False) == (False, True)
        assert intent(5, {"of": [sources]}, record=False) == (False, True)
        assert intent(5, sources.copy()) == (True, False)
        with pytest.raises(UsageError, match="object have no digest"):
            intent(6, object())
    finally:
        run_context._run_folder.cache_clear()


def test_files_that_cannot_be_shipped(tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("pass")
    (tmp_path / "empty.py").write_text("\n")
    (tmp_path / "d" / "a.py").parent.mkdir()
    (tmp_path / "d" / "a.py").write_text("pass")
    monkeypatch.setattr(payload, "MAX_FILE_BYTES", 10)
    (tmp_path / "large").write_text("x" * 11)
    for files, words in [
        (["none.py"], "does not exist"),
        (["d"], "is not a file; ship"),
        (["a.py", "d/a.py"], "two files are called a.py"),
        (["empty.py"], "is empty"),
        (["a.py", "large"], "at most"),
    ]:
        with pytest.raises(UsageError, match=words):
            collect_files(tmp_path / files[0], [tmp_path / file for file in files[1:]])


def test_a_driver_that_does_not_answer_is_an_error(tmp_path):
    record = _record(state="running", host="elsewhere", attempt=1)
    folder = RunFolder(tmp_path, record.id)
    folder.create(record, {"s.py": b"pass"})
    folder.touch(run_folder.ALIVE)
    with pytest.raises(ClusterError, match="its driver on elsewhere does not answer"):
        Runs(tmp_path).cancel(Runs(tmp_path).find(record.id), 0.5)
    assert Path(tmp_path / record.id / "cancel").exists()


def test_a_run_that_waits_for_an_unreachable_scheduler_is_not_reported_cancelled(tmp_path):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        address = f"tcp://127.0.0.1:{listening.getsockname()[1]}"
        record = dataclasses.replace(_record(), scheduler=address)
        RunFolder(tmp_path, record.id).create(record, {"s.py": b"pass"})
        runs = Runs(tmp_path)
        with pytest.raises(ClusterError, match=f"`scheduler={address}`"):
            runs.cancel(runs.find(record.id), 0.5)
    assert RunFolder(tmp_path, record.id).record().state == "submitted"
    assert RunFolder(tmp_path, record.id).cancelling  # for a driver that reads this folder


@pytest.fixture
def disks(tmp_path, monkeypatch):
    """A run whose folder is on this disk, and one of the same run where a worker is."""
    record = _record(state="running", attempt=1, host="a", began=run_folder.now())
    here, there = RunFolder(tmp_path / "here", record.id), RunFolder(tmp_path / "there", record.id)
    for folder in (here, there):
        folder.create(record, {"s.py": b"pass"})

    def find_remote_runs(client, runs, name):
        store = RunStore(str(tmp_path / "there"), worker="tcp://there")
        return {store: RunStore(str(tmp_path / "there")).records(name)}

    def call(store, function, *arguments):
        return function(store.runs, *arguments)

    monkeypatch.setattr(RunStore, "_call", call)
    monkeypatch.setattr(runs_module, "find_remote_runs", find_remote_runs)
    return Runs(tmp_path / "here", client=object()), here, there


def test_of_two_folders_of_a_run_the_latest_attempt_s_counts(disks):
    runs, here, there = disks
    there.begin_attempt(host="b")
    there.update(state="finished", status=0)
    found = runs.find(here.id)
    assert (found.record.host, found.record.attempt, found.record.state) == ("b", 2, "finished")
    assert [run.record.host for run in runs.all()] == ["b"]
    assert here.begin_attempt(2, host="a").attempt == 3  # it goes on here after all
    assert runs.find(here.id).record.host == "a"


HAS_NO_DRIVER = state.SchedulerView(is_same_scheduler=True, has_same_address=True)


def test_a_run_that_continues_elsewhere_within_seconds_is_not_lost(disks, monkeypatch):
    runs, here, there = disks
    here.touch(run_folder.ALIVE)  # and is killed
    there.begin_attempt(host="b")
    there.update(state="finished", status=0)
    monkeypatch.setattr(runs, "_ask_scheduler", lambda run: HAS_NO_DRIVER)
    monkeypatch.setattr(state, "ARRIVAL_SECONDS", 0.0)
    assert runs.find(here.id).record.state == "finished"


def test_output_is_followed_to_another_disk(disks):
    runs, here, there = disks
    (here.path / run_folder.OUTPUT).write_bytes(b"a long line of the first attempt\n")
    here.touch(run_folder.ALIVE)
    output = runs.follow(runs.find(here.id))
    assert next(output).startswith(b"a long line")
    (here.path / run_folder.ALIVE).unlink()
    (there.path / run_folder.OUTPUT).write_bytes(b"again\n")
    there.begin_attempt(host="b")
    there.update(state="finished", status=0)
    assert b"".join(output) == b"again\n"


@pytest.mark.parametrize("where", ["here", "there"])
def test_a_run_that_ends_while_its_scheduler_is_asked_is_not_lost(disks, monkeypatch, where):
    runs, here, there = disks
    folder = here if where == "here" else there
    folder.begin_attempt(host="b")

    def ends(run):
        folder.update(state="finished", status=0)
        return HAS_NO_DRIVER

    monkeypatch.setattr(runs, "_ask_scheduler", ends)
    monkeypatch.setattr(state, "ARRIVAL_SECONDS", 0.0)
    run = Run(folder.record(), RunStore(str(folder.path.parent), worker=where))
    assert runs._judged(run).record.state == "finished"


def test_cancelling_a_lost_run_also_asks_its_driver(tmp_path):
    record = _record(state="running", attempt=1, host="elsewhere")
    folder = RunFolder(tmp_path, record.id)
    folder.create(record, {"s.py": b"pass"})
    runs = Runs(tmp_path)
    assert runs.cancel(runs.find(record.id), 1).record.state == "lost"
    assert folder.cancelling  # its driver may live, out of our sight
    assert folder.record().state == "lost"
