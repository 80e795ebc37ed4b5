"""The folder of a submitted workflow: its record, its events and its output.

``run.json`` holds the record, replaced atomically; ``events.jsonl`` one line per event, appended;
``output.log`` the output of the workflow; ``files`` the script and the files shipped with it;
``cancel`` exists once cancellation was requested. The folder outlives driver, workers and
scheduler, and only the user may read it.
"""

import contextlib
import dataclasses
import datetime
import errno
import fcntl
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from msgspec import Meta

from mgraph.errors import StorageError, UsageError
from mgraph.io import untrusted
from mgraph.io.record_fields import check_version, read_record, record_json
from mgraph.io.whole_file import write_atomically

RECORD, EVENTS, OUTPUT, FILES, CANCEL, ALIVE = (
    "run.json", "events.jsonl", "output.log", "files", "cancel", "alive",
)  # fmt: skip
VERSION = 1
EndState = Literal["finished", "failed", "cancelled", "lost"]
State = Literal["submitted", "running", EndState]
ENDED, STATES = get_args(EndState), get_args(State)
_CREATION_SECONDS = 60.0  # after which a new folder has its record, which is written last
_DISK_FULL = (errno.ENOSPC, errno.EDQUOT)
_ID_PATTERN = r"\d{8}-\d{6}-[0-9a-f]{4}"
_ID = re.compile(_ID_PATTERN)


@dataclass(frozen=True)
class RunRecord:
    """The record of a run. Times are ISO 8601, UTC.

    by: user and host. scheduler_id: identifies the scheduler among those at its address over time.
    state: submitted, running, finished (the script's status was 0), failed, cancelled, or lost (the
    driver is gone and is not started again). attempt: how often the driver has started. host, pid:
    the driver's. status: the script's exit status. error: a sentence, or None. folder: a random
    name, which distinguishes this folder from one of the same run on another disk. unknown: fields
    of a newer mgraph.
    """

    id: Annotated[str, Meta(pattern=rf"\A{_ID_PATTERN}\Z")]
    script: str
    arguments: list[str]
    submitted: str
    by: str
    cwd: str
    scheduler: str
    scheduler_id: str
    mgraph: str
    state: State = "submitted"
    attempt: int = 0
    host: str | None = None
    pid: int | None = None
    began: str | None = None
    ended: str | None = None
    status: int | None = None
    error: str | None = None
    folder: str = ""
    unknown: dict[str, Any] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    @property
    def over(self) -> bool:
        """Whether the run has ended, in whatever state."""
        return self.state in ENDED

    @property
    def seconds(self) -> float:
        """The seconds from its first start to its end, or to now."""
        if self.began is None:
            return 0.0
        end = datetime.datetime.fromisoformat(self.ended or now())
        return (end - datetime.datetime.fromisoformat(self.began)).total_seconds()

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``run.json``."""
        return {"version": VERSION} | record_json(self)

    @classmethod
    def from_json(cls, content: Any, where: str) -> "RunRecord":
        """Parse the content of a ``run.json``, or raise StorageError. where: its path."""
        try:
            return _read_record(content)
        except ValueError as error:
            raise StorageError(f"{where} is not the record of a run: {error}") from None


def _read_record(content: Any) -> RunRecord:
    """Return the record in the content of a ``run.json``, or raise ValueError."""
    if isinstance(content, dict):
        check_version(content.get("version", VERSION), VERSION)
    record = read_record(content, RunRecord, VERSION, printable=False)
    if not all(map(_is_time, (record.submitted, record.began, record.ended))):
        raise ValueError("a time is not in ISO 8601 with a time zone")
    return record


def _is_time(text: str | None) -> bool:
    """Return whether this is a time with its zone, or None."""
    try:
        return text is None or datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def now() -> str:
    """Return the time as records contain it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def new_id() -> str:
    """Return the ID of a new run: the time, and a random suffix."""
    return f"{datetime.datetime.now(datetime.UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


