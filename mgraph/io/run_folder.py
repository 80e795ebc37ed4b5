"""The folder of a submitted workflow: what it is, what became of it, and what it printed.

``run.json`` holds the record, replaced whole; ``events.jsonl`` a line an event, appended;
``output.log`` what the workflow printed; ``files`` the script and what was shipped with it;
``cancel`` is there once somebody asked to cancel. The folder outlives driver, workers and
scheduler, and is its owner's alone to read.
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
from typing import Any

from mgraph.errors import StorageError, UsageError
from mgraph.io import untrusted
from mgraph.io.record_fields import check_version, unknown_fields
from mgraph.io.whole_file import write_atomically

RECORD, EVENTS, OUTPUT, FILES, CANCEL, ALIVE = (
    "run.json", "events.jsonl", "output.log", "files", "cancel", "alive",
)  # fmt: skip
VERSION = 1
ENDED = ("finished", "failed", "cancelled", "lost")
STATES = ("submitted", "running", *ENDED)
_MADE_SECONDS = 60.0  # in which a folder has its record, which comes last
_FULL = (errno.ENOSPC, errno.EDQUOT)
_ID = re.compile(r"\d{8}-\d{6}-[0-9a-f]{4}")


@dataclass(frozen=True)
class RunRecord:
    """What is known of a run. Times are ISO 8601, UTC.

    scheduler_id: what tells it from another at its address. state: submitted, running, finished
    (the script's status was 0), failed, cancelled, or lost: its driver is gone and nobody starts it
    again. attempt: how often its driver began. host, pid: the driver's. status: the script's exit
    status. error: a sentence, or None. folder: what tells this folder from one of the same run on
    another disk.
    """

    id: str
    script: str
    arguments: list[str]
    submitted: str
    by: str
    cwd: str
    scheduler: str
    scheduler_id: str
    mgraph: str
    state: str = "submitted"
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
        """Whether it has ended, one way or another."""
        return self.state in ENDED

    @property
    def seconds(self) -> float:
        """From its first start to its end, or to now."""
        if self.began is None:
            return 0.0
        end = datetime.datetime.fromisoformat(self.ended or now())
        return (end - datetime.datetime.fromisoformat(self.began)).total_seconds()

    def to_json(self) -> dict[str, Any]:
        """Return the content of ``run.json``."""
        known = {name: getattr(self, name) for name in _field_types()}
        return {"version": VERSION} | known | self.unknown

    @classmethod
    def from_json(cls, content: Any, where: str) -> "RunRecord":
        """Parse the content of a ``run.json``, or raise StorageError. where: its path."""
        try:
            return cls(**_checked_fields(content))
        except ValueError as error:
            raise StorageError(f"{where} is not the record of a run: {error}") from None


def _field_types() -> dict[str, Any]:
    """The types of the record's fields in ``run.json``, by name."""
    fields = {each.name: each.type for each in dataclasses.fields(RunRecord)}
    del fields["unknown"]
    return fields


def _checked_fields(content: Any) -> dict[str, Any]:
    """Return the arguments of ``RunRecord`` from JSON content, or raise ValueError."""
    types = _field_types()
    if not isinstance(content, dict):
        raise ValueError("it is no mapping")
    check_version(content.get("version", VERSION), VERSION)
    unknown = unknown_fields(content, types, VERSION)
    known = {name: value for name, value in content.items() if name in types}
    for each in dataclasses.fields(RunRecord):
        is_required = each.default is dataclasses.MISSING and each.name in types
        if is_required and each.name not in known:
            raise ValueError(f"{each.name!r} is missing")
    for name, value in known.items():
        if not _has_type(types[name], value):
            raise ValueError(f"{name!r} is of another type")
    if known.get("state", STATES[0]) not in STATES or not _ID.fullmatch(known["id"]):
        raise ValueError("its state or id is none")
    if not all(map(_is_time, map(known.get, ("submitted", "began", "ended")))):
        raise ValueError("a time is none")
    return known | {"unknown": unknown}


def _has_type(expected: Any, value: Any) -> bool:
    """Return whether a value is of a field's type."""
    if expected == list[str]:
        return isinstance(value, list) and all(isinstance(item, str) for item in value)
    return isinstance(value, expected) and not isinstance(value, bool)


def _is_time(text: str | None) -> bool:
    """Return whether this is a time with its zone, or None."""
    try:
        return text is None or datetime.datetime.fromisoformat(text).tzinfo is not None
    except ValueError:
        return False


def now() -> str:
    """The time as records tell it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")


def new_id() -> str:
    """A run's name: when it was submitted, and what tells it from others of that second."""
    return f"{datetime.datetime.now(datetime.UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"


class RunFolder:
    """One run's folder, on a file system of this machine."""

    def __init__(self, runs: str | os.PathLike[str], run_id: str) -> None:
        """Name it; nothing is touched. Raises UsageError for what is no run's name."""
        if not _ID.fullmatch(run_id):
            raise UsageError(
                f"{run_id!r} is no run's name, which looks like 20260131-235959-0a1b; mgraph list "
                "shows them"
            )
        self.id = run_id
        self.path = Path(runs).expanduser() / run_id

    def __str__(self) -> str:
        """Its path."""
        return str(self.path)

    def is_called(self, name: str) -> bool:
        """Whether its ID begins so, or ends so after the last hyphen."""
        return self.id.startswith(name) or self.id.rpartition("-")[2] == name

    @property
    def exists(self) -> bool:
        """Whether a record is there."""
        return os.path.exists(self.path / RECORD)

    def create(self, record: RunRecord, files: dict[str, bytes]) -> RunRecord:
        """Make the folder with the script and its companions; the record comes last."""
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
        """The record as it stands. Raises StorageError where there is none that can be read."""
        with self._explaining():
            text = (self.path / RECORD).read_bytes()
        try:
            content = untrusted.parse_json(text)
        except ValueError:
            content = None
        return RunRecord.from_json(content, str(self.path / RECORD))

    def update(self, attempt: int | None = None, **changes: Any) -> RunRecord | None:
        """Change the record, unless it has ended or is another attempt's by now: then None."""
        with self.locked():
            record = self.record()
            if record.over or (attempt is not None and record.attempt != attempt):
                return None
            record = dataclasses.replace(record, **changes)
            self._write(record)
            return record

    def begin_attempt(self, earlier: int = 0, **changes: Any) -> RunRecord | None:
        """The record with one more attempt, the caller's; None where the run has ended.

        earlier: attempts that there were, also where this folder is not.
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
        """All events, in order; a line cut short is left out."""
        with contextlib.suppress(FileNotFoundError):
            lines = (self.path / EVENTS).read_text("utf-8", "replace").splitlines()
            return [event for line in lines if isinstance(event := _parsed(line), dict)]
        return []

    def output(self, start: int = 0, most: int = 1 << 20) -> bytes:
        """Up to ``most`` bytes of what was printed, from byte ``start`` on, or from so many before
        the end where it is negative."""
        with contextlib.suppress(FileNotFoundError), open(self.path / OUTPUT, "rb") as stream:
            size = os.fstat(stream.fileno()).st_size
            stream.seek(start if start >= 0 else max(0, size + start))
            return stream.read(most)
        return b""

    @property
    def output_size(self) -> int:
        """The bytes of what was printed."""
        try:
            return (self.path / OUTPUT).stat().st_size
        except OSError:
            return 0

    def touch(self, name: str) -> None:
        """Make an empty file, or make it younger."""
        with self._explaining():
            (self.path / name).touch(mode=0o600)

    @property
    def cancelling(self) -> bool:
        """Whether somebody asked to cancel the run."""
        return os.path.exists(self.path / CANCEL)

    @property
    def last_alive(self) -> datetime.datetime | None:
        """When the driver last said that it is alive."""
        try:
            at = (self.path / ALIVE).stat().st_mtime
        except OSError:
            return None
        return datetime.datetime.fromtimestamp(at, datetime.UTC)

    def write(self, name: str, content: Any) -> None:
        """Replace a file with what JSON makes of ``content``, whole."""
        with self._explaining():
            write_atomically(self.path / name, (json.dumps(content, indent=1) + "\n").encode())

    def _write(self, record: RunRecord) -> None:
        try:
            self.write(RECORD, record.to_json())
        except StorageError as error:
            full = isinstance(error.__cause__, OSError) and error.__cause__.errno in _FULL
            if not full or not self.exists:
                raise
            # In its own place there is room for it still.
            with self._explaining(), open(self.path / RECORD, "r+b") as stream:
                stream.write(json.dumps(record.to_json(), indent=1).encode())
                stream.truncate()

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """One process, and one thread, at a time changes the folder's JSON files."""
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


def _parsed(line: str) -> Any:
    with contextlib.suppress(ValueError):
        return untrusted.parse_json(line)
    return None


def records(runs: str | os.PathLike[str], run_id: str = "") -> list[RunRecord]:
    """Of the runs in ``runs`` that are called so, oldest first; a spoilt one hides no other."""
    found = []
    for folder in folders(runs):
        if folder.is_called(run_id):
            with contextlib.suppress(StorageError):
                found.append(folder.record())
    return found


def unreadable(runs: str | os.PathLike[str]) -> list[str]:
    """What is wrong with each run in ``runs`` whose record cannot be read, a sentence each."""
    problems = []
    for folder in folders(runs):
        try:
            folder.record()
        except StorageError as error:
            problems.append(str(error))
    return problems


def folders(runs: str | os.PathLike[str]) -> list[RunFolder]:
    """The runs that have a folder in ``runs``, oldest first.

    Raises StorageError where ``runs`` is there and cannot be read.
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
    """Whether this is the folder of a run: not a file, and not one that is just being made."""
    try:
        (path / RECORD).stat()
    except FileNotFoundError:
        with contextlib.suppress(OSError):
            return time.time() - path.stat().st_mtime > _MADE_SECONDS
        return False
    except NotADirectoryError:
        return False
    except OSError:  # it cannot be looked into
        return True
    return True
