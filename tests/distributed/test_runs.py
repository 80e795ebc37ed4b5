"""Submitted workflows: they end, fail, are cancelled, lose a worker, lose their scheduler."""

import dataclasses
import os
import signal
import time

import psutil
import pytest
from distributed import Client, LocalCluster

import mgraph
from mgraph import CopyModel, UsageError
from mgraph.distributed.operations import tasks
from mgraph.distributed.protocol import dask_internals
from mgraph.distributed.submission import driver, state
from mgraph.distributed.submission.payload import collect_files
from mgraph.distributed.submission.runs import Runs
from mgraph.io import run_folder
from mgraph.io.run_folder import RunFolder
from tests.waiting import wait_until

GENERATE = """
import sys, mgraph
with mgraph.connect(announce=sys.stdout) as cluster:
    model = mgraph.CopyModel(int(sys.argv[2]), 16)
    made = mgraph.generate(sys.argv[1], model, cluster=cluster, parts=48, overwrite=True)
    print("made", made.made_parts, "kept", made.kept_parts)
"""


@pytest.fixture(scope="module")
def client():
    """A client of a cluster of two workers, which tests may kill."""
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
        files = collect_files(script, companions)
        run, _ = runs.submit(files, [str(argument) for argument in arguments], **options)
        return run

    return submit


def ended(runs, run):
    record = runs.wait(run).record
    return record.state, record.status, runs.output(run, 0).decode()


def alive(pid):
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def own_cluster(workers):
    """A cluster for a test that loses its workers, or its scheduler."""
    return LocalCluster(n_workers=workers, host="127.0.0.1", dashboard_address="127.0.0.1:0")


def test_a_script_runs_beside_the_workers_and_finds_them(runs, submitted, tmp_path):
    companion = tmp_path / "beside.py"
    companion.write_text("word = 'beside'\n")
    text = "import beside\nprint(beside.word)\n" + GENERATE
    run = submitted(text, tmp_path / "g", 2000, companions=[companion])
    state, status, output = ended(runs, run)
    assert (state, status) == ("finished", 0), output
    assert output.startswith("beside\ncluster at tcp://127.0.0.1:")
    assert output.endswith("made 48 kept 0\n")
    events = [(event["event"], event.get("state")) for event in runs.events(run)]
    assert events == [("submitted", None), ("run", "running"), ("operation", "running"),
                    ("operation", "finished"), ("run", "finished")]  # fmt: skip
    assert _path(runs, run).stat().st_mode & 0o077 == 0


def _path(runs, run):
    return RunFolder(runs.path, run.record.id).path


@pytest.mark.parametrize(
    ("text", "status", "words", "error"),
    [
        ("import sys; sys.exit(3)", 3, "", "the script ended with status 3"),
        ("import sys; sys.exit('no\\x1b')", 1, "no\x1b\n", "the script ended with status 1: no\\e"),
        ("import mgraph; mgraph.CopyModel(5, 8)", 2, "mgraph: n must be above d",
         "the script ended with status 2: n must be above d"),
        ("print('a'); 1 / 0", 1, "ZeroDivisionError: division by zero",
         "the script ended with status 1: ZeroDivisionError: division by zero"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -9, "",
         "the script was ended by signal SIGKILL"),
        ("def f(:", 1, "SyntaxError", "the script ended with status 1: SyntaxError: "),
    ],
)  # fmt: skip
def test_a_failed_script_s_status_output_and_error_are_recorded(
    runs, submitted, text, status, words, error
):
    run = submitted(text)
    state, found, output = ended(runs, run)
    assert (state, found) == ("failed", status)
    assert words in output
    assert runs.find(run.record.id).record.error.startswith(error)
    assert "run_script" not in output  # our frames are not the user's
    assert "runpy" not in output


def test_a_disconnected_client_changes_nothing(runs, submitted, client, tmp_path):
    script = tmp_path / "slow.py"
    script.write_text("import time\nprint('begun', flush=True)\ntime.sleep(1)\nprint('done')")
    with Client(client.scheduler.address) as first:
        run, _ = Runs(runs.path, first).submit(collect_files(script))
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
    wait_until(lambda: len(list(out.glob("part-*"))) >= 2, 60)
    record = runs.cancel(run, 30).record
    assert record.state == "cancelled"
    assert record.error is None
    assert not any(tasks.count_running(client).values())
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


def test_files_in_the_working_folder_hide_no_module(runs, submitted, tmp_path, monkeypatch):
    (tmp_path / "mgraph").mkdir()
    (tmp_path / "mgraph" / "__init__.py").write_text("1 / 0")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "numpy.py").write_text("1 / 0")
    monkeypatch.chdir(tmp_path / "data")
    state, _, output = ended(runs, submitted("import numpy, os; print(os.getcwd())"))
    assert (state, output) == ("finished", f"{tmp_path / 'data'}\n")


def test_a_cancelled_script_that_does_not_end_is_killed(runs, submitted):
    run = submitted(
        "import signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf')\n"
        "time.sleep(600)",
        grace=0.5,
    )
    wait_until(lambda: runs.output(run, 0) == b"deaf\n")
    assert runs.cancel(run, 200).record.state == "cancelled"  # long before the script's 600 s


def test_a_driver_whose_worker_dies_begins_again_and_resumes(runs, submitted, tmp_path):
    out, note = tmp_path / "g", tmp_path / "child"
    child = (
        "import subprocess, pathlib\n"
        f"child = subprocess.Popen(['sleep', '600'])\n"
        f"pathlib.Path({str(note)!r}).write_text(str(child.pid))\n"
    )
    run = submitted(child + GENERATE + "child.kill()", out, 6_000_000)
    wait_until(lambda: len(list(out.glob("part-*"))) >= 4, 60)
    first, its_child = runs.find(run.record.id).record, int(note.read_text())
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: not alive(its_child), 10)  # what the script had started ends with it
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


