"""The submitted workflow that an operation is part of, if it is part of one.

A workflow whose driver dies is started again from its beginning. An operation that an earlier
attempt had begun is then resumed instead of begun again, so that nothing is computed twice.
"""

import contextlib
import contextvars
import functools
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mgraph.core import canonical
from mgraph.errors import MgraphError, UsageError, without_secrets
from mgraph.io import ownership, untrusted
from mgraph.io.folder import Folder
from mgraph.io.run_folder import RunFolder

FOLDER, ATTEMPT = "MGRAPH_RUN_FOLDER", "MGRAPH_RUN_ATTEMPT"  # in the workflow's environment
BEGUN = "begun.json"
RUN_ANNOTATION = "mgraph_run"  # of each task of a run
RUN_KEY = "mgraph-run-"  # the key of a driver's task is this, followed by the run's ID


_subject: contextvars.ContextVar[str | None] = contextvars.ContextVar("subject", default=None)


@contextlib.contextmanager
def about(location: str | None) -> Iterator[None]:
    """Name the folder that an operation of the block writes, or else reads."""
    token = _subject.set(None if location is None else without_secrets(location))
    try:
        yield
    finally:
        _subject.reset(token)


def subject() -> str | None:
    """Return the folder of the operation that is running, without secrets."""
    return _subject.get()


@functools.cache
def _run_folder() -> RunFolder | None:
    path = os.environ.get(FOLDER)
    return RunFolder(Path(path).parent, Path(path).name) if path else None


def current_run() -> str | None:
    """Return the ID of the submitted workflow that this process runs, or None."""
    folder = _run_folder()
    return folder.id if folder else None


def _attempt() -> int:
    """Return the number of the attempt that this process runs."""
    return int(os.environ.get(ATTEMPT, "1"))


def annotation() -> dict[str, str]:
    """Return the annotation that marks a task as one of this process's run; empty without a run."""
    run = current_run()
    return {RUN_ANNOTATION: run} if run else {}


def tell(event: str, **details: Any) -> None:
    """Append an event to this process's run, if it has one; an event that cannot be is dropped."""
    folder = _run_folder()
    if folder is not None:
        with contextlib.suppress(MgraphError):
            folder.tell(event, **details)


class WriteIntent:
    """What an operation is about to write, and whether it resumes or overwrites existing output.

    ``resume`` and ``overwrite`` are those of the request, unless an earlier attempt of this run had
    begun to write into the same folder: the same request is then resumed, and another one (for
    example of an input file that was written again) overwrites. A workflow that writes two results
    into one folder, one after the other, writes each from the beginning: the request is not the one
    that was begun there last.
    """

    def __init__(
        self, out: Folder | None, request: dict[str, Any], resume: bool, overwrite: bool
    ) -> None:
        """out: the folder of results, or None. request: all that the results depend on.

        Raises UsageError for a value in the request that ``canonical.digest`` does not take.
        """
        self.resume, self.overwrite = resume, overwrite
        self._out: Folder | None = out
        self._folder = _run_folder() if out is not None else None
        if self._folder is None:
            return
        try:
            self._location, self._digest = str(out), canonical.digest(request)
        except TypeError as error:
            raise UsageError(
                "a submitted workflow that is started again must recognize what it had begun, and "
                f"a value of type {error}; give numbers, text, lists or arrays"
            ) from None
        begun = begun_in(self._folder).get(self._location)
        if _attempt() > 1 and begun is not None:
            if begun == self._digest:
                self.resume, self.overwrite = True, False
            elif not resume:
                self.overwrite = True

    def check_unowned(self) -> None:
        """Raise UsageError if another operation is writing to the folder of results."""
        if self._out is not None:
            ownership.check_unowned(self._out, self._owner())

    def owning(self, operation: str) -> contextlib.AbstractContextManager[None]:
        """Own the folder of results, if there is one, for the length of a block.

        Raises UsageError if another operation is writing to it, other than an earlier attempt of
        this run.
        """
        if self._out is None:
            return contextlib.nullcontext()
        return ownership.owning(self._out, operation, self._owner())

    def _owner(self) -> tuple[str, int] | None:
        """Return the run's ID and the number of this attempt."""
        return (self._folder.id, _attempt()) if self._folder else None

    def record(self) -> None:
        """Record the request in the run's folder, before the folder of results changes."""
        if self._folder is None:
            return
        with self._folder.locked():
            begun = begun_in(self._folder)
            if begun.get(self._location) != self._digest:
                self._folder.write(BEGUN, begun | {self._location: self._digest})


def begun_in(folder: RunFolder) -> dict[str, str]:
    """Return the digest of the last request that was begun in each folder of results."""
    with contextlib.suppress(OSError, ValueError):
        content = untrusted.parse_json((folder.path / BEGUN).read_text())
        if isinstance(content, dict):
            return content
    return {}
