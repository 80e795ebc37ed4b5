"""A folder of files, local or in an object store, whose files appear whole or not at all."""

import contextlib
import errno
import os
import stat
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath
from typing import Any, Protocol, TypeVar

from mgraph.errors import DatasetError, StorageError, UsageError, without_secrets
from mgraph.io import store
from mgraph.io.address import Address, local_path, parse

TEMPORARY_SUFFIX = ".tmp"

T = TypeVar("T")
R = TypeVar("R")


def explain(
    error: OSError, location: str, verb: str = "write in", endpoint: str | None = None
) -> StorageError:
    """One sentence for what the operating system or the store refused.

    verb: what needs the permission. endpoint: of a store.
    """
    if error.errno == errno.ENOSPC or "No space left" in str(error):
        return StorageError(
            f"the disk under {location} is full; what is finished is kept: free some space, "
            "then repeat the same call with `resume=True`",
            remedy="free some space, then repeat the same call with `resume=True`",
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        if verb == "read":
            return StorageError(f"no permission to read {location}; ask its owner for it")
        return StorageError(f"no permission to write in {location}; choose a folder of your own")
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return StorageError(f"{location} is not a folder, and something on its path is a file")
    at = f" at {endpoint}" if endpoint else ""
    return StorageError(f"{location} could not be read or written{at}: {error}")


def check_file(file: str | os.PathLike[str], overwrite: bool) -> None:
    """Raise UsageError or StorageError where a local file cannot or must not be written."""
    path = _target(file)
    if os.path.isdir(path):
        raise UsageError(f"{file} is a folder; give the name of a file to write")
    if os.path.lexists(path) and not overwrite:
        remedy = "pass `overwrite=True` to replace it"
        raise UsageError(f"{file} exists; {remedy}", parameter="overwrite", remedy=remedy)
    folder_and_name(path)[0].check_writable()


def check_apart(result: str, source: str) -> None:
    """Raise UsageError where a file of results would replace what it is made of, or a part of it.

    Addresses of a store are compared by their text.
    """
    found, made_of = (
        os.path.realpath(address.path) if address.is_local else address.text
        for address in map(parse, (result, source))
    )
    if found == made_of or os.path.dirname(found) == made_of:
        raise UsageError(f"{result} is the graph, or in its folder; write to another place")


def folder_and_name(file: str | os.PathLike[str]) -> tuple["Folder", str]:
    """The folder that a file is in, and its name there."""
    address = parse(file)
    return Folder(address.parent.text), address.name


def _target(file: str | os.PathLike[str]) -> str:
    """The path of a local file to write: of a link, what it leads to, so that the link stays."""
    return os.path.realpath(local_path(file))


@contextlib.contextmanager
def writing_file(file: str | os.PathLike[str]) -> Iterator[Any]:
    """A stream to a local file that appears, its folder with it, when all is written."""
    folder, name = folder_and_name(_target(file))
    folder.create()
    with folder.writing(name) as stream:
        yield stream


class Guard(Protocol):
    """What decides whether a file may appear in a folder; travels to workers with the folder."""

    def check(self, folder: "Folder") -> None:
        """Raise StorageError where it may not."""


class Folder:
    """A folder given by an address: a path, or ``s3://bucket/key``.

    For S3 the credentials, region and endpoint come from the usual AWS variables
    (``AWS_ACCESS_KEY_ID``, ``AWS_DEFAULT_REGION``, ``AWS_ENDPOINT_URL``) or the AWS configuration
    file. Cheap to send to workers. guard: asked before a file that was written appears.
    """

    def __init__(self, location: str | os.PathLike[str], guard: Guard | None = None) -> None:
        """Parse the address; nothing is touched. Raises UsageError."""
        self.address: Address = parse(location)
        self.guard = guard
        self._filesystem: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the address and the guard alone."""
        return Folder, (self.location, self.guard)

    def __str__(self) -> str:
        """The path or URI, for messages."""
        return without_secrets(self.location)

    @property
    def location(self) -> str:
        """The path or URI, which ``Folder`` takes again."""
        return self.address.text

    @property
    def is_remote(self) -> bool:
        """Whether it is in an object store."""
        return not self.address.is_local

    def same_as(self, other: "Folder") -> bool:
        """Whether both are one folder, by links, spellings or options of a store."""
        return self._place() == other._place()

    def _place(self) -> tuple[bool, str]:
        """Whether it is remote, and the one path that all names of this folder lead to."""
        path = self.address.path
        return self.is_remote, path if self.is_remote else os.path.realpath(path)

    @contextlib.contextmanager
    def _explaining(self, name: str = "", verb: str = "write in") -> Iterator[None]:
        """Turn an OSError of the block into a sentence, once."""
        try:
            yield
        except StorageError:
            raise
        except OSError as error:
            endpoint = store.endpoint_of(self.address) if self.is_remote else None
            where = f"{self}/{name}" if name else self.location
            raise explain(error, where, verb, endpoint) from error

    def call(self, function: Callable[[], R], size: int = 0) -> R:
        """What a function that reads or writes here returns; a store has to answer in time.

        size: bytes that it reads or writes.
        """
        return store.call(function, self.address, size) if self.is_remote else function()

    def call_each(self, function: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """``function(item)`` of each item, several at a time, in the order of the items."""
        if self.is_remote:
            return store.call_each(function, items, self.address)
        with ThreadPoolExecutor(store.CONCURRENCY) as pool:
            return list(pool.map(function, items))

    @property
    def filesystem(self) -> Any:
        """PyArrow's file system."""
        if self._filesystem is None:
            if self.is_remote:
                try:
                    with self._explaining():
                        self._filesystem = self.call(lambda: store.open_store(self.address))
                except (ValueError, TypeError) as error:
                    if isinstance(error, UsageError):
                        raise
                    raise UsageError(
                        f"{self.location} is no address that can be opened: {error}"
                    ) from None
            else:
                from pyarrow import fs

                self._filesystem = fs.LocalFileSystem()
        return self._filesystem

    def path(self, name: str) -> str:
        """The path of a file of this folder in ``filesystem``.

        Raises DatasetError for what is no name of a file, and may lead out of the folder.
        """
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise DatasetError(f"{name!r:.60} is no name of a file in {self}")
        return str(PurePosixPath(self.address.path) / name)

    def is_file(self) -> bool:
        """Whether a file is at the address, where a folder may be."""
        from pyarrow import fs

        filesystem = self.filesystem
        with self._explaining(verb="read"):
            info = self.call(lambda: filesystem.get_file_info(self.address.path))
        return bool(info.type == fs.FileType.File)

    def entries(self, below: str | None = None) -> dict[str, bool] | None:
        """What stands directly in the folder, by name: whether it is a folder itself.

        None where there is no folder. below: the name of a folder in it to list instead, with all
        below that, by paths.
        """
        from pyarrow import fs

        filesystem, root = self.filesystem, self.address.path
        if below is not None:
            root = self.path(below)

        start = len(root.rstrip("/")) + 1

        def list_entries() -> dict[str, bool] | None:
            info = filesystem.get_file_info(root)
            if info.type == fs.FileType.File:
                raise StorageError(f"{self} is a file, and should be a folder")
            if info.type == fs.FileType.NotFound:
                return None
            selector = fs.FileSelector(root, recursive=below is not None)
            found = filesystem.get_file_info(selector)
            return {entry.path[start:]: entry.type == fs.FileType.Directory for entry in found}

        try:
            with self._explaining(verb="read"):
                found = self.call(list_entries)
        except UnicodeDecodeError as error:
            name = error.object[start:].decode(errors="backslashreplace")
            raise StorageError(
                f"{self} holds a file whose name is not UTF-8, {name!r}: rename it, or move it out"
            ) from None
        return None if found is None else dict(sorted(found.items()))

    def names(self) -> list[str] | None:
        """The names of what stands directly in the folder, sorted; None where there is none."""
        found = self.entries()
        return None if found is None else list(found)

    def check_writable(self) -> None:
        """Raise StorageError where ``create`` or a write will fail, as far as can be told now."""
        if self.is_remote:
            _ = self.filesystem
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
        with self._explaining():
            if not self.is_remote:
                os.makedirs(self.location, exist_ok=True)
            # A bucket is not ours to make, and a folder in it needs no making.
            probe = f".{uuid.uuid4().hex}{TEMPORARY_SUFFIX}"
            self.write(probe, b"")
            self.remove(probe)

    def read(self, name: str, size: int | None = None) -> bytes:
        """A file's bytes, all or the first ``size``."""

        def read_bytes() -> bytes:
            with self._open(name) as stream:
                return bytes(stream.read(size))

        with self._explaining(name, "read"):
            return self.call(read_bytes)

    def open(self, name: str) -> Any:
        """A PyArrow file for random access; its calls block, so make them by ``call``."""
        return self.call(lambda: self._open(name))

    def _open(self, name: str) -> Any:
        """Raises OSError for what is there and no file: a pipe would be read for ever.

        A link counts as what it leads to.
        """
        path = self.path(name)
        if not self.is_remote and not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "it is no regular file", path)
        return self.filesystem.open_input_file(path)

    def size(self, name: str) -> int:
        """A file's size in bytes."""
        return self.stamp(name)[0]

    def stamp(self, name: str) -> tuple[int, int]:
        """A file's size in bytes, and when it was last written, in nanoseconds."""
        filesystem, path = self.filesystem, self.path(name)
        with self._explaining(name, "read"):
            info = self.call(lambda: filesystem.get_file_info(path))
        return int(info.size or 0), int(info.mtime_ns or 0)

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """A stream to a temporary name that becomes ``name`` when the block ends well.

        Readers never see a part of a file; a block that raises leaves nothing behind. (A machine
        that loses power may lose what its disk cache held: checksums tell.)
        """
        temporary = f".{name}.{uuid.uuid4().hex}{TEMPORARY_SUFFIX}"
        filesystem, source, target = self.filesystem, self.path(temporary), self.path(name)
        with self._explaining():
            stream = self.call(lambda: filesystem.open_output_stream(source))
            try:
                yield stream
                size = stream.tell()
                self.call(stream.close, size)
                if self.guard is not None:
                    self.guard.check(self)
                self.call(lambda: filesystem.move(source, target), size)
            except BaseException:

                def discard() -> None:
                    for step in (stream.close, lambda: filesystem.delete_file(source)):
                        with contextlib.suppress(OSError, ValueError):
                            step()

                with store.cleaning_up(), contextlib.suppress(StorageError):
                    self.call(discard)
                raise

    def exists(self, name: str) -> bool:
        """Whether a file of this name is there."""
        from pyarrow import fs

        filesystem, path = self.filesystem, self.path(name)
        with self._explaining(name, "read"):
            info = self.call(lambda: filesystem.get_file_info(path))
        return bool(info.type == fs.FileType.File)

    def put(self, name: str, content: bytes) -> None:
        """Write a small object of a store, whose objects appear whole, in one request."""
        filesystem, path = self.filesystem, self.path(name)

        def write_all() -> None:
            with filesystem.open_output_stream(path) as stream:
                stream.write(content)

        with self._explaining():
            self.call(write_all)

    def write(self, name: str, content: bytes) -> None:
        """Write a small file, whole."""
        with self.writing(name) as stream:
            self.call(lambda: stream.write(content), len(content))

    def remove(self, *names: str) -> None:
        """Remove files, those that are there, several at a time: large ones take a while."""
        filesystem = self.filesystem

        def remove_one(name: str) -> None:
            path = self.path(name)
            with self._explaining(name), contextlib.suppress(FileNotFoundError):
                filesystem.delete_file(path)

        if names:
            self.call_each(remove_one, names)

    def remove_temporaries(self) -> None:
        """Remove what killed writers left."""
        hidden = [name for name in self.names() or [] if name.startswith(".")]
        self.remove(*(name for name in hidden if name.endswith(TEMPORARY_SUFFIX)))
