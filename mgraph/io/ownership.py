"""The owner of a folder while it is written: one operation at a time; a dead one is replaced.

A folder of files holds ``_owner.json``, which is created exclusively: host, process, since when,
and a random token. An object store has no exclusive creation that PyArrow offers. There each
operation puts a claim, ``_owner-<token>.json``, lists the claims, and goes on when it is alone:
whoever puts a claim later sees the earlier one. Of two that see each other's the smaller token
waits until the other has withdrawn. (Listings of S3 are strongly consistent.) Signs of life are
objects of their own, since a claim that was removed must not come back.

An owner is dead when its process is gone, which its own machine can tell; elsewhere when its file
has not been touched for ``DEAD_SECONDS``, by the clock of the file system. A later attempt of the
same submitted run replaces an earlier one. Every file that is written for an operation appears only
while the token is there (``OwnerGuard``), so that an operation that was replaced, or tasks that
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
SIGN_SECONDS = 15.0  # for a store to take a sign of life; then the next one is tried
CLAIM_SECONDS = 30.0  # for rivals to withdraw
LOOKS, LOOK_SECONDS = 5, 0.2  # at a file that a network's file system does not show yet
MOST_VANISHED, VANISHED_SECONDS = 100, 0.02
_CLAIM = re.compile(r"_owner-[0-9a-f]{32}\.json")


@dataclass(frozen=True)
class OwnerGuard:
    """Lets files appear in a folder while it has this owner."""

    token: str

    def check(self, folder: Folder) -> None:
        """Raise StorageError where the folder has another owner, or none."""
        for look in range(LOOKS):
            if look:
                time.sleep(LOOK_SECONDS)
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
            f"{folder} is no longer written by this operation: it has ended, another has taken the "
            "folder over, or this machine has another folder of that name; nothing was changed"
        )


def is_owner_file(name: str) -> bool:
    """Whether a file's name is that of an owner's or a claim's."""
    return name == NAME or bool(_CLAIM.fullmatch(name))


def writer_of(folder: Folder) -> str | None:
    """The sentence that names who writes a folder now, or None where nobody does."""
    for owner, age in _others(folder, "", time.time()):
        if not owner.is_dead(age, None):
            return owner.describe(folder, age)
    return None


def check_unowned(folder: Folder, run: tuple[str, int] | None = None) -> None:
    """Raise UsageError where another operation writes the folder; changes nothing.

    run: the name and the attempt of the submitted workflow that asks.
    """
    for owner, age in _others(folder, "", time.time()):
        # Where clocks differ by as much, ``owning`` tells, which reads the file system's alone.
        if not owner.is_dead(abs(age), run):
            raise _refusal(folder, owner, age)


@contextlib.contextmanager
def owning(folder: Folder, operation: str, run: tuple[str, int] | None = None) -> Iterator[None]:
    """Own a folder for the length of a block; it is made first, and removed if it stays empty.

    What killed writers have left half written is removed, before the block and after it.
    operation: for messages. run: the name and the attempt of the submitted workflow that asks.
    Raises UsageError, which names the owner, where another operation has it.
    """
    owner = this_process(operation, run, claims=folder.is_remote)
    made = [] if folder.is_remote else _missing_folders(folder.location)
    before = folder.guard
    folder.guard = None
    held_tokens.add(owner.token)
    heart: _Heart | None = None
    try:
        with _explained(folder):
            if folder.is_remote:
                owner = _claim(folder, owner, run)
                folder.remove_temporaries()
            else:
                _create(folder, owner, run)
                folder.remove_temporaries()
                # Perhaps with our own file, which a rival took for the dead one's before us.
                _create(folder, owner, run)
        heart = _Heart(folder, owner)
        folder.guard = OwnerGuard(owner.token)
        yield
    finally:
        folder.guard = before
        try:
            if heart is not None:
                heart.stop()
            with store.cleaning_up(), contextlib.suppress(OSError, StorageError):
                _release(folder, owner)
        finally:
            held_tokens.discard(owner.token)
            for path in made:
                with contextlib.suppress(OSError):
                    os.rmdir(path)


class _Heart:
    """The thread that gives the owner's signs of life."""

    def __init__(self, folder: Folder, owner: Owner) -> None:
        self._folder, self._owner = folder, owner
        self._is_over, self._lock = threading.Event(), threading.Lock()
        threading.Thread(target=self._beat, daemon=True, name="mgraph-owner").start()

    def _beat(self) -> None:
        while not self._is_over.wait(HEARTBEAT_SECONDS):
            with (
                self._lock,
                store.cleaning_up(SIGN_SECONDS),
                contextlib.suppress(OSError, UsageError),
            ):  # the next one may get through
                if not self._is_over.is_set():
                    _touch(self._folder, self._owner)

    def stop(self) -> None:
        """No sign comes after this, unless a store holds one up."""
        self._is_over.set()
        if self._lock.acquire(timeout=store.CLEAN_UP_SECONDS):
            self._lock.release()


def _refusal(folder: Folder, owner: Owner, age: float) -> UsageError:
    return UsageError(
        f"{owner.describe(folder, age)}; wait until it has ended, or give another folder"
    )


# Folders of files: one file, created exclusively.


