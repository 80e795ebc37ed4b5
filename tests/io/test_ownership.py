"""A folder that is written has one owner; a dead one is replaced, on disk and in object stores."""

import dataclasses
import multiprocessing
import os
import pickle
import threading
import time

import pytest

import mgraph
from mgraph import DatasetError, StorageError, UsageError
from mgraph.io import owner as owners
from mgraph.io import ownership
from mgraph.io.folder import TEMPORARY_SUFFIX, Folder
from mgraph.io.owner import parse_owner, this_process
from mgraph.io.ownership import OwnerGuard, check_unowned, owning, writer_of
from tests.io.left_owners import elsewhere, gone, leave
from tests.io.moto_store import moto_bucket
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def bucket():
    with moto_bucket("owned") as address:
        yield address


@pytest.fixture(params=["disk", "store"])
def place(request, tmp_path):
    """The address of a folder that is not there."""
    if request.param == "disk":
        return str(tmp_path / "new" / "g")
    return f"{request.getfixturevalue('bucket')}/{tmp_path.name}/g"


def visible(place):
    """The names in a folder that are not an owner's."""
    return [name for name in Folder(place).names() or [] if not ownership.is_owner_file(name)]


def files_of_owners(place):
    return [name for name in Folder(place).names() or [] if ownership.is_owner_file(name)]


def test_a_folder_is_owned_during_the_block_and_clean_afterwards(place):
    folder = Folder(place)
    with owning(folder, "mgraph generate"):
        (name,) = files_of_owners(place)
        found = parse_owner(folder.read(name))
        assert (found.pid, found.operation) == (os.getpid(), "mgraph generate")
        folder.write("a", b"1")
        assert visible(place) == ["a"]
        assert "being written by mgraph generate (process" in writer_of(Folder(place))
    assert Folder(place).names() == ["a"]
    assert writer_of(Folder(place)) is None
    check_unowned(Folder(place))


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
def test_a_block_that_fails_leaves_nothing(place, error):
    folder = Folder(place)

    def fail():
        with owning(folder, "x"):
            raise error

    with pytest.raises(error):
        fail()
    assert not Folder(place).names()
    if not folder.is_remote:
        assert not os.path.exists(os.path.dirname(place))
    assert folder.guard is None


def test_a_second_operation_is_refused_with_the_owner_s_name(place):
    with owning(Folder(place), "mgraph generate"):
        for _ in range(2):
            with (
                pytest.raises(UsageError, match=rf"mgraph generate \(process {os.getpid()} on \S+"),
                owning(Folder(place), "mgraph sssp"),
            ):
                pass
            with pytest.raises(UsageError, match=r"since 20\d\d-"):
                check_unowned(Folder(place))
        assert len(files_of_owners(place)) == 1
    with owning(Folder(place), "mgraph sssp"):
        pass


def test_an_owner_whose_process_has_ended_is_replaced_at_once(place):
    leave(place, gone())
    check_unowned(Folder(place))
    with owning(Folder(place), "mgraph sssp"):
        assert len(files_of_owners(place)) == 1
    assert not files_of_owners(place)


def test_a_process_id_that_was_reused(place):
    leave(place, dataclasses.replace(gone(), pid=os.getppid()))
    with owning(Folder(place), "mgraph sssp"):
        pass


def test_an_owner_s_file_that_this_process_left_is_replaced(place):
    leave(place, this_process("mgraph generate", None, claims=False))
    with owning(Folder(place), "mgraph sssp"):
        pass


def test_an_owner_on_another_machine_is_alive_while_it_sends_heartbeats(place, monkeypatch):
    leave(place, elsewhere())
    with pytest.raises(UsageError, match=r"on far, .* last heartbeat was \d+ s ago; .* after 60 s"):
        check_unowned(Folder(place))
    with pytest.raises(UsageError, match="on far"), owning(Folder(place), "x"):
        pass
    monkeypatch.setattr(owners, "DEAD_SECONDS", -5)  # so long ago is the last one by now
    with owning(Folder(place), "x"):
        assert len(files_of_owners(place)) == 1


