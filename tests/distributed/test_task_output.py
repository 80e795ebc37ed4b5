"""What a submitted run's tasks print is in the run's log, with the worker's name, and not twice."""

import copy
import io
import os
import re
import subprocess
import sys
import types

import pytest

import mgraph
from mgraph.distributed.submission import task_output
from mgraph.distributed.submission.payload import collect_files
from mgraph.distributed.submission.runs import Runs

PRINTING = """
import logging, sys, time, warnings
import mgraph
from distributed import print as print_everywhere, worker_client

WHO = sys.argv[1]

def task(number):
    print(WHO, "printed", number)
    print(WHO, "said", number, file=sys.stderr)
    logging.getLogger("mine").warning("%s logged %s", WHO, number)
    print(WHO, end=" ")
    print("in pieces", number, flush=True)
    return number

def outer(number):
    with worker_client() as inner:  # which leaves its thread to others
        return inner.submit(task, number + 100, pure=False).result()

async def coroutine(number):
    print(WHO, "awaited", number)

with mgraph.connect() as cluster:
    print("begun")
    client = cluster.client
    assert client.gather(client.map(task, range(20), pure=False)) == list(range(20))
    assert client.submit(outer, 1, pure=False).result() == 101
    client.submit(coroutine, 1, pure=False).result()
    client.submit(print_everywhere, WHO, "everywhere", pure=False).result()
    client.submit(print, WHO, "without an end", end="", pure=False).result()
    print("done", flush=True)
"""


@pytest.fixture(scope="module")
def client():
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        yield cluster.client


@pytest.fixture
def submitted(tmp_path, client):
    client.wait_for_workers(2, timeout=30)
    runs = Runs(tmp_path / "runs", client)

    def submit(text, *arguments):
        script = tmp_path / "script.py"
        script.write_text(text)
        run, _ = runs.submit(collect_files(script), list(map(str, arguments)))
        return runs, run

    return submit


def ended(runs, run):
    state = runs.wait(run).record.state
    return state, runs.output(run, 0).decode()


def test_lines_of_tasks_are_in_the_log_with_the_worker_s_name(submitted):
    first, second = submitted(PRINTING, "one"), submitted(PRINTING, "two")
    for who, (runs, run) in (("one", first), ("two", second)):
        state, log = ended(runs, run)
        assert state == "finished", log
        lines = log.splitlines()
        for what in ("printed", "said", "logged", "in pieces"):
            for number in [*range(20), 101]:
                line = rf"\[worker \S+\] {who} {what} {number}"
                assert sum(bool(re.fullmatch(line, one)) for one in lines) == 1, (line, log)
        for what in ("awaited 1", "everywhere", "without an end"):
            assert sum(line.endswith(f"] {who} {what}") for line in lines) == 1, (what, log)
        assert {"begun", "done"} < set(lines)
        others = [line for line in lines if f"] {who} " not in line]
        assert others == ["begun", "done"], log  # none of the other run
        assert len(lines) == 2 + 4 * 21 + 3, log  # none twice


def test_output_of_no_run_stays_with_the_worker(submitted, client):
    assert ended(*submitted("print('any run')"))[0] == "finished"  # since then there are streams

    def task():
        import contextlib
        import io
        import sys

        with contextlib.redirect_stdout(io.StringIO()) as apart:
            print("apart")
        own, sys.stdout.own = sys.stdout.own, io.StringIO()
        print("of no run")
        text, sys.stdout.own = sys.stdout.own.getvalue(), own
        return apart.getvalue(), text

    assert client.submit(task, pure=False).result() == ("apart\n", "of no run\n")


def test_a_run_whose_worker_is_lost_keeps_what_was_printed_before(submitted, tmp_path):
    text = """
import os, sys, time
import mgraph

def task(number, path):
    print("before", number, flush=True)
    time.sleep(0.5)
    if number == 0 and not os.path.exists(path):
        open(path, "w").close()
        os.kill(os.getpid(), 9)
    print("after", number)

with mgraph.connect() as cluster:
    cluster.client.gather(cluster.client.map(task, range(2), path=sys.argv[1], pure=False))
"""
    state, log = ended(*submitted(text, tmp_path / "killed"))
    assert state == "finished", log
    assert "before 0\n" in log
    assert "after 0\n" in log


def test_output_of_a_second_attempt_s_tasks_is_in_the_log(submitted):
    text = """
import os
import mgraph
attempt = os.environ["MGRAPH_RUN_ATTEMPT"]
with mgraph.connect() as cluster:
    cluster.client.submit(print, "attempt", attempt, pure=False).result()
if attempt == "1":
    raise mgraph.ConnectionLostError("lost")
"""
    state, log = ended(*submitted(text))
    assert state == "finished", log
    assert re.search(r"\[worker \S+\] attempt 1\n", log)
    assert re.search(r"\[worker \S+\] attempt 2\n", log)