def test_an_attempt_that_was_replaced_records_nothing(runs, submitted):
    run = submitted("import os, time\nprint(os.getpid(), flush=True)\ntime.sleep(600)")
    wait_until(lambda: runs.output(run, 0).endswith(b"\n"))
    folder = RunFolder(runs.path, run.record.id)
    folder.begin_attempt(host="elsewhere", pid=None)
    wait_until(lambda: not alive(int(runs.output(run, 0))))  # two at once would be one too many
    time.sleep(0.5)
    assert folder.record().state == "running"
    assert folder.record().host == "elsewhere"
    folder.update(state="failed")


def test_an_attempt_resumes_what_one_on_another_disk_had_begun(runs, submitted, client):
    text = "import os, pathlib\nprint(pathlib.Path(os.environ['MGRAPH_RUN_FOLDER'], 'begun.json')"
    first = submitted(f"{text}.read_text())")
    runs.wait(first)
    record = dataclasses.replace(
        first.record, id=run_folder.new_id(), state="running", attempt=1, began=run_folder.now()
    )
    request = driver.RunRequest(
        runs.path, record, {"s.py": f"{text}.read_text())".encode()}, 3.0, {}
    )
    request.folder.create(record, request.files)  # by its first attempt; the second was elsewhere
    entry = {"attempt": 2, "begun": {"/out": "what"}}
    metadata = dask_internals.metadata_on_scheduler()
    client.run_on_scheduler(metadata, driver.METADATA, record.id, entry)
    request = dataclasses.replace(request, record=dataclasses.replace(record, script="s.py"))
    request.folder.update(script="s.py")
    assert (
        client.submit(driver.drive, request, key=driver.run_key(record.id)).result() == "finished"
    )
    assert request.folder.record().attempt == 3
    assert b'"/out": "what"' in request.folder.output()
    # It has ended, and the scheduler has forgotten it.
    assert client.run_on_scheduler(metadata, driver.METADATA, record.id, None) is None


def test_a_run_without_driver_or_scheduler_is_lost_and_can_be_ended(tmp_path, monkeypatch):
    monkeypatch.setattr(state, "SILENCE_SECONDS", 0.5)
    script = tmp_path / "s.py"
    script.write_text("import time; time.sleep(600)")
    with own_cluster(workers=1) as cluster:
        client = Client(cluster)
        there = Runs(tmp_path / "runs", client)
        run, _ = there.submit(collect_files(script))
        wait_until(lambda: there.find(run.record.id).record.state == "running")
    wait_until(lambda: there.find(run.record.id).record.state == "lost", 30)  # by who had seen it
    client.close()
    alone = Runs(tmp_path / "runs")
    wait_until(lambda: alone.find(run.record.id).record.state == "lost", 10)
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
    with own_cluster(workers=0) as empty, Client(empty) as client:
        runs = Runs(tmp_path / "runs", client)
        run, _ = runs.submit(collect_files(script))
        assert runs.find(run.record.id).record.state == "submitted"
        assert runs.cancel(run, 5).record.state == "cancelled"
        assert runs.output(run, 0) == b""


def test_a_run_whose_workers_are_all_gone_is_cancelled_at_once(tmp_path):
    script = tmp_path / "s.py"
    script.write_text("import time\nprint('on', flush=True)\ntime.sleep(600)")
    with own_cluster(workers=1) as cluster, Client(cluster) as client:
        runs = Runs(tmp_path / "runs", client)
        run, _ = runs.submit(collect_files(script))
        wait_until(lambda: runs.output(run, 0) == b"on\n")
        pid = runs.find(run.record.id).record.pid
        cluster.scale(0)
        wait_until(lambda: not alive(pid) and not client.scheduler_info()["workers"])
        assert runs.find(run.record.id).record.state == "running"  # it waits for a worker
        assert runs.cancel(run, 1e6).record.state == "cancelled"  # it waits for nothing


def test_tasks_can_import_shipped_modules(runs, submitted, tmp_path):
    companion = tmp_path / "companion.py"
    companion.write_text("def doubled(number):\n    return 2 * number\n")
    run = submitted(
        "import companion, mgraph\nwith mgraph.connect() as cluster:\n"
        "    print(cluster.client.submit(companion.doubled, 21).result())",
        companions=[companion],
    )
    assert ended(runs, run) == ("finished", 0, "42\n")


def test_a_removed_current_folder_is_an_error(runs, submitted, monkeypatch):
    def gone():
        raise FileNotFoundError

    monkeypatch.setattr(os, "getcwd", gone)
    with pytest.raises(UsageError, match="the current folder has been removed"):
        submitted("pass")


def test_the_script_has_its_environment_variables(runs, submitted):
    run = submitted("import os; print(os.environ['COLOUR'])", environment={"COLOUR": "blue"})
    assert ended(runs, run) == ("finished", 0, "blue\n")


def test_a_run_whose_folder_is_removed_ends(runs, submitted, monkeypatch):
    import shutil

    run = submitted("import time\nprint('on', flush=True)\ntime.sleep(60)")
    wait_until(lambda: runs.output(run, 0) == b"on\n")
    record = runs.find(run.record.id).record
    children = psutil.Process(record.pid).children(recursive=True)
    assert any("run_script" in " ".join(child.cmdline()) for child in children)
    shutil.rmtree(_path(runs, run))
    psutil.wait_procs(children, timeout=60)
    assert not any(alive(child.pid) for child in children)
    with pytest.raises(UsageError, match="there is no run"):
        runs.find(run.record.id)
    assert driver.run_key(record.id).startswith("mgraph-run-")
