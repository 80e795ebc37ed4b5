"""Who writes a folder, as its owner's file tells, and whether that process is still there."""

import dataclasses
import datetime
import json
import os
import re
import secrets
import socket
from dataclasses import dataclass
from typing import Any

from mgraph.io import untrusted

DEAD_SECONDS = 60.0  # without a sign of life, of an owner on another machine

held: set[str] = set()  # tokens of this process


@dataclass(frozen=True)
class Owner:
    """Who writes a folder. boot, started: which start of the machine, and of the process.

    run, attempt: of a submitted workflow, or empty and 0. claims: whether it is not the owner yet.
    """

    token: str
    operation: str = "an operation"
    host: str = "an unknown host"
    pid: int = 0
    boot: str = ""
    started: int = 0
    since: str = "an unknown time"
    run: str = ""
    attempt: int = 0
    claims: bool = False

    @property
    def is_of_this_machine(self) -> bool:
        """Whether its process would be seen from here."""
        return bool(self.boot) and self.boot == _boot()

    def is_dead(self, age: float, run: tuple[str, int] | None) -> bool:
        """Whether its place may be taken. age: seconds since its last sign of life."""
        if run and self.run == run[0] and self.attempt < run[1]:
            return True
        if not self.is_of_this_machine:
            return age > DEAD_SECONDS
        if self.pid == os.getpid():
            return self.token not in held
        started = _started(self.pid)
        if started is None:  # another user's, which is hidden from this one
            return age > DEAD_SECONDS
        return not self.started or started != self.started

    def writes(self, folder: object, age: float) -> str:
        """The sentence that it writes a folder."""
        sentence = (
            f"{folder} is being written by {self.operation} (process {self.pid} on {self.host}, "
            f"since {self.since})"
        )
        if self.is_of_this_machine:
            return sentence
        return (
            f"{sentence}, which gave its last sign of life {max(0, age):.0f} s ago and counts as "
            f"gone after {DEAD_SECONDS:.0f} s"
        )


def parse_owner(content: bytes) -> Owner:
    """Raises ValueError for what no owner wrote."""
    told = untrusted.parse_json_object(content)
    fields = {field.name: field.type for field in dataclasses.fields(Owner)}
    known: dict[str, Any] = {name: told[name] for name in fields if name in told}
    for name, value in known.items():
        if type(value) is not fields[name]:
            raise ValueError(f"{name} is of another type")
        if isinstance(value, str):
            known[name] = untrusted.printable(value)[:200]
    if not re.fullmatch("[0-9a-f]{32}", known.get("token", "")):
        raise ValueError("it has no token")
    return Owner(**known)


def owner_json(owner: Owner) -> bytes:
    """What ``parse_owner`` reads."""
    return (json.dumps(dataclasses.asdict(owner), indent=1) + "\n").encode()


def this_process(operation: str, run: tuple[str, int] | None, claims: bool) -> Owner:
    """An owner of a new token. run: the name and the attempt of a submitted workflow."""
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
    """Which start of which machine this is, and which of its process namespaces; or empty."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as stream:
            return f"{stream.read().strip()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return ""


def _started(pid: int) -> int | None:
    """When a process started, in ticks since the machine did; 0 where it is gone or a zombie.

    None where it is there and ``/proc`` hides it (mounted with ``hidepid``).
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stream:
            state, *fields = stream.read().rpartition(")")[2].split()
        return 0 if state in "ZX" else int(fields[18])
    except (OSError, ValueError, IndexError):
        return None if _is_there(pid) else 0


def _is_there(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True
