"""The owner of a folder while it is written: one operation at a time; a dead owner is replaced.

A local folder holds ``_owner.json``, which is created exclusively: host, process, start time, and a
random token. PyArrow offers no exclusive creation in an object store. There each operation puts a
claim, ``_owner-<token>.json``, lists the claims, and continues when its claim is the only one:
whoever puts a claim later sees the earlier one. Of two that see each other's claim the one with the
smaller token waits until the other has withdrawn. (Listings of S3 are strongly consistent.)
Heartbeats are separate objects, since a claim that was removed must not reappear.

An owner is dead when its process has ended, which its own machine can check; on other machines when
its file has not been touched for ``DEAD_SECONDS``, by the clock of the file system. A later attempt
of the same submitted run replaces an earlier one. Every file that an operation writes appears only
while its token exists (``OwnerGuard``), so that an operation that was replaced, or tasks that
outlive their client, change nothing.
"""

import contextlib
import dataclasses
import os
import re
import secrets
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass

from mgraph.errors import StorageError, UsageError
from mgraph.io import store
from mgraph.io.folder import TEMPORARY_SUFFIX, Folder, explain
from mgraph.io.owner import Owner, held_tokens, owner_json, parse_owner, this_process

NAME = "_owner.json"
HEARTBEAT_SECONDS = 10.0
HEARTBEAT_TIMEOUT = 15.0  # for a store to accept a heartbeat; then the next one is tried
CLAIM_SECONDS = 30.0  # for competing claims to be withdrawn
TRIES, TRY_SECONDS = 5, 0.2  # to read a file that a network file system may not show yet
MAX_VANISHED, VANISHED_SECONDS = 100, 0.02
_CLAIM = re.compile(r"_owner-[0-9a-f]{32}\.json")


@dataclass(frozen=True)
class OwnerGuard:
    """Allows files to appear in a folder only while it has this owner."""

    token: str

    def check(self, folder: Folder) -> None:
        """Raise StorageError if the folder has another owner, or none."""
        for attempt in range(TRIES):
            if attempt:
                time.sleep(TRY_SECONDS)
            if folder.is_remote:
                if folder.exists(_claim_name(self.token)):
                    return
                continue
            owner = _read(folder, NAME)
            if owner is not None and owner.token:
                if owner.token == self.token:
                    return
                break
        raise StorageError(
            f"{folder} is no longer written by this operation: it has ended, another operation has "
            "taken the folder over, or this machine has another folder of that name; nothing was "
            "changed"
        )


def is_owner_file(name: str) -> bool:
    """Return whether a file's name is that of an owner's file or a claim."""
    return name == NAME or bool(_CLAIM.fullmatch(name))


def writer_of(folder: Folder) -> str | None:
    """Describe the operation that writes a folder now; None if there is none."""
    for owner, age in _other_owners(folder, "", time.time()):
        if not owner.is_dead(age, None):
            return owner.describe(folder, age)
    return None


def check_unowned(folder: Folder, run: tuple[str, int] | None = None) -> None:
    """Raise UsageError if another operation writes the folder; nothing is changed.

    run: the name and the attempt of the submitted workflow that calls this.
    """
    for owner, age in _other_owners(folder, "", time.time()):
        # If the clocks differ, ``owning`` decides, which uses the file system's clock alone.
        if not owner.is_dead(abs(age), run):
            raise _owned_error(folder, owner, age)


