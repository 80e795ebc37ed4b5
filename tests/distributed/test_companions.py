"""Files that are shipped with a script are visible to its run's tasks alone, until the run ends."""

import sys

import pytest

import mgraph
from mgraph.distributed.protocol.run_context import RUN_KEY
from mgraph.distributed.submission import companions


@pytest.fixture(autouse=True)
def _own_path(monkeypatch):
    """What the scheduler of this process adds to its path is not inherited by later workers."""
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.fixture
def worker(tmp_path, monkeypatch):
    """Installs and removes files in this process, as in a worker's."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    modules = set(sys.modules)
    install, remove = companions._make_installer(), companions._make_remover()

    def name(run):
        return f"{companions.PREFIX}{run}-1"

    yield (
        lambda run, files: install(str(tmp_path), name(run), files),
        lambda run: remove(str(tmp_path), name(run)),
    )
    for module in set(sys.modules) - modules:
        if module.startswith("mghelper"):
            del sys.modules[module]


def who():
    import mghelper

    return mghelper.WHO


def test_different_code_under_one_name_is_refused_while_the_other_run_lasts(worker, tmp_path):
    install, remove = worker
    install("one", {"mghelper.py": b"WHO = 1"})
    assert who() == 1
    with pytest.raises(RuntimeError, match="run one, which has not ended, has shipped a different"):
        install("two", {"mghelper.py": b"WHO = 2"})
    assert not (tmp_path / "mgraph-files-two-1").exists()
    assert who() == 1
    install("three", {"mghelper.py": b"WHO = 1", "mghelper_more.py": b""})  # the same code
    assert who() == 1
    remove("one")
    assert who() == 1
    remove("three")
    with pytest.raises(ModuleNotFoundError):
        who()
    install("two", {"mghelper.py": b"WHO = 2"})
    assert who() == 2


def test_packages_differ_if_any_file_differs(worker):
    install, _ = worker
    package = {"mghelper/__init__.py": b"WHO = 1", "mghelper/inner/deep.py": b"A = 1"}
    install("one", package)
    install("two", package)
    assert who() == 1
    for other in (
        package | {"mghelper/inner/deep.py": b"A = 2"},
        package | {"mghelper/more.py": b""},
        {"mghelper/__init__.py": b"WHO = 1"},
    ):
        with pytest.raises(RuntimeError, match="has shipped a different mghelper"):
            install("three", other)


def test_files_of_dead_drivers_are_removed():
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        client = cluster.client
        lives = client.submit(lambda: __import__("time").sleep(60), key=f"{RUN_KEY}lives")
        died = client.submit(lambda: 1 / 0, key=f"{RUN_KEY}died")
        died.exception()
        for run in ("lives", "died", "gone"):
            companions.install(client, run, 1, {f"of_{run}.py": b"x = 1"})
        companions.install(client, "mine", 1, {"mghelper.py": b"WHO = 1"})
        companions.install(client, "mine", 2, {"mghelper.py": b"WHO = 1"})
        companions.remove_abandoned(client, "mine", 2, RUN_KEY)

        def plugins(dask_scheduler):
            return [name for name in dask_scheduler.worker_plugins if "mgraph-files" in name]

        def folders(dask_worker):
            return [path.rpartition("-files-")[2] for path in sys.path if "mgraph-files" in path]

        assert sorted(client.run_on_scheduler(plugins)) == [
            "mgraph-files-lives-1", "mgraph-files-mine-2"
        ]  # fmt: skip
        assert [sorted(found) for found in client.run(folders).values()] == [
            ["lives-1", "mine-2"]
        ] * 2
        companions.remove(client, "mine", 1)  # as a driver does that was taken for dead
        assert client.submit(who).result() == 1
        lives.cancel(force=True)