class RunFolder:
    """One run's folder, on a file system of this machine."""

    def __init__(self, runs: str | os.PathLike[str], run_id: str) -> None:
        """Name the folder, without any access; raise UsageError if ``run_id`` is not an ID."""
        if not _ID.fullmatch(run_id):
            raise UsageError(
                f"{run_id!r} is not a run's ID, such as 20260131-235959-0a1b; mgraph list shows "
                "the IDs"
            )
        self.id = run_id
        self.path = Path(runs).expanduser() / run_id

    def __str__(self) -> str:
        """Return the path."""
        return str(self.path)

    def is_called(self, name: str) -> bool:
        """Return whether the ID begins with ``name``, or ends with it after the last hyphen."""
        return self.id.startswith(name) or self.id.rpartition("-")[2] == name

    @property
    def exists(self) -> bool:
        """Whether the record exists."""
        return os.path.exists(self.path / RECORD)

    def create(self, record: RunRecord, files: dict[str, bytes]) -> RunRecord:
        """Create the folder with the script and its companions; the record is written last."""
        record = dataclasses.replace(record, folder=secrets.token_hex(4))
        with self._explaining():
            (self.path / FILES).mkdir(parents=True, exist_ok=True, mode=0o700)
            try:
                self.path.chmod(0o700)
                for name, content in files.items():
                    file = self.path / FILES / name
                    file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                    file.write_bytes(content)
                self._write(record)
            except OSError:
                shutil.rmtree(self.path, ignore_errors=True)
                raise
        return record

    def record(self) -> RunRecord:
        """Read the record; raise StorageError if it is missing or damaged."""
        with self._explaining():
            text = (self.path / RECORD).read_bytes()
        try:
            content = untrusted.parse_json(text)
        except ValueError:
            content = None
        return RunRecord.from_json(content, str(self.path / RECORD))

    def update(self, attempt: int | None = None, **changes: Any) -> RunRecord | None:
        """Change the record; return None if the run has ended or another attempt has begun."""
        with self.locked():
            record = self.record()
            if record.over or (attempt is not None and record.attempt != attempt):
                return None
            record = dataclasses.replace(record, **changes)
            self._write(record)
            return record

    def begin_attempt(self, earlier: int = 0, **changes: Any) -> RunRecord | None:
        """Record one more attempt, the caller's; return None if the run has ended.

        earlier: the number of attempts so far, as counted outside this folder.
        """
        with self.locked():
            record = self.record()
            if record.over:
                return None
            changes |= {"attempt": max(record.attempt, earlier) + 1, "began": record.began or now()}
            record = dataclasses.replace(record, state="running", **changes)
            self._write(record)
            self.touch(ALIVE)
            return record

    def tell(self, event: str, **more: Any) -> None:
        """Append an event."""
        line = json.dumps({"at": now(), "event": event} | more) + "\n"
        with self._explaining(), open(self.path / EVENTS, "a", encoding="utf-8") as stream:
            stream.write(line)

    def events(self) -> list[dict[str, Any]]:
        """Return all events, in order, without incomplete lines."""
        with contextlib.suppress(FileNotFoundError):
            lines = (self.path / EVENTS).read_text("utf-8", "replace").splitlines()
            return [event for line in lines if isinstance(event := _parse_line(line), dict)]
        return []

    def output(self, start: int = 0, most: int = 1 << 20) -> bytes:
        """Return up to ``most`` bytes of the output from byte ``start`` on.

        A negative ``start`` counts from the end.
        """
        with contextlib.suppress(FileNotFoundError), open(self.path / OUTPUT, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            stream.seek(start if start >= 0 else max(0, size + start))
            return stream.read(most)
        return b""

    @property
    def output_size(self) -> int:
        """The size of the output in bytes."""
        try:
            return (self.path / OUTPUT).stat().st_size
        except OSError:
            return 0

    def touch(self, name: str) -> None:
        """Create an empty file, or update its modification time."""
        with self._explaining():
            (self.path / name).touch(mode=0o600)

    @property
    def cancelling(self) -> bool:
        """Whether cancellation was requested."""
        return os.path.exists(self.path / CANCEL)

    @property
    def last_alive(self) -> datetime.datetime | None:
        """The time of the driver's last heartbeat."""
        try:
            modified = (self.path / ALIVE).stat().st_mtime
        except OSError:
            return None
        return datetime.datetime.fromtimestamp(modified, datetime.UTC)

    def write(self, name: str, content: Any) -> None:
        """Write a JSON file atomically."""
        with self._explaining():
            write_atomically(self.path / name, (json.dumps(content, indent=1) + "\n").encode())

    def _write(self, record: RunRecord) -> None:
        try:
            self.write(RECORD, record.to_json())
        except StorageError as error:
            cause = error.__cause__
            is_full = isinstance(cause, OSError) and cause.errno in _DISK_FULL
            if not is_full or not self.exists:
                raise
            # The existing file can be overwritten without more space.
            with self._explaining(), open(self.path / RECORD, "r+b") as stream:
                stream.write(json.dumps(record.to_json(), indent=1).encode())
                stream.truncate()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder's JSON files against changes by other processes and threads."""
        with self._explaining(), open(self.path / ".lock", "a") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            yield

    @contextlib.contextmanager
    def _explaining(self) -> Iterator[None]:
        try:
            yield
        except StorageError:
            raise
        except OSError as error:
            raise StorageError(f"the run's folder {self} cannot be used: {error}") from error


def _parse_line(line: str) -> Any:
    with contextlib.suppress(ValueError):
        return untrusted.parse_json(line)
    return None


def records(runs: str | os.PathLike[str], run_id: str = "") -> list[RunRecord]:
    """Return the records of matching runs, oldest first, without those that cannot be read."""
    matching = []
    for folder in folders(runs):
        if folder.is_called(run_id):
            with contextlib.suppress(StorageError):
                matching.append(folder.record())
    return matching


def unreadable(runs: str | os.PathLike[str]) -> list[str]:
    """Return one sentence for each run in ``runs`` whose record cannot be read."""
    problems = []
    for folder in folders(runs):
        try:
            folder.record()
        except StorageError as error:
            problems.append(str(error))
    return problems


def folders(runs: str | os.PathLike[str]) -> list[RunFolder]:
    """Return the folders of the runs in ``runs``, oldest first.

    Raises StorageError if ``runs`` exists and cannot be read.
    """
    path = Path(runs).expanduser()
    try:
        names = sorted(os.listdir(path))
    except FileNotFoundError:
        return []
    except OSError as error:
        raise StorageError(f"the folder of runs {path} cannot be read: {error.strerror}") from error
    return [RunFolder(runs, name) for name in names if _ID.fullmatch(name) and _is_run(path / name)]


def _is_run(path: Path) -> bool:
    """Return whether this is the folder of a run: not a file, and not being created now."""
    try:
        (path / RECORD).stat()
    except FileNotFoundError:
        with contextlib.suppress(OSError):
            return time.time() - path.stat().st_mtime > _CREATION_SECONDS
        return False
    except NotADirectoryError:
        return False
    except OSError:  # it cannot be read
        return True
    return True