@contextlib.contextmanager
def owning(folder: Folder, operation: str, run: tuple[str, int] | None = None) -> Iterator[None]:
    """Own a folder for the length of a block; create it first, and remove it if it stays empty.

    Temporary files of killed writers are removed before and after the block. operation: for
    messages. run: the name and the attempt of the submitted workflow that calls this. Raises
    UsageError, which names the owner, if another operation owns the folder.
    """
    owner = this_process(operation, run, claims=folder.is_remote)
    created = [] if folder.is_remote else _missing_folders(folder.location)
    outer_guard = folder.guard
    folder.guard = None
    held_tokens.add(owner.token)
    heartbeat: _Heartbeat | None = None
    try:
        with _explained(folder):
            if folder.is_remote:
                owner = _claim(folder, owner, run)
                folder.remove_temporaries()
            else:
                _create(folder, owner, run)
                folder.remove_temporaries()
                # That may have removed our own file, if a rival replaced the dead owner before us.
                _create(folder, owner, run)
        heartbeat = _Heartbeat(folder, owner)
        folder.guard = OwnerGuard(owner.token)
        yield
    finally:
        folder.guard = outer_guard
        try:
            if heartbeat is not None:
                heartbeat.stop()
            with store.cleaning_up(), contextlib.suppress(OSError, StorageError):
                _release(folder, owner)
        finally:
            held_tokens.discard(owner.token)
            for path in created:
                with contextlib.suppress(OSError):
                    os.rmdir(path)


class _Heartbeat:
    """The thread that sends the owner's heartbeats."""

    def __init__(self, folder: Folder, owner: Owner) -> None:
        self._folder, self._owner = folder, owner
        self._is_over, self._lock = threading.Event(), threading.Lock()
        threading.Thread(target=self._beat, daemon=True, name="mgraph-owner").start()

    def _beat(self) -> None:
        while not self._is_over.wait(HEARTBEAT_SECONDS):
            with (
                self._lock,
                store.cleaning_up(HEARTBEAT_TIMEOUT),
                contextlib.suppress(OSError, UsageError),
            ):  # the next one may succeed
                if not self._is_over.is_set():
                    _touch(self._folder, self._owner)

    def stop(self) -> None:
        """Send no more heartbeats; a store may still delay one."""
        self._is_over.set()
        if self._lock.acquire(timeout=store.CLEAN_UP_SECONDS):
            self._lock.release()


def _owned_error(folder: Folder, owner: Owner, age: float) -> UsageError:
    return UsageError(
        f"{owner.describe(folder, age)}; wait until it has ended, or give another folder"
    )


# Local folders: one file, created exclusively.


def _create(folder: Folder, owner: Owner, run: tuple[str, int] | None) -> None:
    """Create the folder and the owner's file in it, unless the file exists with this token."""
    path = folder.path(NAME)
    deadline = time.monotonic() + CLAIM_SECONDS
    vanished = 0  # how often the file or the folder of an ending owner has disappeared
    while True:
        try:
            os.makedirs(folder.location, exist_ok=True)
            if _create_file(path, owner_json(owner)):
                return
            existing = _read(folder, NAME)
            if existing is None:
                raise FileNotFoundError(2, "neither can be created nor read", path)
            if existing.token == owner.token:
                return
            age = _filesystem_time(folder) - os.stat(path).st_mtime
            if not existing.is_dead(age, run) or time.monotonic() > deadline:
                raise _owned_error(folder, existing, age)
            _remove_dead(folder, existing)
        except FileNotFoundError:
            vanished += 1
            if vanished > MAX_VANISHED:  # or it is a dangling link, or a folder of the system
                raise
            time.sleep(VANISHED_SECONDS)


def _create_file(path: str, content: bytes) -> bool:
    """Create a file; return False if it exists."""
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    except FileExistsError:
        return False
    try:
        with open(descriptor, "wb") as stream:
            stream.write(content)
    except OSError:
        os.unlink(path)
        raise
    return True


def _remove_dead(folder: Folder, dead: Owner) -> None:
    """Remove a dead owner's file.

    The file is renamed first, so that one process alone removes it. If it is another owner's by
    then, it is put back.
    """
    path = folder.path(NAME)
    name = f".owner.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}"
    with contextlib.suppress(FileNotFoundError):
        os.rename(path, folder.path(name))
        moved = _read(folder, name)
        if moved is not None and moved.token != dead.token:
            _create_file(path, owner_json(moved))
        os.unlink(folder.path(name))


def _filesystem_time(folder: Folder) -> float:
    """Return the time by the clock of the file system."""
    path = folder.path(f".{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")
    with open(path, "xb") as stream:
        try:
            return os.fstat(stream.fileno()).st_mtime
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