def _create(folder: Folder, owner: Owner, run: tuple[str, int] | None) -> None:
    """Make the folder, and the owner's file in it, unless it is there."""
    path = folder.path(NAME)
    deadline = time.monotonic() + CLAIM_SECONDS
    vanished = 0  # how often another had ended, with its file or the empty folder
    while True:
        try:
            os.makedirs(folder.location, exist_ok=True)
            if _create_file(path, owner_json(owner)):
                return
            found = _read(folder, NAME)
            if found is None:
                raise FileNotFoundError(2, "neither can be created nor read", path)
            if found.token == owner.token:
                return
            age = _time_there(folder) - os.stat(path).st_mtime
            if not found.is_dead(age, run) or time.monotonic() > deadline:
                raise _refusal(folder, found, age)
            _remove_dead(folder, found)
        except FileNotFoundError:
            vanished += 1
            if vanished > MOST_VANISHED:  # or it is a link to nothing, or a folder of the system's
                raise
            time.sleep(VANISHED_SECONDS)


def _create_file(path: str, content: bytes) -> bool:
    """Create a file; False where there is one."""
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
    """Remove a dead owner's file. It is moved first, so that one process alone does; what another
    has put in its place meanwhile is put back."""
    path = folder.path(NAME)
    name = f".owner.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}"
    with contextlib.suppress(FileNotFoundError):
        os.rename(path, folder.path(name))
        moved = _read(folder, name)
        if moved is not None and moved.token != dead.token:
            _create_file(path, owner_json(moved))
        os.unlink(folder.path(name))


def _time_there(folder: Folder) -> float:
    """The time by the clock of the file system."""
    path = folder.path(f".{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")
    with open(path, "xb") as stream:
        try:
            return os.fstat(stream.fileno()).st_mtime
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)


# Object stores: a claim each.


def _claim_name(token: str) -> str:
    return f"_owner-{token}.json"


def _claim(folder: Folder, owner: Owner, run: tuple[str, int] | None) -> Owner:
    """Put a claim, and wait until it is the only one; returns the owner that it becomes."""
    name = _claim_name(owner.token)
    folder.put(name, owner_json(owner))
    now = folder.stamp(name)[1] / 1e9  # by the clock of the store
    deadline = time.monotonic() + CLAIM_SECONDS
    while True:
        others = _others(folder, owner.token, now)
        dead = [other for other, age in others if other.is_dead(age, run)]
        rivals = [(other, age) for other, age in others if other not in dead]
        for other, age in rivals:
            if not other.claims or other.token < owner.token or time.monotonic() > deadline:
                raise _refusal(folder, other, age)
        if not rivals:
            break
        time.sleep(LOOK_SECONDS)
    owner = dataclasses.replace(owner, claims=False)
    folder.put(name, owner_json(owner))
    for other, age in _others(folder, owner.token, now):
        if other not in dead and not other.claims:  # it took us for dead before this
            raise _refusal(folder, other, age)
    for other in dead:
        folder.remove(_claim_name(other.token), _sign_name(other.token))
    return owner


def _sign_name(token: str) -> str:
    """The name of an owner's sign of life: half-written, for all that lists the folder."""
    return f".owner-{token}{TEMPORARY_SUFFIX}"


# Both.


def _others(folder: Folder, token: str, now: float) -> list[tuple[Owner, float]]:
    """The owners and claims in a folder but for one's own, and their ages at a time."""
    found = []
    names = folder.names() or []
    for name in filter(is_owner_file, names):
        owner = _read(folder, name)
        if owner is not None and owner.token != token:
            signs = [name] + [sign for sign in names if sign == _sign_name(owner.token)]
            with contextlib.suppress(StorageError):
                seen = max(folder.stamp(sign)[1] for sign in signs)
                found.append((owner, now - seen / 1e9))
    return found


def _read(folder: Folder, name: str) -> Owner | None:
    """The owner that a file tells of; None where it is gone. One that cannot be read is unknown."""
    for look in range(LOOKS):  # it may be empty, or change, at this moment
        try:
            return parse_owner(folder.read(name, 1 << 16))
        except StorageError as error:
            if isinstance(error.__cause__, FileNotFoundError):
                return None
            if error.__cause__ is None or look == LOOKS - 1:  # no answer in time
                raise
        except (ValueError, TypeError):
            pass
        if look < LOOKS - 1:
            time.sleep(LOOK_SECONDS)
    claim = _CLAIM.fullmatch(name)
    return Owner(token=name[len("_owner-") : -len(".json")] if claim else "")


def _touch(folder: Folder, owner: Owner) -> None:
    """Give a sign of life, where the folder is still this owner's."""
    if folder.is_remote:
        if folder.exists(_claim_name(owner.token)):
            folder.put(_sign_name(owner.token), b"")
        return
    found = _read(folder, NAME)
    if found is not None and found.token == owner.token:
        os.utime(folder.path(NAME))


def _release(folder: Folder, owner: Owner) -> None:
    """Remove the owner's file, if it is still there, and before it what was half written."""
    if folder.is_remote:
        name = _claim_name(owner.token)
        if folder.exists(name):
            if not owner.claims:  # else what is half written is another's
                folder.remove_temporaries()
            folder.remove(name, _sign_name(owner.token))
        return
    found = _read(folder, NAME)
    if found is not None and found.token == owner.token:
        folder.remove_temporaries()
        os.unlink(folder.path(NAME))


def _missing_folders(path: str) -> list[str]:
    """Those of a path that do not exist, the deepest first."""
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
