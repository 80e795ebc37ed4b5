"""What a hint tells to install, and another project's package of our name."""

import importlib.metadata
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

import mgraph
from mgraph import installation

ROOT = pathlib.Path(__file__).parent.parent
OURS = "Very large graphs on many GPUs, or on the machine's cores, with Dask"
THEIRS = "Yet another graphing library. This library supports Groot."
REQUIRED = "Requires-Dist: numpy>=2\nRequires-Dist: matplotlib>=3.8; extra == 'plot'\n"


def installed(folder, name, version="0.1.0", summary=OURS, direct_url=None):
    """The metadata that pip leaves beside a package."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    expected = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\nSummary: {summary}\n"
    (info / "METADATA").write_text(f"{expected}{REQUIRED}\nbody\n")
    if direct_url is not None:
        (info / "direct_url.json").write_text(json.dumps(direct_url))


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder of packages from which this project was imported."""
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.setattr(installation, "_ROOT", str(site))
    monkeypatch.syspath_prepend(site)
    return site


def test_a_source_folder(tmp_path, monkeypatch):
    folder = tmp_path / "a source's folder"
    folder.mkdir()
    (folder / "pyproject.toml").touch()
    monkeypatch.setattr(installation, "_ROOT", str(folder))
    script = f"pip() {{ printf '%s\\n' \"$@\"; }}; {installation.install_command('gpu')}"
    expected = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=True
    ).stdout
    assert expected.splitlines() == ["install", "-e", f"{folder}[gpu]"]


@pytest.mark.parametrize("name", ["mgraph-dask", "mgraph"])
def test_installed_from_a_folder(site, tmp_path, name):
    source = tmp_path / "of the source"
    source.mkdir()
    installed(site, name, direct_url={"url": source.as_uri(), "dir_info": {}})
    assert installation.install_command("plot") == f"pip install '{source}[plot]'"


def test_installed_from_a_wheel(site, tmp_path):
    wheel = tmp_path / "mgraph_dask-0.1.0-py3-none-any.whl"
    wheel.touch()
    installed(site, "mgraph-dask", direct_url={"url": wheel.as_uri(), "archive_info": {}})
    assert installation.install_command("gpu13") == f"pip install '{wheel}[gpu13]'"
    wheel.unlink()  # as a container's build stage does
    assert installation.install_command("plot") == "pip install 'matplotlib>=3.8'"
    assert installation.install_command() == "pip install 'numpy>=2'"


@pytest.mark.parametrize(
    ("direct_url", "expected"),
    [
        (None, "pip install 'mgraph-dask[plot]'"),
        ({}, "pip install 'mgraph-dask[plot]'"),
        (
            {"url": "https://a.example/g.git", "vcs_info": {"vcs": "git", "commit_id": "1f"}},
            "pip install 'mgraph-dask[plot] @ git+https://a.example/g.git'",
        ),
        (
            {"url": "https://a.example/g.whl", "archive_info": {}},
            "pip install 'mgraph-dask[plot] @ https://a.example/g.whl'",
        ),
    ],
)
def test_installed_from_an_index_or_an_address(site, direct_url, expected):
    installed(site, "mgraph-dask", direct_url=direct_url)
    assert installation.install_command("plot") == expected


def test_another_project_s_metadata_tells_nothing_of_ours(site):
    installed(site, "mgraph", "1.0.0.16", THEIRS, {"url": "file:///theirs"})
    assert installation.install_command("plot") == "pip install 'mgraph-dask[plot]'"


def test_the_other_project_is_noticed(tmp_path):
    ours, theirs, old = (tmp_path / name for name in ("ours", "theirs", "old"))
    installed(ours, "mgraph-dask")
    installed(old, "mgraph")  # ours, before it had its name
    (old / "mgraph_tools-2.0.dist-info").mkdir()
    assert installation.other_project([str(ours), str(old), str(tmp_path / "none")]) is None
    installed(theirs, "mgraph", "1.0.0.16", THEIRS)
    found = installation.other_project(["", str(ours), str(theirs)])
    assert found.startswith("mgraph 1.0.0.16 (Yet another graphing library. This")
    assert found.endswith(f" in {theirs}")
    eggs = tmp_path / "eggs"
    eggs.mkdir()
    (eggs / "mgraph-1.0.0.16-py3.11.egg-info").write_text(f"Version: 1.0\nSummary: {THEIRS}\n")
    assert installation.other_project([str(eggs)]).startswith("mgraph 1.0 (Yet another")


def python(*arguments, path):
    environment = os.environ | {"PYTHONPATH": str(path)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=path, env=environment, capture_output=True, text=True
    )


def test_importing_ours_beside_theirs_warns(tmp_path):
    """Where theirs was there first, and our files replaced what has the same name."""
    (tmp_path / "mgraph").symlink_to(ROOT / "mgraph")
    installed(tmp_path, "mgraph", "1.0.0.16", THEIRS)
    found = python("-c", "import mgraph; print(mgraph.CopyModel.__name__)", path=tmp_path)
    assert found.stdout == "CopyModel\n"
    assert "RuntimeWarning: another project's package has the import name mgraph" in found.stderr
    assert "pip uninstall mgraph && pip install" in found.stderr
    (tmp_path / "mgraph-1.0.0.16.dist-info" / "METADATA").write_text(f"Summary: {OURS}\n")
    assert python("-c", "import mgraph", path=tmp_path).stderr == ""


@pytest.mark.parametrize("module", ["mgraph", "mgraph.cli.main"])
def test_a_command_whose_package_was_replaced_says_so(tmp_path, module):
    """Where theirs came later: ``mgraph/__init__.py`` is theirs, the other files are ours."""
    (tmp_path / "mgraph").mkdir()
    for entry in (ROOT / "mgraph").iterdir():
        (tmp_path / "mgraph" / entry.name).symlink_to(entry)
    (tmp_path / "mgraph" / "__init__.py").unlink()
    (tmp_path / "mgraph" / "__init__.py").write_text("class MGraph:\n    pass\n")
    installed(tmp_path, "mgraph", "1.0.0.16", THEIRS)
    found = python("-m", module, "list", path=tmp_path)
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("mgraph: another project's package has the import name mgraph")
    assert found.stderr.count("\n") == 1


def test_no_text_tells_to_install_the_other_project():
    """Every hint goes through ``install_command``; pages install from the source folder."""
    bad = re.compile(r"pip install[^\n&]*?[ '\"]mgraph($|[\s'\"\[;,.)=<>])|\bmgraph\[")
    texts = [
        path
        for ending in ("*.py", "*.md", "*.toml", "*.yaml", "Containerfile", "*.sh", "*.sbatch")
        for top in ("mgraph", "workflows", "cluster", ".")
        for path in (ROOT / top).glob(ending if top == "." else f"**/{ending}")
    ]
    assert len(texts) > 200
    expected = [
        f"{path.relative_to(ROOT)}: {line}"
        for path in texts
        for line in path.read_text().splitlines()
        if bad.search(line) and "re.match(" not in line
    ]
    assert expected == []


def test_the_name_of_the_distribution():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == installation.DISTRIBUTION
    assert project["description"].startswith(installation._SUMMARY)
    assert project["dynamic"] == ["version"]
    assert importlib.metadata.version(project["name"]) == mgraph.__version__
    assert list(project["scripts"]) == ["mgraph"]
