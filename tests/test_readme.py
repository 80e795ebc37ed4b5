"""README.md as a new user reads it: its commands and Python blocks, one after another, in a folder.

Graphs of a million vertices are made smaller, in commands and blocks alike.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
SYNOPSIS = "## Commands"  # whose lines are patterns
SMALLER = {"1_000_000": "3_000", "--random 64": "--random 4", "--time-limit 20": "--time-limit 1"}


def steps():
    """What the page tells to run, in order: a command of a shell, or a block of Python."""
    text = (ROOT / "README.md").read_text()
    before, _, after = text.partition(SYNOPSIS)
    after = after[after.index("\n## ") :]
    for big, small in SMALLER.items():
        before, after = (part.replace(big, small) for part in (before, after))
    block = r"^```python\n(?P<python>.*?)^```$|^    (?P<shell>(?:mgraph|python|pip) [^\n]*)$"
    for found in re.finditer(block, before + after, re.MULTILINE | re.DOTALL):
        if found["python"]:
            yield "python", found["python"]
        else:
            line = found["shell"].partition("  #")[0].strip()
            line = re.sub(r"^pip install \S+ && ", "", line)  # the tests run in what is installed
            if not line.startswith("pytest"):
                yield "shell", line


def test_what_is_run():
    every = [text for _, text in steps()]
    assert sum(kind == "python" for kind, _ in steps()) == 3
    assert sum(text.startswith("mgraph ") for text in every) > 15
    assert not any("[" in text or "…" in text for kind, text in steps() if kind == "shell")


@pytest.mark.timeout(1500)  # the compilers' time on a machine that has compiled nothing yet
def test_the_page_can_be_typed(tmp_path):
    (tmp_path / "workflows").symlink_to(ROOT / "workflows")
    command = tmp_path / "bin" / "mgraph"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mgraph "$@"\n')
    command.chmod(0o755)
    environment = {name: os.environ[name] for name in os.environ if name[:5] != "DASK_"} | {
        "PATH": f"{command.parent}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "DASK_MGRAPH__DASHBOARD": "127.0.0.1:0",
    }
    (tmp_path / "home").mkdir()

    def run(line):
        return subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    said = {}
    try:
        for number, (kind, text) in enumerate(steps()):
            line = text
            if kind == "python":
                (tmp_path / f"block_{number}.py").write_text(text)
                line = f"python block_{number}.py"
            done = run(line)
            assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
            assert "Traceback" not in done.stderr, f"{text}\n{done.stderr}"
            said[text] = done.stdout
    finally:
        run("mgraph cluster stop")
    (clusters,) = (out for text, out in said.items() if text.startswith("mgraph single-linkage"))
    assert clusters.startswith("3 clusters of 900 vertices, the largest of 300, 300, 300\n")
    (points,) = (out for text, out in said.items() if "cKDTree" in text)
    assert points == "[300 300 300]\n"
