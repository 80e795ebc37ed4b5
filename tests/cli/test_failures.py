"""Whatever a task raises, on whatever verb, the command ends in one sentence and never a traceback.

The tasks of a real cluster's workers are made to raise; the commands are those a user types.
"""

import errno
import os
import pickle
import subprocess
import sys
import threading

import dask
import pyarrow as pa
import pytest

import mgraph
from mgraph.cli.main import main
from mgraph.distributed.operations import tasks
from mgraph.distributed.protocol import failures


class OfTwo(Exception):
    """One that cannot be made from its message alone, so that it cannot be unpickled."""

    def __init__(self, one, other):
        super().__init__(f"{one} and {other}")


class Unsendable(Exception):
    """One that holds what cannot be pickled."""

    def __init__(self):
        super().__init__("it holds a lock")
        self.lock = threading.Lock()


class Mute(Exception):
    """One that cannot even say what it is."""

    def __str__(self):
        raise RuntimeError("no words")


class cupy:  # the name of the module tells
    """An error of a GPU's library."""

    class CUDARuntimeError(RuntimeError):
        """As CuPy's."""

    CUDARuntimeError.__module__ = "cupy_backends.cuda.api.runtime"


FAULTS = {
    "ZeroDivisionError": lambda: ZeroDivisionError("division by zero"),
    "several lines": lambda: ValueError("the first\nthe second\n\n  File 'x.py', line 3\x1b[31m"),
    "very long": lambda: ValueError("x" * 100_000),
    "no message": lambda: AssertionError(),
    "KeyError": lambda: KeyError("weight"),
    "RecursionError": lambda: RecursionError("maximum recursion depth exceeded"),
    "NotImplementedError": lambda: NotImplementedError(),
    "StopIteration": lambda: StopIteration(),
    "UnicodeDecodeError": lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start"),
    "MemoryError": lambda: MemoryError("Unable to allocate 1.47 GiB for an array"),
    "Arrow's memory": lambda: pa.ArrowMemoryError("malloc of size 64 failed"),
    "Arrow's": lambda: pa.ArrowInvalid("Parquet magic bytes not found"),
    "a full disk": lambda: OSError(errno.ENOSPC, "No space left on device", "/g/part"),
    "PermissionError": lambda: PermissionError(errno.EACCES, "Permission denied", "/g"),
    "TimeoutError": lambda: TimeoutError("no answer"),
    "PicklingError": lambda: pickle.PicklingError("Can't pickle <function>"),
    "cannot pickle": lambda: TypeError("cannot pickle '_thread.lock' object"),
    "ModuleNotFoundError": lambda: ModuleNotFoundError("No module named 'numba'"),
    "of two": lambda: OfTwo("one", "other"),
    "unsendable": lambda: Unsendable(),
    "mute": lambda: Mute(),
    "a GPU's": lambda: cupy.CUDARuntimeError("cudaErrorIllegalAddress"),
    "a group": lambda: ExceptionGroup("several", [MemoryError("the first"), ValueError()]),
    "mgraph's own": lambda: mgraph.DatasetError("part-00000.parquet is not a whole file"),
    "died": lambda: os._exit(1),
}
WORDS = {
    "MemoryError": "ran out of memory (MemoryError: Unable to allocate 1.47 GiB for an array); use",
    "Arrow's memory": "ran out of memory",
    "Arrow's": "ArrowInvalid: Parquet magic bytes not found",
    "a full disk": "could not read or write: OSError: [Errno 28] No space left on device",
    "TimeoutError": "got no answer in time: TimeoutError: no answer; see the cluster's logs",
    "a group": "ran out of memory (MemoryError: the first)",
    "cannot pickle": "could not be sent to the workers",
    "ModuleNotFoundError": "No module named 'numba'); install the same packages",
    "ZeroDivisionError": "ZeroDivisionError: division by zero; set MGRAPH_DEBUG=1",
    "KeyError": "KeyError: 'weight'",
    "died": "workers died repeatedly",
    "mgraph's own": "mgraph: part-00000.parquet is not a whole file",
    "several lines": "ValueError: the first the second File 'x.py', line 3\ufffd[31m;",
}
VERBS = {
    "generate": ["generate", "OUT", "-n", "99", "-d", "2", "--parts", "3"],
    "verify": ["verify", "GRAPH"],
    "degrees": ["degrees", "GRAPH", "--json"],
    "sssp": ["sssp", "GRAPH", "--sources", "SOURCES", "--out", "OUT"],
    "steiner": ["steiner", "GRAPH", "--queries", "SOURCES", "--out", "OUT"],
    "msf": ["msf", "GRAPH", "--out", "OUT"],
    "knapsack": ["knapsack", "ITEMS", "ITEMS", "--out", "OUT"],
}


@pytest.fixture(scope="module")
def workers():
    """Two workers of these tests' own, whose tasks can be made to fail."""
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster,
    ):
        yield cluster


