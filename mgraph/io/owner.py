"""The record of the process that writes a folder, and whether that process still exists."""

import dataclasses
import datetime
import json
import os
import secrets
import socket
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta

from mgraph.io import untrusted
from mgraph.io.record_fields import check_version, read_record, record_json

DEAD_SECONDS = 60.0  # without a heartbeat, of an owner on another machine
VERSION = 1

held_tokens: set[str] = set()  # of this process


@dataclass(frozen=True)
class Owner:
    """The process that writes a folder.

    boot, started: identify the start of the machine, and of the process. run, attempt: of a
    submitted workflow, or empty and 0. claims: it has claimed the folder and may not own it yet.
    unknown: fields of a newer mgraph.
    """

    token: Annotated[str, Meta(pattern=r"\A[0-9a-f]{32}\Z")]
    operation: str = "an operation"
    host: str = "an unknown host"
    pid: int = 0
    boot: str = ""
    started: int = 0
    since: str = "an unknown time"
    run: str = ""
    attempt: int = 0
    claims: bool = False
    unknown: dict[str, Any] = dataclasses.field(default_factory=dict, compare=False, repr=False)

    @property
    def is_of_this_machine(self) -> bool:
        """Whether the process would be visible from this one."""
        return bool(self.boot) and self.boot == _boot()

    def is_dead(self, age: float, run: tuple[str, int] | None) -> bool:
        """Return whether the folder may be taken over. age: seconds since the last heartbeat."""
        if run and self.run == run[0] and self.attempt < run[1]:
            return True
        if not self.is_of_this_machine:
            return age > DEAD_SECONDS
        if self.pid == os.getpid():
            return self.token not in held_tokens
        started = _started(self.pid)
        if started is None:  # a process of another user, which /proc hides
            return age > DEAD_SECONDS
        return not self.started or started != self.started

    def describe(self, folder: object, age: float) -> str:
        """Return the sentence that this process writes a folder. age: as ``is_dead`` takes it."""
        sentence = (
            f"{folder} is being written by {self.operation:.200} (process {self.pid} on "
            f"{self.host:.200}, since {self.since:.200})"
        )
        if self.is_of_this_machine:
            return sentence
        return (
            f"{sentence}, whose last heartbeat was {max(0, age):.0f} s ago; it counts as dead "
            f"after {DEAD_SECONDS:.0f} s"
        )


def parse_owner(content: bytes) -> Owner:
    """Parse an owner's file, or raise ValueError."""
    record = untrusted.parse_json_object(content)
    check_version(record.get("version", VERSION), VERSION)
    return read_record(record, Owner, VERSION)


def owner_json(owner: Owner) -> bytes:
    """Return the content of an owner's file, which ``parse_owner`` reads."""
    content = {"version": VERSION} | record_json(owner)
    return (json.dumps(content, indent=1) + "\n").encode()


def this_process(operation: str, run: tuple[str, int] | None, claims: bool) -> Owner:
    """Return an owner with a new token. run: the name and the attempt of a submitted workflow."""
    name, attempt = run or ("", 0)
    return Owner(
        token=secrets.token_hex(16),
        operation=operation,
        host=socket.gethostname(),
        pid=os.getpid(),
        boot=_boot(),
        started=_started(os.getpid()) or 0,
        since=datetime.datetime.now(datetime.UTC).isoformat(" ", "seconds"),
        run=name,
        attempt=attempt,
        claims=claims,
    )


def _boot() -> str:
    """Return what identifies this start of this machine and the process namespace, or nothing."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            return f"{stream.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _started(pid: int) -> int | None:
    """Return when a process started, in ticks since the machine's start; 0 if it has ended.

    A zombie has ended, too. None if the process exists and ``/proc``, mounted with ``hidepid``,
    hides it.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            state, *fields = stream.read().rpartition(")")[2].split()
        return 0 if state in "ZX" else int(fields[18])
    except (OSError, ValueError, IndexError):
        return None if _exists(pid) else 0


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