def test_heartbeats_keep_the_ownership(place, monkeypatch):
    monkeypatch.setattr(ownership, "HEARTBEAT_SECONDS", 0.05)
    folder = Folder(place)

    def last():
        ((_, age),) = ownership._other_owners(folder, "", 0.0)
        return -age

    with owning(folder, "x"):
        before = last()
        wait_until(lambda: last() > before)
    time.sleep(0.2)
    assert not folder.names()


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"token": 7}', b'{"token": "../x"}'])
def test_a_damaged_owner_s_file_counts_as_one_of_another_machine(place, content, monkeypatch):
    monkeypatch.setattr(ownership, "TRY_SECONDS", 0.01)
    name = leave(place, elsewhere())
    folder = Folder(place)
    folder.write(name, content)
    with pytest.raises(UsageError, match="is being written by an operation"), owning(folder, "x"):
        pass
    monkeypatch.setattr(owners, "DEAD_SECONDS", -5)
    with owning(folder, "x"):
        pass
    assert not files_of_owners(place)


def test_a_later_attempt_of_the_same_run_replaces_the_owner(place):
    leave(place, elsewhere(run="20260101-000000-aaaa", attempt=1))
    for run in (None, ("20260101-000000-aaaa", 1), ("20260101-000000-bbbb", 2)):
        with pytest.raises(UsageError, match="on far"):
            check_unowned(Folder(place), run)
        with pytest.raises(UsageError, match="on far"), owning(Folder(place), "x", run):
            pass
    run = ("20260101-000000-aaaa", 2)
    check_unowned(Folder(place), run)
    with owning(Folder(place), "x", run):
        assert len(files_of_owners(place)) == 1


def test_files_of_an_owner_s_tasks_appear_only_while_it_owns(place, monkeypatch):
    monkeypatch.setattr(ownership, "TRY_SECONDS", 0.01)
    folder = Folder(place)
    with owning(folder, "x"):
        task = pickle.loads(pickle.dumps(folder))
        task.write("a", b"1")
    with pytest.raises(StorageError, match="no longer written by this operation"):
        task.write("a", b"2")
    other = Folder(place)
    with owning(other, "y"), pytest.raises(StorageError, match="has taken the folder over"):
        task.write("a", b"2")
    assert Folder(place).read("a") == b"1"
    assert Folder(place).names() == ["a"]


def test_a_replaced_owner_removes_nothing_of_the_next(place, monkeypatch):
    monkeypatch.setattr(ownership, "TRY_SECONDS", 0.01)
    first = Folder(place)
    with owning(first, "x"):
        for name in files_of_owners(place):
            first.remove(name)
        second = owning(Folder(place), "y")
        with second:
            with pytest.raises(StorageError, match="no longer written"):
                first.write("a", b"1")
            assert len(files_of_owners(place)) == 1
            OwnerGuard(next(iter(owners.held_tokens - {first.guard.token}))).check(Folder(place))


def test_temporary_files_of_killed_owners_are_removed(place):
    folder = Folder(place)
    leave(place, gone())
    folder.write("mine", b"")
    stream = folder.filesystem.open_output_stream(folder.path(".part-00000.parquet.1.tmp"))
    stream.close()
    with owning(folder, "x"):
        assert visible(place) == ["mine"]


def contend(place, environment, index, begin, results, seconds):
    """Try to own a folder; tell whether that worked, and whether anyone else did meanwhile."""
    os.environ.update(environment)
    begin.wait()
    try:
        with owning(Folder(place), f"contender {index}"):
            results.put(("in", index))
            time.sleep(seconds)
            results.put(("out", index))
    except UsageError as error:
        results.put(("refused", str(error)))
    except BaseException as error:
        results.put(("failed", repr(error)))


@pytest.mark.parametrize("dead", [False, True], ids=["new", "left by a dead one"])
@pytest.mark.parametrize("round_", range(3))
def test_one_of_many_competing_operations_owns_a_folder(place, dead, round_):
    if dead:
        leave(place, gone())
    context = multiprocessing.get_context("forkserver")  # which imports once for all processes
    context.set_forkserver_preload([__name__])
    begin, results, count = context.Event(), context.Queue(), 5
    environment = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    processes = [
        context.Process(target=contend, args=(place, environment, index, begin, results, 0.5))
        for index in range(count)
    ]
    for process in processes:
        process.start()
    begin.set()
    reports = [results.get(timeout=120)]
    while sum(what != "in" for what, _ in reports) < count:
        reports.append(results.get(timeout=120))
    for process in processes:
        process.join()
    inside = 0
    for what, which in reports:
        assert what != "failed", which
        inside += (what == "in") - (what == "out")
        assert inside <= 1, reports
    assert any(what == "in" for what, _ in reports)
    assert all("is being written by contender" in why for what, why in reports if what == "refused")
    assert not files_of_owners(place)


