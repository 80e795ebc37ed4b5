"""``mgraph config`` and ``mgraph completion``, the latter by typing into a real Bash."""

import os
import pty
import re
import select
import shutil
import subprocess
import sys
import time

import pytest

from mgraph import UsageError
from mgraph.cli.main import main
from mgraph.cli.options import complete_runs

READY = "%ready%"


@pytest.fixture
def shell(tmp_path):
    """A function that types a line into an interactive Bash, and tells what mgraph was given."""
    script = subprocess.run(
        [sys.executable, "-m", "mgraph.cli.main", "completion", "bash"],
        capture_output=True,
        text=True,
        check=True,
    )
    (tmp_path / "completion").write_text(script.stdout)
    command = tmp_path / "bin" / "mgraph"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m mgraph.cli.main "$@"\n')
    command.chmod(0o755)
    (tmp_path / "runs" / "20260101-120000-0a1b").mkdir(parents=True)
    (tmp_path / "here" / "graph folder").mkdir(parents=True)
    (tmp_path / "here" / "graph folder" / "inside.gr").touch()
    (tmp_path / "here" / "roads.gr").touch()
    (tmp_path / "here" / "roads.mtx").touch()
    environment = os.environ | {
        "PATH": f"{command.parent}{os.pathsep}{os.environ['PATH']}",
        "DASK_MGRAPH__RUNS": str(tmp_path / "runs"),
        "TERM": "dumb",
        "INPUTRC": os.devnull,
        "HISTFILE": os.devnull,
    }
    terminal, far = pty.openpty()
    bash = subprocess.Popen(
        ["bash", "--norc", "--noprofile", "-i"],
        stdin=far,
        stdout=far,
        stderr=far,
        env=environment,
        cwd=tmp_path / "here",
        start_new_session=True,
    )
    os.close(far)

    def until_ready():
        said, deadline = "", time.monotonic() + 120
        while READY not in said:
            assert time.monotonic() < deadline, said
            if select.select([terminal], [], [], 0.1)[0]:
                said += os.read(terminal, 1 << 16).decode()
        return said

    def typed(line):
        os.write(terminal, f"{line}\t\n".encode())
        return re.findall(r"\[\[(.*?)\]\]", until_ready())

    try:
        # The shell's function is what runs; what completes is the command that it hides.
        given = """mgraph() { printf '[[%s]]' "$@"; }"""
        setup = f"PS1=; bind 'set completion-query-items 0'; . {tmp_path}/completion; {given}"
        prompt = r"PROMPT_COMMAND='printf %%re%s%%\\n ady'"
        os.write(terminal, f"{setup}; {prompt}\n".encode())
        until_ready()
        yield typed
    finally:
        bash.kill()
        bash.wait()
        os.close(terminal)


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_what_is_typed(shell):
    for line, words in {
        "mgraph gene": ["generate"],
        "mgraph single": ["single-linkage"],
        "mgraph generate g --comp": ["generate", "g", "--compression"],
        "mgraph generate g --compression z": ["generate", "g", "--compression", "zstd"],
        "mgraph generate g --compression=z": ["generate", "g", "--compression=zstd"],
        "mgraph generate --scheduler tcp://a:8786 --backend g": [
            "generate", "--scheduler", "tcp://a:8786", "--backend", "gpu",
        ],
        "mgraph --ver": ["--version"],
        "mgraph info roads.m": ["info", "roads.mtx"],
        "mgraph info ./roads.g": ["info", "./roads.gr"],
        "mgraph info gra": ["info", "graph folder/"],
        "mgraph info 'graph folder/in": ["info", "graph folder/inside.gr"],
        "mgraph msf roads.gr --out=roads.m": ["msf", "roads.gr", "--out=roads.mtx"],
        "mgraph config monitor.h": ["config", "monitor.history"],
        "mgraph completion ba": ["completion", "bash"],
        "mgraph logs 2026010": ["logs", "20260101-120000-0a1b"],
        "mgraph logs --scheduler tcp://a:1 2026010": [
            "logs", "--scheduler", "tcp://a:1", "20260101-120000-0a1b",
        ],
        "mgraph info nothing-lik": ["info", "nothing-lik"],
    }.items():  # fmt: skip
        assert shell(line) == words


@pytest.mark.parametrize("shell_name", ["bash", "zsh", "fish"])
def test_each_shell_can_read_its_script(shell_name, tmp_path, capsys):
    assert main(["completion", shell_name]) == 0
    script = capsys.readouterr().out
    assert "_MGRAPH_COMPLETE" in script
    if shutil.which(shell_name):
        file = tmp_path / "script"
        file.write_text(script)
        no_execution = "--no-execute" if shell_name == "fish" else "-n"
        checked = subprocess.run(
            [shell_name, no_execution, file], capture_output=True, text=True, check=False
        )
        assert (checked.returncode, checked.stderr) == (0, "")


def test_runs_complete_the_latest_first(tmp_path, monkeypatch):
    monkeypatch.setattr("mgraph.distributed.protocol.configuration.runs_folder", lambda: tmp_path)
    for age, name in enumerate(("b", "a", "c", ".hidden", "bb")):
        (tmp_path / name).mkdir()
        os.utime(tmp_path / name, (1e9 - age, 1e9 - age))
    (tmp_path / "file").touch()
    assert complete_runs(None, None, "") == ["b", "a", "c", "bb"]
    assert complete_runs(None, None, "b") == ["b", "bb"]
    monkeypatch.setattr(
        "mgraph.distributed.protocol.configuration.runs_folder", lambda: tmp_path / "none"
    )
    assert complete_runs(None, None, "") == []


def test_runs_complete_to_nothing_where_the_settings_are_wrong(monkeypatch):
    def wrong():
        raise UsageError("a mistake")

    monkeypatch.setattr("mgraph.distributed.protocol.configuration.runs_folder", wrong)
    assert complete_runs(None, None, "") == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["completion"], "SHELL must be one of bash, fish, zsh (got none)"),
        (["completion", "tcsh"], "must be one of bash, fish, zsh"),
        (["config", "nothing"], "there is no setting nothing"),
        (["config", "runs", "cluster"], "unexpected extra argument"),
        (["config", "--yaml"], "No such option"),
    ],
)
def test_wrong_use_is_one_sentence(capsys, arguments, words):
    assert main(arguments) == 2
    said = capsys.readouterr().err
    assert words in said
    assert said.startswith("mgraph: ")
    assert said.count("\n") == 1
