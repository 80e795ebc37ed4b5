"""A gate for files of results: work is caught half-way, whatever its size.

Workers load this file as a preload of Dask's. While the gate is closed, the first files of a name
appear; who writes another waits with his temporary file on the disk, until the gate is opened, the
work is cancelled or the process dies.
"""

import contextlib
import fnmatch
import json
import os
import pathlib
import time
import uuid

VARIABLE = "MGRAPH_TESTS_GATE"


class Gate:
    """Open at first. folder: new, and seen by all workers."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        self._closed, self._turn = self.folder / "closed", ""

    @property
    def environment(self):
        """What processes have whose workers wait at the gate."""
        return {VARIABLE: str(self.folder), "DASK_DISTRIBUTED__WORKER__PRELOAD": __file__}

    def close(self, passing=4, pattern="part-*"):
        """Let so many files more appear of those whose names match."""
        self._turn = uuid.uuid4().hex
        state = {"passing": passing, "pattern": pattern, "turn": self._turn}
        whole = self.folder / "new"
        whole.write_text(json.dumps(state))
        whole.rename(self._closed)

    def open(self):
        """Let go on who waits, and all who come."""
        self._closed.unlink(missing_ok=True)

    def waiting(self):
        """The processes that wait."""
        marks = self.folder.glob(f"{self._turn}-waiting-*")
        return {int(path.name.rpartition("-")[2]) for path in marks}

    def wait_for(self, count=1):
        """Wait until so many processes wait; returns their numbers."""
        from tests.waiting import wait_until

        return wait_until(lambda: len(found := self.waiting()) >= count and found)


@contextlib.contextmanager
def gated(folder, *passing):
    """A gate of the workers that this process starts meanwhile. passing: it is closed at once."""
    import dask
    import pytest

    gate = Gate(folder)
    if passing:
        gate.close(*passing)
    with (
        pytest.MonkeyPatch.context() as patch,
        dask.config.set({"distributed.worker.preload": [__file__]}),
    ):
        patch.setenv(VARIABLE, str(gate.folder))
        yield gate


def dask_setup(worker):
    """Dask's hook: put the gate before the renaming of written files."""
    from mgraph.core import cancellation
    from mgraph.io.folder import Folder

    folder, whole = pathlib.Path(os.environ[VARIABLE]), Folder.writing

    def place(name):
        """Where it is marked that this process waits, or None."""
        with contextlib.suppress(FileNotFoundError):
            state = json.loads((folder / "closed").read_text())
            if not fnmatch.fnmatch(name, state["pattern"]):
                return None
            for number in range(state["passing"]):
                with contextlib.suppress(FileExistsError):
                    (folder / f"{state['turn']}-{number}").touch(exist_ok=False)
                    return None
            return folder / f"{state['turn']}-waiting-{uuid.uuid4().hex}-{os.getpid()}"
        return None

    @contextlib.contextmanager
    def writing(self, name):
        with whole(self, name) as stream:
            yield stream
            if (mark := place(name)) is None:
                return
            mark.touch()
            try:
                while (folder / "closed").exists():
                    cancellation.raise_if_cancelled()
                    time.sleep(0.01)
            finally:
                mark.unlink(missing_ok=True)

    Folder.writing = writing
