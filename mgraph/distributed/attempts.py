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
from mgraph.io import untrusted
from mgraph.io.run_folder import FILES, RunFolder

FOLDER, ATTEMPT = "MGRAPH_RUN_FOLDER", "MGRAPH_RUN_ATTEMPT"  # in the workflow's environment
BEGUN = "begun.json"
RUN_KEY = "mgraph-run-"  # what the keys of drivers' tasks begin with, before the run's ID


@functools.cache
def _folder() -> RunFolder | None:
    path = os.environ.get(FOLDER)
    return RunFolder(Path(path).parent, Path(path).name) if path else None


def current_run() -> str | None:
    """The ID of the submitted workflow that this process is, or None."""
    folder = _folder()
    return folder.id if folder else None


def tell(event: str, **more: Any) -> None:
    """Append to the events of this process's run, if it is one; what cannot be told is not."""
    folder = _folder()
    if folder is not None:
        with contextlib.suppress(MgraphError):
            folder.tell(event, **more)


def modules() -> list[str]:
    """The modules that were shipped with this process's script, for its own tasks to import."""
    folder = _folder()
    if folder is None:
        return []
    script = folder.record().script
    return sorted(str(file) for file in (folder.path / FILES).glob("*.py") if file.name != script)


class Intent:
    """What an operation is about to write, and how it is to take what stands there.

    resume, overwrite: as asked for, but for what an earlier attempt of this run had begun: the same
    is resumed, and where it was another (made of a file that has been written anew, say) it is
    replaced. A workflow that writes two things into one folder, one after another, begins each
    anew: what it asks for is not what was begun there last.
    """

    def __init__(self, out: Any, asked: dict[str, Any], resume: bool, overwrite: bool) -> None:
        """out: the folder of results, or None; asked: all that they depend on, as
        ``canonical.digest`` takes it. Raises UsageError for what it does not.
        """
        self.resume, self.overwrite = resume, overwrite
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
        if int(os.environ.get(ATTEMPT, "1")) > 1 and before is not None:
            if before == self._what:
                self.resume, self.overwrite = True, False
            elif not resume:
                self.overwrite = True

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
        found = untrusted.parse((folder.path / BEGUN).read_text())
        if isinstance(found, dict):
            return found
    return {}
