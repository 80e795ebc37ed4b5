"""Files are written atomically, and failures give one sentence."""

import errno
import os
import pickle

import pytest

from mgraph import StorageError, UsageError
from mgraph.io.address import parse
from mgraph.io.folder import Folder, check_file, explain, writing_file


def test_a_written_file_is_complete_and_the_temporary_file_is_gone(tmp_path):
    folder = Folder(tmp_path / "new" / "deep")
    assert folder.names() is None
    folder.create()
    folder.write("a", b"123")
    assert folder.names() == ["a"]
    assert folder.read("a") == b"123"
    assert folder.size("a") == 3


def test_a_failed_write_keeps_the_old_file(tmp_path):
    folder = Folder(tmp_path)
    folder.write("a", b"old")

    def half():
        with folder.writing("a") as stream:
            stream.write(b"half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert folder.names() == ["a"]
    assert folder.read("a") == b"old"


def test_temporary_files_of_killed_writers_are_removed(tmp_path):
    folder = Folder(tmp_path)
    (tmp_path / ".part-00000.parquet.123.tmp").write_bytes(b"half")
    (tmp_path / "mine.tmp").write_bytes(b"not ours")
    folder.remove_temporaries()
    assert folder.names() == ["mine.tmp"]


def test_a_folder_is_pickled_for_workers(tmp_path):
    assert pickle.loads(pickle.dumps(Folder(tmp_path))).location == str(tmp_path)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENOSPC, "is full"),
        (errno.EACCES, "no permission"),
        (errno.EROFS, "no permission"),
        (errno.ENOTDIR, "is not a folder"),
        (errno.EIO, "could not be read or written"),
    ],
)
def test_errors_are_sentences(number, words):
    error = explain(OSError(number, os.strerror(number)), "/data")
    assert isinstance(error, StorageError)
    assert words in str(error)
    assert "/data" in str(error)


def test_a_file_on_the_path_is_named_before_work_starts(tmp_path):
    (tmp_path / "file").write_text("")
    for bad in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(StorageError, match="not a folder"):
            Folder(bad).check_writable()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_an_unwritable_folder_is_named_before_work_starts(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(StorageError, match="no permission"):
        Folder(tmp_path / "new").check_writable()


@pytest.mark.parametrize("address", ["", "ftp://host/x"])
def test_invalid_addresses(address):
    with pytest.raises(UsageError):
        Folder(address).check_writable()


def test_the_parent_of_a_link_is_its_target_s_parent(tmp_path, monkeypatch):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "link").symlink_to("a/b")
    (tmp_path / "a" / "file").write_text("here")
    monkeypatch.chdir(tmp_path)
    for text in ("link/../file", "./link/../../a/file", f"{tmp_path}/link/../file", "a/../a/file"):
        assert parse(text).text == str(tmp_path / "a" / "file")
    assert parse("link/..").text == str(tmp_path / "a")
    assert parse("link/x..y/..z").text == str(tmp_path / "link" / "x..y" / "..z")
    assert parse("../..").text == str(tmp_path.parent.parent)


def test_a_file_is_written_to_the_target_of_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    for before in (True, False):
        target, link = tmp_path / "real" / f"g{before}.mtx", tmp_path / f"link{before}.mtx"
        link.symlink_to(target)
        if before:
            target.write_text("old")
            with pytest.raises(UsageError, match="pass `overwrite=True` to replace it"):
                check_file(link, overwrite=False)
        check_file(link, overwrite=before)
        with writing_file(link) as stream:
            stream.write(b"new")
        assert link.is_symlink()
        assert target.read_text() == "new"
