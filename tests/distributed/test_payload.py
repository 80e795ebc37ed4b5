"""The files that are shipped with a script, and hints about modules that were not."""

import os
import subprocess
import sys

import pytest

import mgraph
from mgraph import UsageError
from mgraph.distributed.submission import payload
from mgraph.distributed.submission.payload import collect_files, find_unshipped, missing_module_hint
from mgraph.distributed.submission.runs import Runs


@pytest.fixture
def beside(tmp_path, monkeypatch):
    """A function that writes files into an empty folder, which is the current one."""
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)

    def write(**files):
        for name, text in files.items():
            file = folder / f"{name.replace('__in__', '/')}.py"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return folder

    return write


def hinted(error, script="script.py", companions=()):
    return missing_module_hint(
        error, find_unshipped(script, collect_files(script, companions)).to_json()
    )


def error_of(text):
    try:
        exec(text, {})
    except Exception as error:
        return error


def test_a_folder_is_shipped_with_its_files(beside):
    folder = beside(
        script="pass", pack__in__code="a = 1", pack__in__inner__in__deep="b = 2", pack__in__empty=""
    )
    (folder / "pack" / "table.bin").write_bytes(b"\0\1")
    for hidden in ("__pycache__/code.pyc", ".git/config", "old.pyc", ".hidden"):
        file = folder / "pack" / hidden
        file.parent.mkdir(exist_ok=True)
        file.write_text("x")
    (folder / "pack" / "loop").symlink_to(folder / "pack")
    (folder / "pack" / "inner" / "back").symlink_to("..")
    (folder / "elsewhere").mkdir()
    (folder / "elsewhere" / "far.py").write_text("c = 3")
    (folder / "pack" / "link").symlink_to("../elsewhere")
    for given in ("pack", "pack/", "./pack", folder / "pack", "../work/pack"):
        files = collect_files("script.py", [given])
        assert list(files) == ["script.py", "pack/code.py", "pack/empty.py", "pack/table.bin",
                               "pack/inner/deep.py", "pack/link/far.py"]  # fmt: skip
        assert files["pack/table.bin"] == b"\0\1"
    os.chdir(folder / "pack")
    assert "pack/code.py" in collect_files("../script.py", ["."])
    assert "pack/code.py" in collect_files("../script.py", ["inner/.."])


def test_folders_that_cannot_be_shipped(beside, monkeypatch):
    folder = beside(script="pass", pack__in__a="x = 1", other__in__pack__in__b="x = 1")
    (folder / "nothing" / "inside").mkdir(parents=True)
    (folder / "odd").mkdir()
    (folder / "odd" / "new\nline.py").write_text("x")
    os.mkfifo(folder / "pipe")
    for script, companions, words in [
        ("pack", [], "is not a file; ship a script"),
        ("script.py", ["nothing"], "is empty; ship a package"),
        ("script.py", ["odd"], "letters that cannot be printed"),
        ("script.py", ["pipe"], "is not a file"),
        ("script.py", ["pack", "other/pack"], "two files are called pack"),
        ("script.py", ["none"], "none does not exist"),
    ]:
        with pytest.raises(UsageError, match=words):
            collect_files(script, companions)
    monkeypatch.setattr(payload, "MAX_FOLDER_FILES", 0)
    with pytest.raises(UsageError, match="the folder pack has more than"):
        collect_files("script.py", ["pack"])


@pytest.mark.parametrize(
    ("text", "companions", "options"),
    [
        ("import helper", [], "--with helper.py"),
        ("from helper import x", [], "--with helper.py"),
        ("import pack.part", [], "--with pack"),
        ("def f():\n    import pack\nf()", [], "--with pack"),
        ("import chain", [], "--with chain.py --with helper.py --with pack"),
        ("import chain", ["helper.py"], "--with chain.py --with pack"),
        ("import helper, pack", [], "--with helper.py --with pack"),
        ("__import__('helper')", [], "--with helper.py"),
        ("import nowhere", [], None),
        ("import json.nothing", [], None),
        ("1 / 0", [], None),
    ],
)
def test_the_hint_says_what_to_ship(beside, text, companions, options):
    beside(script=text, helper="x = 1", pack__in__part="y = 2", chain="import helper, pack, chain")
    hint = hinted(error_of(text), companions=companions)
    if options is None:
        assert hint is None
    else:
        assert hint.endswith(f": {options}")
        assert "lies beside the script and was not shipped with it; ship it" in hint


def test_a_hint_names_the_path_and_considers_the_causes_of_an_error(beside):
    folder = beside(script="import helper", helper="x = 1")
    other = folder.parent / "it's"
    folder.rename(other)
    os.chdir(other.parent)
    inner = ModuleNotFoundError("No module named 'helper'", name="helper")
    outer = RuntimeError("a task failed")
    outer.__cause__ = inner
    said = RuntimeError("Error during deserialization: No module named 'helper.deep'")
    for error in (inner, outer, said, ImportError("cannot import name 'x'", name="helper")):
        hint = hinted(error, "it's/script.py")
        assert hint.endswith("""ship it: --with 'it'"'"'s/helper.py'""")