def test_too_much_output_is_limited_and_counted(submitted, client):
    text = """
import mgraph

def flood():
    for number in range(60_000):
        print("line", number, "." * 40)

with mgraph.connect() as cluster:
    cluster.client.submit(flood, pure=False).result()
"""
    state, log = ended(*submitted(text))
    assert state == "finished"
    assert len(log) < 2 * task_output.BURST
    lines = log.splitlines()
    matches = [re.search(r"([\d,]+) lines? more in this worker's own output", one) for one in lines]
    left_out = sum(int(found[1].replace(",", "")) for found in matches if found)
    assert sum("] line " in line for line in lines) + left_out == 60_000
    assert left_out

    def topics(dask_scheduler):
        return [name for name in dask_scheduler._broker._topics if name.startswith("mgraph-output")]

    assert client.run_on_scheduler(topics) == []  # the scheduler keeps nothing of it


def test_a_line_of_the_script_is_not_interrupted(tmp_path):
    event = {"worker": "a\x1b", "lines": ["from a task"], "omitted": 0, "last": None}
    with open(tmp_path / "log", "a+b", buffering=0) as log:
        receiver = task_output.Receiver(None, "x", log, lambda: True)
        log.write(b"half a ")
        receiver._events.append(event)
        receiver.write()
        log.write(b"line\n")
        receiver.write()
        assert (tmp_path / "log").read_bytes() == b"half a line\n[worker a\\e] from a task\n"
        log.write(b"never ends")
        receiver._events.append(event)
        receiver.write(now=True)
        assert (tmp_path / "log").read_bytes().endswith(b"never ends\n[worker a\\e] from a task\n")


def test_a_driver_whose_run_continues_elsewhere_writes_nothing(tmp_path):
    event = {"worker": "a", "lines": ["from a task"], "omitted": 0, "last": None}
    with open(tmp_path / "log", "a+b", buffering=0) as log:
        receiver = task_output.Receiver(None, "x", log, lambda: False)
        receiver._events.append(event)
        receiver.__exit__()
    assert (tmp_path / "log").read_bytes() == b""


def test_lines_beyond_the_limit_may_have_a_closed_pipe(monkeypatch):
    class Broken(io.StringIO):
        def write(self, text):
            raise BrokenPipeError

    output = types.SimpleNamespace(add=lambda text, stream: [text])
    monkeypatch.setattr(task_output, "_current_output", lambda: output)
    assert task_output._Stream(Broken()).write("too many") == 8


def test_a_pickled_stream_becomes_the_other_process_s_own(monkeypatch):
    stream = task_output._Stream(sys.stdout)
    monkeypatch.setattr(sys, "stdout", stream)
    assert copy.copy(stream) is stream
    make, names = stream.__reduce__()
    assert make(*names) is stream


def test_streams_are_restored_and_behave_like_files(monkeypatch):
    own = {name: io.TextIOWrapper(io.BytesIO(), "utf-8") for name in ("stdout", "stderr")}
    for name, stream in own.items():
        monkeypatch.setattr(sys, name, stream)
    monkeypatch.setattr(task_output, "_workers", [])
    plugin, workers = (
        task_output.TaskOutput(),
        [types.SimpleNamespace(name=i, execute=None) for i in range(2)],
    )
    for worker in workers:
        plugin.setup(worker)
    assert sys.stdout.encoding == "utf-8"
    assert not sys.stdout.isatty()
    print("to the worker's own")
    sys.stdout.writelines(["a\n", "b\n"])
    sys.stdout.flush()
    assert own["stdout"].buffer.getvalue() == b"to the worker's own\na\nb\n"
    for worker in workers:
        assert sys.stdout is not own["stdout"]
        plugin.teardown(worker)
    assert sys.stdout is own["stdout"]
    assert sys.stderr is own["stderr"]


def test_the_command_shows_the_output_of_tasks(tmp_path):
    (tmp_path / "s.py").write_text(PRINTING)
    command = [sys.executable, "-m", "mgraph.cli.main"]
    environment = {"DASK_MGRAPH__RUNS": str(tmp_path / "r"), "DASK_MGRAPH__CLUSTER": str(tmp_path)}
    how = {"cwd": tmp_path, "capture_output": True, "text": True, "timeout": 200,
           "env": os.environ | environment}  # fmt: skip
    made = subprocess.run([*command, "submit", "s.py", "me"], **how)
    assert made.returncode == 0, made.stderr
    assert made.stdout.count("] me printed 7\n") == 1
    assert "me printed" not in made.stderr
    assert subprocess.run([*command, "logs"], **how).stdout == made.stdout


def test_a_topic_that_is_forgotten_is_not_unsubscribed_from(monkeypatch):
    """The scheduler would create it again, if that message came last."""
    messages = []

    client = types.SimpleNamespace(
        _event_handlers={"mgraph-output-x": print}, unsubscribe_topic=messages.append
    )
    receiver = task_output.Receiver(client, "x", io.BytesIO(), lambda: True)
    monkeypatch.setattr(task_output.broadcast, "on_scheduler", lambda *asked, seconds: None)
    receiver._forget_topic()
    assert (messages, client._event_handlers) == ([], {})

    def fail(*asked, seconds):
        raise TimeoutError

    monkeypatch.setattr(task_output.broadcast, "on_scheduler", fail)
    receiver._forget_topic()
    assert messages == ["mgraph-output-x"]
