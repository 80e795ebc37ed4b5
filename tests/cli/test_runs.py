"""submit, status, logs, cancel and list: what a user types, and what comes back."""

import json
import os
import signal
import subprocess
import sys
import time
from types import SimpleNamespace

import dask
import pytest

import mgraph
from mgraph.cli.main import main
from mgraph.cli.run_selection import exit_status_of
from mgraph.cli.runs import _describe_operations as operations
from mgraph.io import run_folder
from mgraph.io.run_folder import RunFolder, RunRecord

HELLO = "import sys\nprint('hello', *sys.argv[1:])\n"


@pytest.fixture(scope="module")
def scheduler():
    with mgraph.connect(workers=1, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        yield cluster.client.scheduler.address


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder with a script, whose runs and background cluster are its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("DASK_MGRAPH__RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("DASK_MGRAPH__CLUSTER", str(tmp_path / "cluster"))
    (tmp_path / "hello.py").write_text(HELLO)
    folders = {"mgraph.runs": str(tmp_path / "runs"), "mgraph.cluster": str(tmp_path / "cluster")}
    with dask.config.set(folders):  # of commands in this process
        yield tmp_path


def command(*arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-m", "mgraph.cli.main", *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.fixture
def run(capsys):
    """Runs a command in this process: its status, output and errors."""

    def run(*arguments):
        capsys.readouterr()
        status = main([*map(str, arguments)])
        return status, *capsys.readouterr()

    return run


def test_submit_and_wait(here, scheduler, run):
    status, out, err = run("submit", "--scheduler", scheduler, "hello.py", "--n", 3, "-q")
    assert (status, out) == (0, "hello --n 3 -q\n"), err
    assert "finished in" in err
    assert "ctrl-C leaves it" in err
    status, out, err = run("list")
    name = out.split()[0]
    assert status == 0
    assert "finished" in out
    assert "hello.py --n 3 -q" in out
    for asked in (["logs"], ["logs", name], ["logs", name[:15], "--scheduler", scheduler]):
        assert run(*asked)[:2] == (0, "hello --n 3 -q\n")
    status, out, _ = run("status", name, "--json")
    assert status == 0
    output = json.loads(out)
    assert (output["state"], output["status"], output["id"]) == ("finished", 0, name)
    assert [event["event"] for event in output["events"]] == ["submitted", "run", "run"]
    assert run("cancel", name)[1] == f"run {name} had ended: finished\n"
    assert json.loads(run("list", "--json")[1])[0]["id"] == name
    assert run("list", "--state", "finished")[1] == run("list")[1]
    assert run("list", "--state", "lost") == (0, "", f"no lost runs in {here / 'runs'}\n")
    assert run("list", "--remove-ended", "1")[2] == "0 runs removed\n"
    assert "1 run removed" in run("list", "--remove-ended", "0")[2]
    assert not list((here / "runs").iterdir())


@pytest.mark.parametrize(
    ("argument", "shown"),
    [
        ("new\nline", r"$'new\nline'"),
        ("\x1b[2Jgone", r"$'\e[2Jgone'"),
        ("\u202etxt.py", r"$'\u202etxt.py'"),
        ("two words", "'two words'"),
    ],
)
def test_arguments_are_shown_in_one_line_and_move_no_cursor(here, argument, shown, run):
    folder = RunFolder(here / "runs", run_folder.new_id())
    where = {"by": "me\n@here", "cwd": "/a\nb", "scheduler": "tcp://a:1", "scheduler_id": "S"}
    ended = {"state": "failed", "ended": run_folder.now(), "error": "a\nb\x1b[2J"}
    folder.create(
        RunRecord(folder.id, "s.py", [argument], run_folder.now(), **where, mgraph="0", **ended), {}
    )
    for asked in ("list", "status"):
        status, out, _ = run(asked)
        assert status == 0
        assert f"s.py {shown}\n" in out
        assert out.replace("\n", "").isprintable()
    assert len(run("list")[1].splitlines()) == 1


@pytest.fixture
def tokyo():
    """The time zone."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


def test_times_are_local_and_have_their_offset(here, tokyo, run):
    folder = RunFolder(here / "runs", run_folder.new_id())
    where = {"by": "me", "cwd": "/", "scheduler": "tcp://a:1", "scheduler_id": "S", "mgraph": "0"}
    ended = {"state": "finished", "ended": "2026-01-31T15:00:00+00:00", "status": 0}
    record = RunRecord(folder.id, "s.py", [], "2026-01-31T14:59:59.123+00:00", **where, **ended)
    folder.create(record, {})
    assert "submitted  2026-01-31 23:59:59+09:00 by me" in run("status")[1]
    assert json.loads(run("status", "--json")[1])["submitted"] == record.submitted


@pytest.mark.parametrize("text", ["", "{", '{"id": "x"}', None])
def test_a_run_that_cannot_be_read_is_named(here, text, run):
    where = {"by": "me", "cwd": "/", "scheduler": "tcp://a:1", "scheduler_id": "S", "mgraph": "0"}
    ended = {"state": "finished", "ended": run_folder.now(), "status": 0}
    good, bad = (RunFolder(here / "runs", run_folder.new_id()) for _ in range(2))
    for folder in (good, bad):
        record = RunRecord(folder.id, "s.py", [], run_folder.now(), **where, **ended)
        folder.create(record, {})
    if text is None:
        (bad.path / "run.json").unlink()
        os.utime(bad.path, (0, 0))
    else:
        (bad.path / "run.json").write_text(text)
    for asked in (["list"], ["list", "--json"]):
        status, out, err = run(*asked)
        assert status == 1
        assert good.id in out
        assert bad.id not in out
        assert err.startswith("mgraph: left out: ")
        assert bad.id in err
        assert err.count("\n") == 1
    status, out, err = run("status")  # of the newest that can be read
    assert good.id in out
    assert bad.id in err


def test_a_folder_that_is_just_being_made_is_no_error(here, run):
    (here / "runs" / run_folder.new_id()).mkdir(parents=True)
    (here / "runs" / "20260101-000000-0000").write_text("a file")
    assert run("list") == (0, "", f"no runs in {here / 'runs'}\n")


def test_the_script_s_status_is_the_command_s(here, scheduler, run):
    (here / "bad.py").write_text("import sys\nprint('oh')\nsys.exit(7)")
    to = ["--scheduler", scheduler]
    status, out, err = run("submit", *to, "bad.py")
    assert (status, out) == (7, "oh\n")
    assert "failed: the script ended with status 7" in err
    name = run("list", *to)[1].split()[0]
    assert run("status", name)[0] == 0
    assert run("status", name, "--wait")[0] == 7
    assert run("logs", "-f", name)[0] == 7


def test_detach_log_off_and_follow(here, scheduler, run):
    (here / "slow.py").write_text(
        "import time\nfor i in range(8):\n    print(i, flush=True)\n    time.sleep(0.25)\n"
    )
    to = ["--scheduler", scheduler]
    status, name, _ = run("submit", *to, "--detach", "slow.py")
    name = name.strip()
    assert status == 0
    status, out, err = run("logs", "-f", name, *to)
    assert (status, out) == (0, "".join(f"{i}\n" for i in range(8))), err
    assert run("logs", "--tail", 2, name)[1] == "6\n7\n"


def test_lines_of_tasks_alone(here, scheduler, run):
    (here / "tasks.py").write_text(
        "import mgraph\n"
        "with mgraph.connect() as cluster:\n"
        "    print('[work] begins')\n"
        "    cluster.client.gather(cluster.client.map(print, ['one', 'two'], pure=False))\n"
        "    print('ends')\n"
    )
    status, out, err = run("submit", "--scheduler", scheduler, "tasks.py")
    assert status == 0, err
    lines = out.splitlines()
    of_tasks = [line for line in lines if line.startswith("[worker ")]
    assert sorted(line.rpartition(" ")[2] for line in of_tasks) == ["one", "two"]
    assert {"[work] begins", "ends"} <= set(lines)
    for asked in (["--workers"], ["--workers", "-f"], ["--workers", "-n", 9]):
        assert run("logs", *asked)[1].splitlines() == of_tasks, asked
    assert run("logs", "--workers", "-n", 1)[1].splitlines() == of_tasks[1:]


def test_cancel_a_run_and_leave_one(here, scheduler, run):
    (here / "long.py").write_text("import time\nprint('on', flush=True)\ntime.sleep(600)")
    waiting = command("submit", "--scheduler", scheduler, "long.py", start_new_session=True)
    assert waiting.stdout.readline() == "on\n"
    waiting.send_signal(signal.SIGINT)
    _, err = waiting.communicate(timeout=120)
    assert waiting.returncode == 130
    assert "goes on; mgraph logs -f" in err
    assert "Traceback" not in err
    name = run("list")[1].split()[0]
    status, out, err = run("cancel", name, "--scheduler", scheduler)
    assert (status, out) == (0, f"run {name} cancelled; what is finished is kept\n"), err
    assert run("logs", "-f", name)[0] == 130  # as the script ended


def test_without_a_cluster_one_is_started_for_the_run(here):
    process = command("submit", "hello.py", "you")
    out, err = process.communicate(timeout=120)
    assert (process.returncode, out) == (0, "hello you\n"), err
    assert "cores of this machine" in err or "GPUs of this machine" in err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_command_that_is_told_to_end_cancels_the_run_that_ends_with_it(here, number, run):
    (here / "long.py").write_text("import time\nprint('on', flush=True)\ntime.sleep(600)")
    running = command("submit", "long.py")
    assert running.stdout.readline() == "on\n"
    running.send_signal(number)
    _, err = running.communicate(timeout=120)
    assert running.returncode == 128 + number, err
    assert err.endswith("mgraph: interrupted; what is finished is kept\n")
    assert " cancelled " in run("list")[1]


def test_what_a_run_does():
    def event(name, state, **more):
        return {"event": "operation", "operation": name, "verb": "generate", "state": state} | more

    events = [{"event": "run", "state": "running"}, event("a", "running", parts=16),
              {"event": "run", "state": "running", "attempt": 2}, event("b", "running", parts=13),
              event("b", "failed", error="no room"), event("c", "running", parts=7)]  # fmt: skip
    lines = ["generate: 16 parts, lost", "generate: 13 parts, failed: no room"]
    assert operations(events, {"c": 3}) == [*lines, "generate: 3 of 7 parts, running"]
    stopped = [*events, event("c", "cancelled", done=0), event("d", "finished", parts=4, done=4)]
    ends = ["generate: 0 of 7 parts, cancelled", "generate: 4 parts, finished"]
    assert operations(stopped, {"c": 3}) == [*lines, *ends]
    ended = [*events, {"event": "run", "state": "lost"}]
    assert operations(ended, {}) == [*lines, "generate: 7 parts, lost"]


@pytest.mark.parametrize(
    ("state", "of_script", "expected"),
    [("finished", 0, 0), ("failed", 3, 3), ("failed", -9, 137), ("failed", None, 1),
     ("cancelled", None, 1), ("lost", None, 75)],
)  # fmt: skip
def test_the_status_of_who_waits(state, of_script, expected):
    assert exit_status_of(SimpleNamespace(state=state, status=of_script)) == expected


def test_a_scheduler_that_is_gone_leaves_the_folders(here, scheduler, run):
    assert run("submit", "-q", "--scheduler", scheduler, "hello.py")[0] == 0
    status, out, err = run("logs", "--scheduler", "tcp://127.0.0.1:9")
    assert (status, out) == (0, "hello\n")
    assert "showing what the run folders hold" in err


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["submit"], 2, "Missing argument 'SCRIPT.py'"),
        (["submit", "none.py"], 2, "none.py does not exist"),
        (["submit", "."], 2, "is not a file; ship a script"),
        (["submit", "--detach", "hello.py"], 2, "--detach needs a cluster that stays"),
        (["submit", "--env", "COLOUR", "hello.py"], 2, "--env must be NAME=VALUE"),
        (["submit", "--with", "none", "hello.py"], 2, "none does not exist"),
        (["submit", "--with", "d/hello.py", "hello.py"], 2, "two files are called hello.py"),
        (["submit", "--scheduler", "tcp://127.0.0.1:9", "hello.py"], 1, "no Dask scheduler"),
        (["submit", "--scheduler", "a:1", "--scheduler-file", "b", "hello.py"], 2, "not both"),
        (["submit", "--scheduler-file", "none.json", "hello.py"], 1, "scheduler file not found"),
        (["submit", "--paint", "hello.py"], 2, "No such option"),
        (["status"], 2, "there is no run in"),
        (["status", "20260101-000000-0000"], 2, "there is no run 20260101-000000-0000"),
        (["logs"], 2, "there is no run in"),
        (["logs", "../../etc"], 2, "there is no run ../../etc"),
        (["logs", "--tail", "some"], 2, "must be a whole number"),
        (["logs", "--tail", "-1"], 2, "must be at least 0 (got -1)"),
        (["list", "--remove-ended", "-1"], 2, "must be at least 0 (got -1)"),
        (["list", "--state", "asleep"], 2, "(got 'asleep')"),
        (["cancel"], 2, "Missing argument 'ID'"),
        (["cancel", "x"], 2, "there is no run x"),
        (["list", "--remove-ended", "soon"], 2, "must be a whole number"),
        (["list", "--runs", ""], 2, "must not be empty; leave it out"),
        (["list", "--runs", "hello.py"], 2, "hello.py is not a folder"),
        (["status", "--scheduler", " "], 2, "must not be empty; leave it out"),
        (["doctor", "--scheduler", ""], 2, "must not be empty; leave it out"),
        (["generate", "g", "-n", "1000", "--scheduler", ""], 2, "must not be empty; leave it out"),
        (["cluster", "status", "--folder", ""], 2, "must not be empty; leave it out"),
        (["config", ""], 2, "must not be empty; leave it out"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_sentence(here, capsys, arguments, status, words):
    (here / "d").mkdir()
    (here / "d" / "hello.py").write_text(HELLO)
    assert main(arguments) == status
    out, err = capsys.readouterr()
    assert out == ""
    lines = [line for line in err.splitlines() if line]
    assert words in lines[-1]
    assert all(line.startswith("mgraph: ") for line in lines), err
    assert not os.path.exists("runs")
