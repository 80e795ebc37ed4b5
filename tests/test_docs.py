"""README.md and docs/ as a new user reads them: every command and Python block of a page is run.

Each page is typed from its beginning into an empty folder. Graphs of a million vertices are made
smaller, in commands and blocks alike.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SMALLER = {
    "1_000_000": "3_000",
    "n=100_000": "n=3_000",
    "99_999": "2_999",
    "--random 64": "--random 4",
    "--time-limit 20": "--time-limit 1",
}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#([\w-]+))?\)")


def steps(page):
    """The language and the text of each thing to run, in order: shell lines and Python blocks."""
    for language, text in BLOCK.findall(page.read_text()):
        assert language in ("sh", "python", "text"), f"{page}: a block says what it holds"
        for big, small in SMALLER.items():
            text = text.replace(big, small)
        if language == "python":
            yield "python", text
            continue
        for line in text.splitlines():
            command = line.partition("  #")[0].strip()
            if language == "sh":
                yield "sh", command
            elif command.startswith("pip install . && "):  # the tests run in what is installed
                yield "sh", command.removeprefix("pip install . && ")


@pytest.fixture
def typed(tmp_path):
    """A function that runs a shell line in the folder of a new user, who has compiled before."""
    (tmp_path / "workflows").symlink_to(ROOT / "workflows")
    command = tmp_path / "bin" / "mgraph"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mgraph "$@"\n')
    command.chmod(0o755)
    cache = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")
    environment = {name: os.environ[name] for name in os.environ if name[:5] != "DASK_"} | {
        "PATH": f"{command.parent}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(tmp_path / "home"),
        "XDG_CACHE_HOME": cache,
        "DASK_MGRAPH__DASHBOARD": "127.0.0.1:0",
    }
    (tmp_path / "home").mkdir()

    def run(line):
        return subprocess.run(
            ["bash", "-c", line], cwd=tmp_path, env=environment, capture_output=True, text=True
        )

    yield run
    if (tmp_path / "home" / ".mgraph").exists():
        run("mgraph cluster stop")


@pytest.mark.timeout(900)  # the compilers' time on a machine that has compiled nothing yet
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_can_be_typed(page, typed, tmp_path):
    for number, (language, text) in enumerate(steps(page)):
        line = text
        if language == "python":
            (tmp_path / f"block_{number}.py").write_text(text)
            line = f"python block_{number}.py"
        done = typed(line)
        assert done.returncode == 0, f"{text}\n{done.stdout}{done.stderr}"
        assert "Traceback" not in done.stderr, f"{text}\n{done.stderr}"
        for expected in PRINTED.findall(text):
            assert expected in done.stdout.splitlines(), f"{text}\n{done.stdout}"


def test_the_readme_is_short_and_shows_what_is_promised():
    lines = (ROOT / "README.md").read_text().splitlines()
    assert len(lines) <= 200
    commands = [text for language, text in steps(ROOT / "README.md") if language == "sh"]
    assert commands[0].startswith("mgraph generate ")
    assert any(line.startswith("![") for line in lines)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target, anchor in LINK.findall(page.read_text()):
        file = page.parent / target
        assert file.exists(), f"{page.name} links to {target}, which does not exist"
        if anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            slugs = [
                re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
            ]
            assert any(anchor in slug for slug in slugs), f"{page.name} links to {target}#{anchor}"
