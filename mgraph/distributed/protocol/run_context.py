"""What an operation knows of the submitted workflow that it is part of, if of any.

A workflow whose driver dies is started again from its beginning. What it then asks for that an
earlier attempt had begun is gone on with instead of begun anew, so that nothing is made twice.
"""

import contextlib
import functools
import os
from pathlib import Path
from typing import Any

from mgraph.core import canonical
from mgraph.errors import MgraphError, UsageError
from mgraph.io import ownership, untrusted
from mgraph.io.folder import Folder
from mgraph.io.run_folder import RunFolder

FOLDER, ATTEMPT = "MGRAPH_RUN_FOLDER", "MGRAPH_RUN_ATTEMPT"  # in the workflow's environment
BEGUN = "begun.json"
RUN_ANNOTATION = "mgraph_run"  # of each task of a run
RUN_KEY = "mgraph-run-"  # what the keys of drivers' tasks begin with, before the run's ID


@functools.cache
def _folder() -> RunFolder | None:
    path = os.environ.get(FOLDER)
    return RunFolder(Path(path).parent, Path(path).name) if path else None


def current_run() -> str | None:
    """The ID of the submitted workflow that this process is, or None."""
    folder = _folder()
    return folder.id if folder else None


def _attempt() -> int:
    """Which attempt of its run this process is."""
    return int(os.environ.get(ATTEMPT, "1"))


def annotation() -> dict[str, str]:
    """What the tasks of this process's run are annotated with: which run it is; else nothing."""
    run = current_run()
    return {RUN_ANNOTATION: run} if run else {}


def tell(event: str, **more: Any) -> None:
    """Append to the events of this process's run, if it is one; what cannot be told is not."""
    folder = _folder()
    if folder is not None:
        with contextlib.suppress(MgraphError):
            folder.tell(event, **more)


class WriteIntent:
    """What an operation is about to write, and how it is to take what stands there.

    resume, overwrite: as asked for, but for what an earlier attempt of this run had begun: the same
    is resumed, and where it was another (made of a file that has been written anew, say) it is
    replaced. A workflow that writes two things into one folder, one after another, begins each
    anew: what it asks for is not what was begun there last.
    """

    def __init__(
        self, out: Folder | None, asked: dict[str, Any], resume: bool, overwrite: bool
    ) -> None:
        """out: the folder of results, or None; asked: all that they depend on, as
        ``canonical.digest`` takes it. Raises UsageError for what it does not.
        """
        self.resume, self.overwrite = resume, overwrite
        self._out: Folder | None = out
        self._folder = _folder() if out is not None else None
        if self._folder is None:
            return
        try:
            self._place, self._what = str(out), canonical.digest(asked)
        except TypeError as error:
            raise UsageError(
                f"a workflow that is started again goes on with what it had begun, and a value of "
                f"type {error}; give numbers, text, lists or arrays"
            ) from None
        before = begun_in(self._folder).get(self._place)
        if _attempt() > 1 and before is not None:
            if before == self._what:
                self.resume, self.overwrite = True, False
            elif not resume:
                self.overwrite = True

    def check_unowned(self) -> None:
        """Raise UsageError where another operation writes the folder of results."""
        if self._out is not None:
            ownership.check_unowned(self._out, self._run())

    def owning(self, operation: str) -> contextlib.AbstractContextManager[None]:
        """Own the folder of results, if there is one, for the length of a block.

        Raises UsageError where another operation writes it, but for an earlier attempt of this run.
        """
        if self._out is None:
            return contextlib.nullcontext()
        return ownership.owning(self._out, operation, self._run())

    def _run(self) -> tuple[str, int] | None:
        """The run's ID, and which of its attempts this is."""
        return (self._folder.id, _attempt()) if self._folder else None

    def record(self) -> None:
        """Remember it: all is checked, and from here on the folder of results changes."""
        if self._folder is None:
            return
        with self._folder.locked():
            begun = begun_in(self._folder)
            if begun.get(self._place) != self._what:
                self._folder.write(BEGUN, begun | {self._place: self._what})


def begun_in(folder: RunFolder) -> dict[str, str]:
    """What was begun last in each folder of results: the hash of what it depends on."""
    with contextlib.suppress(OSError, ValueError):
        found = untrusted.parse_json((folder.path / BEGUN).read_text())
        if isinstance(found, dict):
            return found
    return {}
