"""A folder of files, local or in an object store, whose files appear whole or not at all."""

import contextlib
import errno
import os
import stat
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath
from typing import Any

from mgraph.errors import DatasetError, StorageError, UsageError

TEMPORARY_SUFFIX = ".tmp"
AT_ONCE = 16  # requests to a store


def explain(error: OSError, location: str) -> StorageError:
    """One sentence for what the operating system or the store refused."""
    if error.errno == errno.ENOSPC or "No space left" in str(error):
        return StorageError(
            f"the disk under {location} is full; what is finished is kept: free some space, "
            "then run the same command with --resume"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StorageError(f"no permission to write in {location}; choose a folder of your own")
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return StorageError(f"{location} is not a folder, and something on its path is a file")
    return StorageError(f"{location} could not be read or written: {error}")


@contextlib.contextmanager
def _explaining(location: str) -> Iterator[None]:
    """Turn an OSError of the block into a sentence, once."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise explain(error, location) from error


def check_file(file: str | os.PathLike[str], overwrite: bool) -> None:
    """Raise UsageError or StorageError where a local file cannot or must not be written."""
    if "://" in os.fspath(file):
        raise UsageError(f"{file} must be a file on this machine")
    if os.path.isdir(file):
        raise UsageError(f"{file} is a folder; give the name of a file to write")
    if os.path.lexists(file) and not overwrite:
        raise UsageError(f"{file} exists; --overwrite replaces it")
    folder_and_name(file)[0].check_writable()


def check_apart(result: str, source: str) -> None:
    """Raise UsageError where a file of results would replace what it is made of, or a part of it.

    Local names; of others nothing is known.
    """
    found, made_of = os.path.realpath(result), os.path.realpath(source)
    if found == made_of or os.path.dirname(found) == made_of:
        raise UsageError(f"{result} is the graph, or in its folder; write to another place")


def folder_and_name(file: str | os.PathLike[str]) -> tuple["Folder", str]:
    """The folder that a local file is in, and its name there."""
    parent, name = os.path.split(os.path.abspath(file))
    return Folder(parent), name


@contextlib.contextmanager
def writing_file(file: str | os.PathLike[str]) -> Iterator[Any]:
    """A stream to a local file that appears, its folder with it, when all is written."""
    folder, name = folder_and_name(file)
    folder.create()
    with folder.writing(name) as stream:
        yield stream


class Folder:
    """A folder given by a path or by a URI that PyArrow knows (``s3://bucket/key``).

    For S3 the credentials, region and endpoint come from the usual AWS variables
    (``AWS_ACCESS_KEY_ID``, ``AWS_DEFAULT_REGION``, ``AWS_ENDPOINT_URL``). Cheap to send to workers.
    """

    def __init__(self, location: str | os.PathLike[str]) -> None:
        """Take a path or URI; nothing is touched."""
        text = os.fspath(location)
        self.remote = "://" in text and not text.startswith("file://")
        if text.startswith("file://"):
            text = text.removeprefix("file://")
        if not text:
            raise UsageError("the folder's name is empty; give a path or an s3:// address")
        self.location = text.rstrip("/") if self.remote else os.path.abspath(text)
        self._opened: tuple[Any, str] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the location alone."""
        return Folder, (self.location,)

    def __str__(self) -> str:
        """The path or URI."""
        return self.location

    def same_as(self, other: "Folder") -> bool:
        """Whether both are one folder, by links, spellings or options of a store."""
        return self._place() == other._place()

    def _place(self) -> tuple[str, str]:
        """The kind of file system, and the one path in it that all names of this folder lead to."""
        if self.remote:
            filesystem, path = self._open()
            return filesystem.type_name, str(PurePosixPath(path))
        return "local", os.path.realpath(self.location)

    @property
    def filesystem(self) -> Any:
        """PyArrow's file system."""
        return self._open()[0]

    def _open(self) -> tuple[Any, str]:
        """PyArrow's file system and the folder's path in it."""
        if self._opened is None:
            from pyarrow import fs

            try:
                with _explaining(self.location):
                    if self.remote:
                        self._opened = fs.FileSystem.from_uri(self.location)
                    else:
                        self._opened = fs.LocalFileSystem(), self.location
            except ValueError as error:
                raise UsageError(
                    f"{self.location} is no address that can be opened: {error}"
                ) from None
        return self._opened

    def path(self, name: str) -> str:
        """The path of a file of this folder in ``filesystem``.

        Raises DatasetError for what is no name of a file, and may lead out of the folder.
        """
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise DatasetError(f"{name!r:.60} is no name of a file in {self}")
        return str(PurePosixPath(self._open()[1]) / name)

    def names(self) -> list[str] | None:
        """The names of what stands directly in the folder, sorted; None where there is none."""
        from pyarrow import fs

        filesystem, root = self._open()
        with _explaining(self.location):
            info = filesystem.get_file_info(root)
            if info.type == fs.FileType.File:
                raise StorageError(f"{self} is a file, and should be a folder")
            if info.type == fs.FileType.NotFound:
                return None
            found = filesystem.get_file_info(fs.FileSelector(root))
        return sorted(entry.base_name for entry in found)

    def check_writable(self) -> None:
        """Raise StorageError where ``create`` or a write will fail, as far as can be told now."""
        if self.remote:
            self._open()
            return
        existing = self.location
        while not os.path.lexists(existing):
            existing = os.path.dirname(existing)
        if not os.path.isdir(existing):
            raise explain(NotADirectoryError(errno.ENOTDIR, "a file"), self.location)
        if not os.access(existing, os.W_OK | os.X_OK):
            raise explain(PermissionError(errno.EACCES, "not writable"), self.location)

    def create(self) -> None:
        """Make the folder and those above it, and see that it can be written to."""
        with _explaining(self.location):
            if not self.remote:
                os.makedirs(self.location, exist_ok=True)
            # A bucket is not ours to make, and a folder in it needs no making.
            probe = f".{uuid.uuid4().hex}{TEMPORARY_SUFFIX}"
            self.write(probe, b"")
            self.remove(probe)

    def read(self, name: str) -> bytes:
        """A whole file's bytes."""
        with _explaining(f"{self}/{name}"):
            self._check_regular(name)
            with self.filesystem.open_input_stream(self.path(name)) as stream:
                return bytes(stream.read())

    def open(self, name: str) -> Any:
        """A PyArrow file for random access."""
        self._check_regular(name)
        return self.filesystem.open_input_file(self.path(name))

    def _check_regular(self, name: str) -> None:
        """Raise OSError for what is there and no file: a pipe or a device would be read for ever.

        A link counts as what it leads to.
        """
        path = self.path(name)
        if not self.remote and not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", path)

    def size(self, name: str) -> int:
        """A file's size in bytes."""
        return self.stamp(name)[0]

    def stamp(self, name: str) -> tuple[int, int]:
        """A file's size in bytes, and when it was last written, in nanoseconds."""
        with _explaining(f"{self}/{name}"):
            info = self.filesystem.get_file_info(self.path(name))
        return int(info.size), int(info.mtime_ns or 0)

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """A stream to a temporary name that becomes ``name`` when the block ends well.

        Readers never see a part of a file; a block that raises leaves nothing behind. (A machine
        that loses power may lose what its disk cache held: checksums tell.)
        """
        temporary = f".{name}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}"
        with _explaining(self.location):
            stream = self.filesystem.open_output_stream(self.path(temporary))
            try:
                yield stream
                stream.close()
                self.filesystem.move(self.path(temporary), self.path(name))
            except BaseException:
                with contextlib.suppress(OSError):
                    stream.close()
                self.remove(temporary)
                raise

    def write(self, name: str, content: bytes) -> None:
        """Write a small file, whole."""
        with self.writing(name) as stream:
            stream.write(content)

    def remove(self, *names: str) -> None:
        """Remove files, those that are there, several at a time: large ones take a while."""

        def remove_one(name: str) -> None:
            with _explaining(f"{self}/{name}"), contextlib.suppress(FileNotFoundError):
                self.filesystem.delete_file(self.path(name))

        with ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(remove_one, names))

    def remove_temporaries(self) -> None:
        """Remove what killed writers left."""
        hidden = [name for name in self.names() or [] if name.startswith(".")]
        self.remove(*(name for name in hidden if name.endswith(TEMPORARY_SUFFIX)))