@pytest.fixture(scope="module")
def files(workers, tmp_path_factory):
    folder = tmp_path_factory.mktemp("failures")
    graph = str(folder / "g")
    model = mgraph.CopyModel(99, 2)
    mgraph.generate(graph, model, parts=3, cluster=workers, progress=None)
    mgraph.KnapsackInstance([1, 2], [3, 4], 5).write(folder / "k.data")
    (folder / "sources").write_text("1\n2\n")
    return {"GRAPH": graph, "ITEMS": str(folder / "k.data"), "SOURCES": str(folder / "sources")}


def break_tasks(name):
    """Runs on a worker, before each of its tasks: from here on the tasks raise this fault."""
    if not hasattr(tasks, "whole_perform"):
        tasks.whole_perform = tasks.perform
    tasks.perform = _perform
    tasks.fault = name


def _perform(*arguments, **options):
    if tasks.fault is None:
        return tasks.whole_perform(*arguments, **options)
    raise FAULTS[tasks.fault]()


def ends_in_a_sentence(workers, files, capsys, tmp_path, verb, fault):
    """Run a command whose tasks fail; returns the sentence it ends with."""
    names = files | {"OUT": str(tmp_path / "out")}
    line = [names.get(word, word) for word in VERBS[verb]]
    workers.client.wait_for_workers(2)
    workers.client.run(break_tasks, fault)
    try:
        status = main([*line, "--scheduler", workers.client.scheduler.address, "-q"])
    finally:
        workers.client.wait_for_workers(2)
        workers.client.run(break_tasks, None)
    output = capsys.readouterr()
    assert status == 1, output
    assert "Traceback" not in output.out + output.err
    assert not output.out
    assert output.err.startswith("mgraph: "), output.err
    assert output.err.count("\n") == 1, output.err
    assert "\x1b" not in output.err
    assert 20 < len(output.err) < 800
    return output.err


@pytest.mark.parametrize("fault", FAULTS)
def test_faults_of_all_kinds(workers, files, capsys, tmp_path, fault):
    output = ends_in_a_sentence(workers, files, capsys, tmp_path, "generate", fault)
    assert WORDS.get(fault, "a task of mgraph generate") in output
    assert not (tmp_path / "out" / "_manifest.json").exists()


@pytest.mark.parametrize("fault", ["ZeroDivisionError", "MemoryError", "unsendable", "a full disk"])
@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "generate"])
def test_faults_of_all_verbs(workers, files, capsys, tmp_path, verb, fault):
    ends_in_a_sentence(workers, files, capsys, tmp_path, verb, fault)


@pytest.mark.parametrize("name", [name for name in FAULTS if name != "died"])
def test_faults_of_the_command_itself(monkeypatch, capsys, name):
    def fail(*arguments, **options):
        raise FAULTS[name]()

    monkeypatch.setattr("mgraph.cli.inspect._describe_summary", fail)
    monkeypatch.setattr("mgraph.io.formats.format_of", fail)
    assert main(["info", "g"]) == 1
    output = capsys.readouterr()
    assert output.err.startswith("mgraph: ")
    assert output.err.count("\n") == 1
    assert "Traceback" not in output.err


def test_a_traceback_where_it_is_asked_for(tmp_path):
    code = (
        "import mgraph.io.formats as f, mgraph.cli.main as m, sys\n"
        "def fail(*a): raise ZeroDivisionError('division by zero')\n"
        "f.format_of = fail\n"
        "sys.exit(m.main(['info', 'g']))\n"
    )
    for debug, shown in (("1", True), ("0", False), ("", False)):
        environment = {**os.environ, failures.DEBUG: debug}
        found = subprocess.run([sys.executable, "-c", code], env=environment, cwd=tmp_path,
                               capture_output=True, text=True, check=False)  # fmt: skip
        assert found.returncode == 1
        assert ("Traceback" in found.stderr) == shown
        last = found.stderr.splitlines()[-1]
        assert last.startswith("mgraph: the command failed unexpectedly: ZeroDivisionError")


def test_what_is_raised_in_python_is_mgraphs_own_with_its_cause(workers, files):
    workers.client.run(break_tasks, "ZeroDivisionError")
    try:
        with pytest.raises(mgraph.errors.TaskError, match="division by zero") as caught:
            mgraph.degrees(files["GRAPH"], cluster=workers, progress=None)
    finally:
        workers.client.run(break_tasks, None)
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_an_interrupt_while_text_is_executed_is_an_interrupt(tmp_path):
    """As while a module is imported that makes dataclasses, whose methods are text."""
    (tmp_path / "interrupted.py").write_text(
        "import sys\n"
        "import click\n"
        "from mgraph.cli import main\n"
        "click.echo()\n"
        "def interrupted(*_, **__): exec('raise KeyboardInterrupt')\n"
        "main.cli.main = interrupted\n"
        "sys.exit(main.main(['list']))\n"
    )
    ended = subprocess.run(
        [sys.executable, "-m", "interrupted"], capture_output=True, text=True, cwd=tmp_path
    )
    assert ended.stderr == "mgraph: interrupted; what is finished is kept\n"
    assert ended.returncode == 130
