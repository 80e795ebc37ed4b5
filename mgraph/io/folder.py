"""A folder of files, local or in an object store, whose files are written atomically."""

import contextlib
import errno
import os
import re
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
    """Return the error, in one sentence, for an operation that failed at a location.

    verb: what the operation needs permission for. endpoint: of a store.
    """
    if error.errno == errno.ENOSPC or "No space left" in str(error):
        return StorageError(
            f"the disk under {location} is full, and finished files are kept: free some space, "
            "then repeat the same call with `resume=True`",
            remedy="free some space, then repeat the same call with `resume=True`",
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        if verb == "read":
            return StorageError(f"no permission to read {location}; ask its owner for permission")
        return StorageError(f"no permission to write in {location}; choose a folder of your own")
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return StorageError(f"{location} is not a folder, or a file is on its path")
    at = f" at {endpoint}" if endpoint else ""
    return StorageError(f"{location} could not be read or written{at}: {error}")


def check_file(file: str | os.PathLike[str], overwrite: bool) -> None:
    """Raise UsageError or StorageError if a local file cannot or must not be written."""
    path = _target(file)
    if os.path.isdir(path):
        raise UsageError(f"{file} is a folder; give the name of a file to write")
    if os.path.lexists(path) and not overwrite:
        remedy = "pass `overwrite=True` to replace it"
        raise UsageError(f"{file} exists; {remedy}", parameter="overwrite", remedy=remedy)
    folder_and_name(path)[0].check_writable()


def check_apart(result: str, source: str) -> None:
    """Raise UsageError if a file of results would replace the graph that it is computed from.

    Addresses of a store are compared by their text.
    """
    result_path, source_path = (
        os.path.realpath(address.path) if address.is_local else address.text
        for address in map(parse, (result, source))
    )
    if source_path in (result_path, os.path.dirname(result_path)):
        raise UsageError(f"{result} is the graph, or in its folder; write to another place")


def folder_and_name(file: str | os.PathLike[str]) -> tuple["Folder", str]:
    """Return the folder of a file, and the file's name in it."""
    address = parse(file)
    return Folder(address.parent.text), address.name


def _target(file: str | os.PathLike[str]) -> str:
    """Return the path of a local file to write: for a link its target, so that the link stays."""
    return os.path.realpath(local_path(file))


@contextlib.contextmanager
def writing_file(file: str | os.PathLike[str]) -> Iterator[Any]:
    """Yield a stream to a local file that appears, with its folder, when the block has ended."""
    folder, name = folder_and_name(_target(file))
    folder.create()
    with folder.writing(name) as stream:
        yield stream


def copy_file(source: "Folder", target: "Folder", name: str) -> None:
    """Copy a file from one folder to another, atomically."""
    with source.open(name) as stream, target.writing(name) as sink:
        while piece := source.call(lambda: stream.read(1 << 24), 1 << 24):
            target.call(lambda content=piece: sink.write(content), len(piece))  # type: ignore[misc]


class Guard(Protocol):
    """The check before a file appears in a folder; it is sent to workers with the folder."""

    def check(self, folder: "Folder") -> None:
        """Raise StorageError if the file must not appear."""


class Folder:
    """A folder given by an address: a path, or ``s3://bucket/key``.

    For S3 the credentials, region and endpoint come from the usual AWS variables
    (``AWS_ACCESS_KEY_ID``, ``AWS_DEFAULT_REGION``, ``AWS_ENDPOINT_URL``) or the AWS configuration
    file. Cheap to send to workers. guard: called before a file that was written appears.
    """

    def __init__(self, location: str | os.PathLike[str], guard: Guard | None = None) -> None:
        """Parse the address, without any access; raise UsageError if it is wrong."""
        self.address: Address = parse(location)
        self.guard = guard
        self._filesystem: Any = None

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the address and the guard only."""
        return Folder, (self.location, self.guard)

    def __str__(self) -> str:
        """Return the path or URI, for messages."""
        return without_secrets(self.location)

    @property
    def location(self) -> str:
        """The path or URI, which ``Folder`` accepts."""
        return self.address.text

    @property
    def is_remote(self) -> bool:
        """Whether the folder is in an object store."""
        return not self.address.is_local

    def same_as(self, other: "Folder") -> bool:
        """Return whether both are one folder, despite links, spellings or options of a store."""
        return self._canonical_path() == other._canonical_path()

    def _canonical_path(self) -> tuple[bool, str]:
        """Return whether the folder is remote, and the path that is the same for all its names."""
        path = self.address.path
        return self.is_remote, path if self.is_remote else os.path.realpath(path)

    @contextlib.contextmanager
    def _explaining(self, name: str = "", verb: str = "write in") -> Iterator[None]:
        """Turn an OSError of the block into a StorageError."""
        try:
            yield
        except StorageError:
            raise
        except OSError as error:
            endpoint = store.endpoint_of(self.address) if self.is_remote else None
            location = f"{self}/{name}" if name else self.location
            raise explain(error, location, verb, endpoint) from error

    def call(self, function: Callable[[], R], size: int = 0) -> R:
        """Call a function that reads or writes here; a store must answer within the time limit.

        size: the bytes that the function reads or writes.
        """
        return store.call(function, self.address, size) if self.is_remote else function()

    def call_each(self, function: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Return ``function(item)`` for each item, called concurrently."""
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
                        f"{self.location} is not an address that can be opened: {error}"
                    ) from None
            else:
                from pyarrow import fs

                self._filesystem = fs.LocalFileSystem()
        return self._filesystem

    def path(self, name: str) -> str:
        """Return the path of a file of this folder, or of a folder in it, in ``filesystem``.

        Raises DatasetError for a name that may lead out of the folder.
        """
        if "\0" in name or any(part in ("", ".", "..") for part in name.split("/")):
            raise DatasetError(f"{name!r:.60} is not the name of a file in {self}")
        return str(PurePosixPath(self.address.path) / name)

    def is_file(self) -> bool:
        """Return whether the address is that of a file instead of a folder."""
        from pyarrow import fs

        filesystem = self.filesystem
        with self._explaining(verb="read"):
            info = self.call(lambda: filesystem.get_file_info(self.address.path))
        return bool(info.type == fs.FileType.File)

    def entries(self, below: str | None = None) -> dict[str, bool] | None:
        """Return the names in the folder, each with whether it is a folder itself.

        None if the folder does not exist. below: the name of a subfolder to list instead, with all
        levels below it, by relative paths.
        """
        from pyarrow import fs

        filesystem, root = self.filesystem, self.address.path
        if below is not None:
            root = self.path(below)

        start = len(root.rstrip("/")) + 1

        def list_entries() -> dict[str, bool] | None:
            info = filesystem.get_file_info(root)
            if info.type == fs.FileType.File:
                raise StorageError(f"{self} must be a folder, and is a file")
            if info.type == fs.FileType.NotFound:
                return None
            selector = fs.FileSelector(root, recursive=below is not None)
            infos = filesystem.get_file_info(selector)
            return {entry.path[start:]: entry.type == fs.FileType.Directory for entry in infos}

        try:
            with self._explaining(verb="read"):
                entries = self.call(list_entries)
        except UnicodeDecodeError as error:
            name = error.object[start:].decode(errors="backslashreplace")
            raise StorageError(
                f"{self} holds a file whose name is not UTF-8, {name!r}: rename it, or move it out"
            ) from None
        return None if entries is None else dict(sorted(entries.items()))

    def files_below(self) -> list[str] | None:
        """Return the sorted relative names of the files in the folder and below it.

        None if the folder does not exist. Names that begin with ``.`` or ``_`` are left out, with
        all that is below them.
        """
        from pyarrow import fs

        filesystem, root = self.filesystem, self.address.path
        start = len(root.rstrip("/")) + 1

        def list_files() -> list[str] | None:
            if filesystem.get_file_info(root).type == fs.FileType.NotFound:
                return None
            infos = filesystem.get_file_info(fs.FileSelector(root, recursive=True))
            return [entry.path[start:] for entry in infos if entry.type == fs.FileType.File]

        with self._explaining(verb="read"):
            names = self.call(list_files)
        if names is None:
            return None
        hidden = re.compile(r"(^|/)([._]|lost\+found/)")
        return sorted(name for name in names if not hidden.search(name))

    def names(self) -> list[str] | None:
        """Return the sorted names in the folder; None if the folder does not exist."""
        entries = self.entries()
        return None if entries is None else list(entries)

    def check_writable(self) -> None:
        """Raise StorageError if ``create`` or a write would fail, as far as can be checked."""
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
        """Create the folder and its parents, and check that it is writable."""
        with self._explaining():
            if not self.is_remote:
                os.makedirs(self.location, exist_ok=True)
            # Buckets are not created here, and a folder in a bucket need not be created.
            probe = f".{uuid.uuid4().hex}{TEMPORARY_SUFFIX}"
            self.write(probe, b"")
            self.remove(probe)

    def read(self, name: str, size: int | None = None) -> bytes:
        """Read a file, all of it or the first ``size`` bytes."""

        def read_bytes() -> bytes:
            with self._open(name) as stream:
                return bytes(stream.read(size))

        with self._explaining(name, "read"):
            return self.call(read_bytes)

    def open(self, name: str) -> Any:
        """Open a PyArrow file for random access; its methods block, so call them by ``call``."""
        return self.call(lambda: self._open(name))

    def _open(self, name: str) -> Any:
        """Open a regular file, or a link to one; raise OSError otherwise.

        Reading a pipe, for example, would never end.
        """
        path = self.path(name)
        if not self.is_remote and not stat.S_ISREG(os.stat(path).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        return self.filesystem.open_input_file(path)

    def size(self, name: str) -> int:
        """Return a file's size in bytes."""
        return self.stamp(name)[0]

    def stamp(self, name: str) -> tuple[int, int]:
        """Return a file's size in bytes and its modification time in nanoseconds."""
        filesystem, path = self.filesystem, self.path(name)
        with self._explaining(name, "read"):
            info = self.call(lambda: filesystem.get_file_info(path))
        return int(info.size or 0), int(info.mtime_ns or 0)

    @contextlib.contextmanager
    def writing(self, name: str) -> Iterator[Any]:
        """Yield a stream to a temporary file that is renamed to ``name`` when the block succeeds.

        Readers never see an incomplete file, and a block that raises leaves nothing behind. (A
        machine that loses power may lose the content of its disk cache; checksums detect that.)
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
        """Return whether a file of this name exists."""
        from pyarrow import fs

        filesystem, path = self.filesystem, self.path(name)
        with self._explaining(name, "read"):
            info = self.call(lambda: filesystem.get_file_info(path))
        return bool(info.type == fs.FileType.File)

    def put(self, name: str, content: bytes) -> None:
        """Write a small object of a store in one request, which is atomic."""
        filesystem, path = self.filesystem, self.path(name)

        def write_all() -> None:
            with filesystem.open_output_stream(path) as stream:
                stream.write(content)

        with self._explaining():
            self.call(write_all)

    def write(self, name: str, content: bytes) -> None:
        """Write a small file atomically."""
        with self.writing(name) as stream:
            self.call(lambda: stream.write(content), len(content))

    def remove(self, *names: str) -> None:
        """Remove the files that exist, concurrently, since large ones take a while."""
        filesystem = self.filesystem

        def remove_one(name: str) -> None:
            path = self.path(name)
            with self._explaining(name), contextlib.suppress(FileNotFoundError):
                filesystem.delete_file(path)

        if names:
            self.call_each(remove_one, names)

    def remove_temporaries(self) -> None:
        """Remove the temporary files of killed writers."""
        hidden = [name for name in self.names() or [] if name.startswith(".")]
        self.remove(*(name for name in hidden if name.endswith(TEMPORARY_SUFFIX)))
