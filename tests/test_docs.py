"""README.md and docs/ as a new user reads them: every command and Python block of a page is run.

Each page is typed from its beginning into an empty folder: README.md into a shell, the others in
this process, where a command has nothing to import. Graphs of a million vertices are made smaller,
in commands and blocks alike.
"""

import importlib.util
import os
import pathlib
import re
import shlex
import subprocess
import sys

import dask
import networkx
import pytest

import mgraph
from mgraph.cli.main import main

ROOT = pathlib.Path(__file__).parent.parent
DOCS = ROOT / "docs"
# What pages of papers name is checked by other tests.
PAGES = [ROOT / "README.md", *sorted(set(DOCS.rglob("*.md")) - set(DOCS.glob("papers/*")))]
SMALLER = {
    "1_000_000": "3_000",
    "n=100_000": "n=3_000",
    "99_999": "2_999",
    "--random 64": "--random 4",
    "--time-limit 20": "--time-limit 1",
}
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PRINTED = re.compile(r"^print\(.*\)  # (.*)$", re.MULTILINE)
WRITTEN = re.compile(
    r'(?:mgraph\.generate\(|write_graph\(\w+, |_dataset\("\w+", |Path\(|open\(|\.write\(|'
    r'largest=|file=|out=)"([\w.-]+)"'
)
MENU = re.compile(r"^:::\{toctree\}\n(?:^:.*\n)*((?:.*\n)*?):::$", re.MULTILINE)
LINK = re.compile(r"\]\(([^)#:]+)(?:#([\w.-]+))?\)")


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


class Shell:
    """A new user's shell, in a process per line. The user has compiled before."""

    def __init__(self, folder, **variables):
        self.folder = folder
        command = folder / "bin" / "mgraph"
        command.parent.mkdir(exist_ok=True)
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m mgraph "$@"\n')
        command.chmod(0o755)
        self.environment = {name: os.environ[name] for name in os.environ if name[:5] != "DASK_"}
        self.environment |= variables | {
            "PATH": f"{command.parent}:{pathlib.Path(sys.executable).parent}:{os.environ['PATH']}",
            "DASK_MGRAPH__DASHBOARD": "127.0.0.1:0",
        }

    def sh(self, line):
        """Its status, output and errors."""
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=self.folder, env=self.environment, capture_output=True, text=True,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def python(self, text):
        """As of ``sh``."""
        (self.folder / "block.py").write_text(text)
        return self.sh("python block.py")


class Here:
    """The same lines in this process, which has imported what a command imports."""

    def __init__(self, capfd):
        self.capfd = capfd

    def sh(self, line):
        """Its status, output and errors."""
        program, *arguments = map(os.path.expanduser, shlex.split(line))
        assert program == "mgraph"
        return main(arguments), *self.capfd.readouterr()

    def python(self, text):
        """As of ``sh``."""
        exec(compile(text, "block", "exec"), {"__name__": "__main__"})
        return 0, *self.capfd.readouterr()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """The empty folder of a new user."""
    (tmp_path / "workflows").symlink_to(ROOT / "workflows")
    (tmp_path / "home").mkdir()
    cache = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path.home() / ".cache")
    monkeypatch.setenv("XDG_CACHE_HOME", cache)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    configured = networkx.config
    with configured(
        backend_priority=configured.backend_priority,
        warnings_to_ignore=set(configured.warnings_to_ignore),
    ):
        yield tmp_path
    if (tmp_path / "home" / ".mgraph" / "cluster").exists():
        main(["cluster", "stop"])


@pytest.mark.timeout(900)  # the compilers' time on a machine that has compiled nothing yet
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_can_be_typed(page, home, capfd, cluster):
    """On a cluster that is there, unless the page starts one; README.md in a shell."""
    settings, address = {"mgraph.dashboard": "127.0.0.1:0"}, cluster.client.scheduler.address
    if "mgraph cluster start" not in page.read_text():
        settings["scheduler-address"] = address
    readme, here = Shell(home, DASK_SCHEDULER_ADDRESS=address), Here(capfd)
    for language, text in steps(page):
        where = readme if page == PAGES[0] else here
        if "__name__" in text:  # the block starts workers, which import it
            where = Shell(home)
        with dask.config.set(settings):
            status, out, err = getattr(where, language)(text)
        assert status == 0, f"{text}\n{out}{err}"
        assert "Traceback" not in err, f"{text}\n{err}"
        for expected in PRINTED.findall(text):
            assert expected in out.splitlines(), f"{text}\n{out}"