# Object stores: one claim per operation.


def _claim_name(token: str) -> str:
    return f"_owner-{token}.json"


def _claim(folder: Folder, owner: Owner, run: tuple[str, int] | None) -> Owner:
    """Put a claim, wait until it is the only one, and return the owner that it becomes."""
    name = _claim_name(owner.token)
    folder.put(name, owner_json(owner))
    now = folder.stamp(name)[1] / 1e9  # by the clock of the store
    deadline = time.monotonic() + CLAIM_SECONDS
    while True:
        others = _other_owners(folder, owner.token, now)
        dead = [other for other, age in others if other.is_dead(age, run)]
        rivals = [(other, age) for other, age in others if other not in dead]
        for other, age in rivals:
            if not other.claims or other.token < owner.token or time.monotonic() > deadline:
                raise _owned_error(folder, other, age)
        if not rivals:
            break
        time.sleep(TRY_SECONDS)
    owner = dataclasses.replace(owner, claims=False)
    folder.put(name, owner_json(owner))
    for other, age in _other_owners(folder, owner.token, now):
        if other not in dead and not other.claims:  # it considered this owner dead before
            raise _owned_error(folder, other, age)
    for other in dead:
        folder.remove(_claim_name(other.token), _heartbeat_name(other.token))
    return owner


def _heartbeat_name(token: str) -> str:
    """Return the name of an owner's heartbeat object, which listings treat as temporary."""
    return f".owner-{token}{TEMPORARY_SUFFIX}"


# Both kinds of folders.


def _other_owners(folder: Folder, token: str, now: float) -> list[tuple[Owner, float]]:
    """Return the owners and claims with other tokens, and the ages of their last heartbeats."""
    others = []
    names = folder.names() or []
    for name in filter(is_owner_file, names):
        owner = _read(folder, name)
        if owner is not None and owner.token != token:
            beats = [name] + [beat for beat in names if beat == _heartbeat_name(owner.token)]
            with contextlib.suppress(StorageError):
                last = max(folder.stamp(beat)[1] for beat in beats)
                others.append((owner, now - last / 1e9))
    return others


def _read(folder: Folder, name: str) -> Owner | None:
    """Read an owner's file; None if it does not exist, an unknown owner if it is damaged."""
    for attempt in range(TRIES):  # it may be empty, or change, at this moment
        try:
            return parse_owner(folder.read(name, 1 << 16))
        except StorageError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            if error.__cause__ is None or attempt == TRIES - 1:  # no cause: a timeout
                raise
        except (ValueError, TypeError):
            pass
        if attempt < TRIES - 1:
            time.sleep(TRY_SECONDS)
    claim = _CLAIM.fullmatch(name)
    return Owner(token=name[len("_owner-") : -len(".json")] if claim else "")


def _touch(folder: Folder, owner: Owner) -> None:
    """Send a heartbeat if the folder still has this owner."""
    if folder.is_remote:
        if folder.exists(_claim_name(owner.token)):
            folder.put(_heartbeat_name(owner.token), b"")
        return
    current = _read(folder, NAME)
    if current is not None and current.token == owner.token:
        os.utime(folder.path(NAME))


def _release(folder: Folder, owner: Owner) -> None:
    """Remove the temporary files and then the owner's file, if the folder still has this owner."""
    if folder.is_remote:
        name = _claim_name(owner.token)
        if folder.exists(name):
            if not owner.claims:  # otherwise the temporary files are another owner's
                folder.remove_temporaries()
            folder.remove(name, _heartbeat_name(owner.token))
        return
    current = _read(folder, NAME)
    if current is not None and current.token == owner.token:
        folder.remove_temporaries()
        os.unlink(folder.path(NAME))


def _missing_folders(path: str) -> list[str]:
    """Return the folders of a path that do not exist, the deepest first."""
    missing = []
    while not os.path.lexists(path):
        missing.append(path)
        path = os.path.dirname(path)
    return missing


@contextlib.contextmanager
def _explained(folder: Folder) -> Iterator[None]:
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        raise explain(error, folder.location) from error