@pytest.mark.parametrize("behind", [None, [], {}, {"paths": 5, "needed": []}, {"paths": {}}])
def test_an_invalid_record_of_unshipped_modules_gives_no_hint(behind):
    assert missing_module_hint(ModuleNotFoundError("No module named 'a'", name="a"), behind) is None


@pytest.mark.parametrize("text", ["def f(:", "import " + ".".join("a" * 9), "\0", "x" * 10])
def test_sources_that_are_not_python_are_ignored(beside, text):
    beside(script="import helper", helper=text)
    hint = find_unshipped("script.py", collect_files("script.py"))
    assert hint.needed == ["helper"]


USES_PACKAGE = """
from pathlib import Path
import mgraph, pack.part, helper

def read():
    import pack
    return (Path(pack.__file__).parent / "word.txt").read_text()

with mgraph.connect() as cluster:
    client = cluster.client
    print(client.submit(pack.part.doubled, 4, pure=False).result(), helper.word)
    print(client.gather(client.map(lambda _: pack.part.word + read(), range(4), pure=False))[0])
"""


@pytest.fixture(scope="module")
def client():
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        yield cluster.client


def test_tasks_import_a_shipped_package_and_its_next_version(beside, client, tmp_path):
    folder = beside(script=USES_PACKAGE, helper="word = 'helper'", pack__in____init__="")
    runs = Runs(tmp_path / "runs", client)
    for version in ("old", "new"):
        beside(pack__in__part=f"word = {version!r}\ndef doubled(x):\n    return word * x\n")
        (folder / "pack" / "word.txt").write_text("!")
        run, _ = runs.submit(collect_files("script.py", ["pack", "helper.py"]))
        state, log = runs.wait(run).record.state, runs.output(run, 0).decode()
        assert (state, log) == ("finished", f"{version * 4} helper\n{version}!\n")

    def left(dask_worker):
        names = [name for name in sys.modules if name.partition(".")[0] in ("pack", "helper")]
        folders = [name for name in os.listdir(dask_worker.local_directory) if "files" in name]
        return names + folders + [path for path in sys.path if "mgraph-files" in path]

    assert set(map(tuple, client.run(left).values())) == {()}  # the runs have ended
    assert client.run_on_scheduler(lambda dask_scheduler: [
        name for name in dask_scheduler.worker_plugins if "files" in name]) == []  # fmt: skip


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("import helper", ["helper.py"]),
        ("import pack.part", ["pack"]),
        # In a task: the function is found again by its module's name, which workers do not have.
        ("import sys; sys.path.insert(0, WORK)\nimport helper, mgraph\n"
         "with mgraph.connect() as c:\n    c.client.submit(helper.f, pure=False).result()",
         ["helper.py"]),
        ("import mgraph\ndef f():\n    import helper\n"
         "with mgraph.connect() as c:\n    c.client.submit(f, pure=False).result()", ["helper.py"]),
    ],
)  # fmt: skip
def test_following_the_hint_in_the_log_works(beside, tmp_path, client, text, names):
    folder = beside(helper="def f():\n    return 1", pack__in__part="")
    beside(script=text.replace("WORK", repr(str(folder))))
    runs = Runs(tmp_path / "runs", client)
    files = collect_files("script.py")
    run, _ = runs.submit(files, unshipped=find_unshipped("script.py", files))
    state, log = runs.wait(run).record.state, runs.output(run, 0).decode()
    assert state == "failed", log
    assert f"mgraph: {names[0]} lies beside the script" in log
    assert f"ship it: --with {names[0]}\n" in log
    run, _ = runs.submit(collect_files("script.py", names))
    assert runs.wait(run).record.state == "finished", runs.output(run, 0).decode()


def test_the_command_shows_the_hint(beside, tmp_path):
    beside(helper="word = 'helped'", script="import helper\nprint(helper.word)")
    environment = {"DASK_MGRAPH__RUNS": str(tmp_path / "r"), "DASK_MGRAPH__CLUSTER": str(tmp_path)}
    command = [sys.executable, "-m", "mgraph.cli.main", "submit"]
    how = {"capture_output": True, "text": True, "timeout": 200, "env": os.environ | environment}
    found = subprocess.run([*command, "script.py"], **how)
    assert found.returncode == 1
    assert found.stdout.splitlines()[-1].endswith("ship it: --with helper.py")
    found = subprocess.run([*command, "--with", "helper.py", "script.py"], **how)
    assert (found.returncode, found.stdout) == (0, "helped\n")