def test_a_refused_operation_removes_nothing_of_the_owner(place):
    folder, name = Folder(place), f".half.0123{TEMPORARY_SUFFIX}"
    with owning(folder, "the owner"):
        folder.write(name, b"some")  # as a file's is before it gets its name
        refused = pytest.raises(UsageError, match="is being written by the owner")
        with refused, owning(Folder(place), "the second"):
            pass
        assert folder.read(name, 100) == b"some"


def test_a_dangling_link_gives_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(ownership, "MAX_VANISHED", 3)
    (tmp_path / "g").mkdir()
    (tmp_path / "g" / ownership.NAME).symlink_to(tmp_path / "nothing")
    (tmp_path / "below").symlink_to(tmp_path / "nothing")
    for place in ("g", "below/h"):
        with pytest.raises(StorageError), owning(Folder(tmp_path / place), "it"):
            pass


@pytest.mark.parametrize("error", [KeyboardInterrupt, StorageError("slow")])
def test_an_owner_that_could_not_be_released_does_not_block_its_process(place, monkeypatch, error):
    def fail(*_):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(ownership, "_release", fail)
        try:
            with owning(Folder(place), "the first"):
                pass
        except KeyboardInterrupt:
            assert error is KeyboardInterrupt
    with owning(Folder(place), "the second"):
        assert "the second" in writer_of(Folder(place))


def test_threads_of_one_process_are_rivals_too(place):
    entered, failed = [], []

    def enter():
        try:
            with owning(Folder(place), "x"):
                entered.append(1)
                time.sleep(0.5)
        except UsageError as error:
            failed.append(error)

    threads = [threading.Thread(target=enter) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entered
    assert len(entered) + len(failed) == 4


def test_readers_ignore_an_owner_s_file(place):
    graph = mgraph.from_edges(mgraph.EdgeList([0, 1], [1, 2]), directed=False, backend="cpu")
    mgraph.write_graph(graph, place)
    leave(place, elsewhere())
    dataset = mgraph.open_dataset(place)
    assert (dataset.num_edges, dataset.to_arrow().count_rows(), dataset.ignored_names) == (2, 2, [])
    Folder(place).remove("_manifest.json")
    with pytest.raises(DatasetError, match=r"1 part of an unfinished dataset .* on far"):
        mgraph.open_dataset(place)


def test_write_graph_owns_its_folder(place):
    graph = mgraph.from_edges(mgraph.EdgeList([0, 1], [1, 2]), directed=False, backend="cpu")
    leave(place, elsewhere())
    for overwrite in (False, True):
        with pytest.raises(UsageError, match="on far"):
            mgraph.write_graph(graph, place, overwrite=overwrite)
    with owning(Folder(f"{place}2"), "x"), pytest.raises(UsageError, match="being written by x"):
        mgraph.write_graph(graph, f"{place}2")


def test_other_programs_ignore_an_owner_s_file(tmp_path):
    polars = pytest.importorskip("polars")
    graph = mgraph.from_edges(mgraph.EdgeList([0, 1], [1, 2]), directed=False, backend="cpu")
    mgraph.write_graph(graph, tmp_path / "g")
    leave(str(tmp_path / "g"), elsewhere())
    assert polars.read_parquet(tmp_path / "g" / "*.parquet").height == 2
    import pyarrow.dataset

    assert pyarrow.dataset.dataset(tmp_path / "g").count_rows() == 2


def test_a_late_heartbeat_does_not_restore_a_removed_claim(place, monkeypatch):
    folder = Folder(place)
    paused, goes_on = threading.Event(), threading.Event()

    def pause(function):
        def late(*arguments):
            paused.set()
            assert goes_on.wait(60)
            return function(*arguments)

        return late

    monkeypatch.setattr(ownership, "HEARTBEAT_SECONDS", 0.05)
    monkeypatch.setattr(ownership, "TRY_SECONDS", 0.01)
    # Between seeing that its file is there and giving the sign.
    with owning(folder, "the first"):
        with monkeypatch.context() as patch:
            if folder.is_remote:
                patch.setattr(Folder, "put", pause(Folder.put))
            else:
                patch.setattr(os, "utime", pause(os.utime))
            assert paused.wait(60)
        for name in files_of_owners(place):  # as one that took it for dead does
            folder.remove(name)
        goes_on.set()
        time.sleep(0.3)
        assert not files_of_owners(place)
        with pytest.raises(StorageError, match="no longer written"):
            folder.write("a", b"")