def written(page):
    """The names of files and folders that a page's commands and blocks write."""
    for language, text in steps(page):
        if language == "python":
            yield from WRITTEN.findall(text)
            continue
        words = shlex.split(text)
        options = ("--out", "--largest", "--plot", "--vertices-out", "--timings-json")
        places = {("mgraph", "generate"): [2], ("mgraph", "convert"): [3]}.get(tuple(words[:2]), [])
        places += [place + 1 for place, word in enumerate(words) if word in options]
        yield from (words[place] for place in places)


def test_pages_can_be_typed_in_one_folder():
    """No file or folder is written by two pages, so that they do not disturb each other."""
    owners = {}
    for page in PAGES:
        for name in written(page):
            assert owners.setdefault(name, page) == page, f"{name}: {owners[name]} and {page}"
    assert len(owners) > 40


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
        if anchor and file.name == "api.rst":
            name = anchor.removeprefix("mgraph.experiments.").removeprefix("mgraph.")
            assert f"\n   {name}\n" in file.read_text(), f"{page.name} links to {anchor}"
        elif anchor:
            headings = re.findall(r"^#+ (.*)$", file.read_text(), re.MULTILINE)
            slugs = [
                re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
            ]
            assert any(anchor in slug for slug in slugs), f"{page.name} links to {target}#{anchor}"


@pytest.mark.parametrize("page", ["guide", "howto/index", "algorithms/index", "explanations/index"])
def test_lists_of_pages_are_complete(page):
    """What the site's menu has, a reader of the files finds as links."""
    text = (DOCS / f"{page}.md").read_text()
    entries = re.findall(r"^(?:.*<)?([\w./-]+)>?$", "".join(re.findall(MENU, text)), re.MULTILINE)
    assert len(entries) >= 7
    for entry in entries:
        assert f"]({entry}.md)" in text, entry


def test_pictures_are_drawn_and_shown(tmp_path):
    """Each in both themes; the files that pages show are those that are drawn."""
    pytest.importorskip("igraph")
    command = [sys.executable, DOCS / "pictures.py", "--out", tmp_path]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    drawn = {file.name for file in tmp_path.iterdir()}
    assert drawn == {file.name for file in (DOCS / "images").glob("*.svg")}
    for file in tmp_path.iterdir():
        assert 1000 < file.stat().st_size < 600_000, file.name
    shown = {
        target.rpartition("/")[2]
        for page in PAGES
        for target, _ in LINK.findall(page.read_text())
        if target.endswith(".svg")
    }
    assert shown == {name for name in drawn if not name.endswith("-dark.svg")}


def test_pages_show_the_figures_that_are_recorded():
    command = [sys.executable, DOCS / "performance.py", "--check"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def run_notebooks():
    """The module that runs notebooks, which is a script of the documentation's."""
    for name in ("nbclient", "nbformat", "ipykernel", "PIL"):
        pytest.importorskip(name)
    spec = importlib.util.spec_from_file_location("run_notebooks", DOCS / "run_notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def printed(cell):
    """What a cell has printed and returned; of a figure that there is one."""
    if "varies" in cell.metadata.get("tags", ()):  # ids of runs, ports
        return bool(cell.outputs)
    return [
        each.get("text") or ("image/png" in each.data and "figure") or each.data["text/plain"]
        for each in cell.outputs
    ]


@pytest.mark.timeout(900)
def test_the_tutorial_prints_what_it_shows(home):
    runner = run_notebooks()
    folder = home / "tutorial"
    folder.mkdir()
    shown = runner.nbformat.read(DOCS / "tutorial.ipynb", as_version=4)
    ran = runner.execute(DOCS / "tutorial.ipynb", folder)
    for cell, other in zip(ran.cells, shown.cells, strict=True):
        if cell.cell_type == "code":
            assert printed(cell) == printed(other), cell.source


def test_the_tutorial_for_a_gpu_shows_what_it_printed():
    nbformat = pytest.importorskip("nbformat")
    notebook = nbformat.read(DOCS / "tutorial-gpu.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs for cell in code[1:])
    assert "gpu" in str(code)


def test_the_reference_has_every_public_name():
    reference = (DOCS / "api.rst").read_text()
    listed = set(re.findall(r"^(?:   |\.\. py:data:: )(\w+)$", reference, re.MULTILINE))
    public = set(mgraph.__all__) | mgraph._UNLISTED - {"experiments"} | set(dir(mgraph.experiments))
    assert listed == {name for name in public if not name.startswith("_")}
