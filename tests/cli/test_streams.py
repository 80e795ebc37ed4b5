"""Output that cannot be written: a full disk, closed descriptors, a reader that goes away.

Descriptors are given to the command as a shell would, and each command runs as a person's shell
starts it and with PYTHONUNBUFFERED.
"""

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import mgraph
from mgraph import compilation
from mgraph.cli.main import VERBS
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
FULL = "mgraph: the output could not be written: No space left on device\n"
LOCAL = ["--workers", "1", "--dashboard", "127.0.0.1:0"]
BUFFERING = pytest.mark.parametrize("unbuffered", [False, True])
QUESTIONS = [
    ["info", "graph"], ["degrees", "graph", "--json", "-q"], ["verify", "graph", "-q"], ["config"],
    ["list"], ["logs"], ["status"],
]  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A graph in ``graph``, a run that has printed more than a pipe holds, and a cluster."""
    folder = tmp_path_factory.mktemp("streams")
    (folder / "talks.py").write_text("for i in range(50_000):\n    print(i, 'of many')\n")
    with mgraph.connect(workers=1, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        model = mgraph.CopyModel(500, 3, 0.5, 1, weights=(1, 9))
        mgraph.generate(folder / "graph", model, cluster=cluster, progress=None)
        (folder / "scheduler").write_text(cluster.client.scheduler.address)
        done = run(["submit", "-q", "talks.py"], folder)
        assert done.returncode == 0, done.stderr
        yield folder


def run(arguments, folder, unbuffered=False, redirect="", **options):
    """Run the command in a shell's way. redirect: in a shell's words, for example ``>&-``.

    On the cluster of the folder, if it has one.
    """
    environment = {name: os.environ[name] for name in os.environ if name != "PYTHONUNBUFFERED"}
    environment |= {"DASK_MGRAPH__RUNS": str(folder / "runs")}
    environment |= {"DASK_MGRAPH__CLUSTER": str(folder / "cluster")}
    with contextlib.suppress(FileNotFoundError):
        environment["DASK_SCHEDULER_ADDRESS"] = (folder / "scheduler").read_text()
    if unbuffered:
        environment["PYTHONUNBUFFERED"] = "1"
    line = [sys.executable, "-m", "mgraph", *map(str, arguments)]
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | options
    return subprocess.run(
        ["bash", "-c", f'exec "$@" {redirect}', "bash", *line],
        cwd=folder, env=environment, text=True, check=False, **options,
    )  # fmt: skip


@contextlib.contextmanager
def closed_pipe():
    """A pipe without a reader."""
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as stream:
        yield stream


def test_the_package_is_a_command(tmp_path):
    assert run(["--version"], tmp_path).stdout == f"mgraph, version {mgraph.__version__}\n"


@pytest.mark.parametrize("verb", ["", *VERBS])
def test_no_room_for_help(tmp_path, verb):
    unbuffered = sorted(["", *VERBS]).index(verb) % 2
    found = run([verb, "--help"] if verb else ["--version"], tmp_path, unbuffered, ">/dev/full")
    assert (found.returncode, found.stderr) == (1, FULL)


@BUFFERING
@pytest.mark.parametrize("arguments", QUESTIONS, ids=" ".join)
def test_no_room_for_an_answer(folder, arguments, unbuffered):
    found = run(arguments, folder, unbuffered, ">/dev/full")
    said = found.stderr.splitlines(keepends=True)
    said = "".join(line for line in said if compilation.NOTICE not in line)
    assert (found.returncode, said) == (1, FULL)


@BUFFERING
@pytest.mark.parametrize("arguments", QUESTIONS, ids=" ".join)
def test_a_reader_that_goes_away_changes_no_status(folder, arguments, unbuffered):
    with closed_pipe() as stream:
        found = run(arguments, folder, unbuffered, stdout=stream)
    assert (found.returncode, found.stderr) == (0, "")


@BUFFERING
@pytest.mark.parametrize("redirect", [">&-", "2>&-", "<&- >&- 2>&-", "2>/dev/full"])
@pytest.mark.parametrize("arguments", QUESTIONS[:2], ids=" ".join)
def test_streams_that_are_closed_or_full_change_no_status(folder, arguments, redirect, unbuffered):
    assert run(arguments, folder, unbuffered, redirect).returncode == 0


@pytest.mark.parametrize("redirect", ["2>/dev/full", "2>&-", ">/dev/full 2>/dev/full", ">&- 2>&-"])
def test_an_error_that_cannot_be_told_is_one_all_the_same(tmp_path, redirect):
    assert run(["info", "none"], tmp_path, redirect=redirect).returncode == 1
    assert run(["info"], tmp_path, redirect=redirect).returncode == 2


@pytest.mark.parametrize("redirect", [">/dev/full", ">&-", "2>/dev/full"])
def test_results_are_written_whatever_becomes_of_the_output(folder, tmp_path, redirect):
    commands = [
        ["sssp", folder / "graph", "--source", "0", "--trace", "trace.parquet"],
        ["msf", folder / "graph", "--out", "forest.mtx"],
    ]
    if redirect == ">&-":  # a worker must not write into a file that got the number of the output
        commands.append(["generate", "made", "-n", "400", "-d", "2", *LOCAL])
    for arguments in commands:
        found = run(arguments, tmp_path, redirect=redirect)
        assert found.returncode == (redirect == ">/dev/full"), found.stderr
        assert "Traceback" not in found.stderr
    assert mgraph.read_graph(tmp_path / "forest.mtx", backend="cpu").n == 500
    assert (tmp_path / "trace.parquet").stat().st_size
    assert len(commands) == 2 or mgraph.open_dataset(tmp_path / "made").n == 400


@pytest.mark.parametrize("redirect", [">&-", "2>&-", ">&- 2>&-", "2>/dev/full", ">/dev/full"])
def test_submit_ends_with_the_script_s_status(folder, redirect):
    (folder / "seven.py").write_text("import sys\nprint('oh')\nsys.exit(7)")
    found = run(["submit", "seven.py"], folder, redirect=redirect)
    assert found.returncode == 7
    assert "Traceback" not in found.stderr


def test_a_run_goes_on_without_who_read_its_output(folder):
    (folder / "slow.py").write_text(
        "import pathlib, time\nprint('on', flush=True)\n"
        "while not pathlib.Path('go').exists():\n    time.sleep(0.05)\n"
        "print('over', flush=True)\n"
    )
    with closed_pipe() as stream:
        found = run(["submit", "slow.py"], folder, stdout=stream)
    assert found.returncode == 0, found.stderr
    message = found.stderr.splitlines()[-1]
    assert message.startswith("mgraph: the reader of the output went away; run ")
    name = message.split()[9]
    assert f"run {name} goes on; mgraph logs -f {name} shows" in message
    with closed_pipe() as stream:
        found = run(["logs", "-f", name], folder, stdout=stream)
    assert found.returncode == 0, found.stderr
    (folder / "go").touch()
    followed = run(["logs", "-f", name], folder)
    assert (followed.returncode, followed.stdout) == (0, "on\nover\n")


def test_a_run_on_a_cluster_of_the_command_s_is_awaited(folder, tmp_path):
    with closed_pipe() as stream:
        found = run(["submit", folder / "talks.py"], tmp_path, stdout=stream)
    assert found.returncode == 0
    assert "this command waits until run" in found.stderr
    assert "finished" in run(["status"], tmp_path).stdout


@contextlib.contextmanager
def full_pipe(blocking):
    """A pipe that takes nothing more until it is read."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"." * 4096)
    os.set_blocking(writer, blocking)
    yield reader, writer
    os.close(reader)


def test_an_output_that_would_block_is_waited_for():
    """As that of a terminal which another program has put into that mode."""
    with full_pipe(blocking=False) as (reader, writer):
        command = subprocess.Popen([sys.executable, "-m", "mgraph", "--help"], stdout=writer)
        os.close(writer)
        time.sleep(0.5)  # it may, or may not, wait by now
        text = b""
        while read := os.read(reader, 1 << 16):
            text += read
        assert command.wait(60) == 0
        assert text.lstrip(b".").startswith(b"Usage: mgraph")


@pytest.mark.skipif(not os.path.exists("/proc/self/syscall"), reason="needs Linux's /proc")
@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_a_command_whose_reader_does_not_read(signal_):
    with full_pipe(blocking=True) as (_, writer):
        command = subprocess.Popen(
            [sys.executable, "-m", "mgraph", "--help"], stdout=writer, stderr=subprocess.PIPE
        )
        os.close(writer)
        path = Path(f"/proc/{command.pid}/syscall")
        wait_until(lambda: path.read_text().split()[:2] == ["1", "0x1"], 60)  # it writes to 1
        command.send_signal(signal_)
        _, err = command.communicate(timeout=60)
        assert command.returncode == 128 + signal_
        assert b"Traceback" not in err
