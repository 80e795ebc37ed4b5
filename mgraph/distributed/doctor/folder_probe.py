"""Whether a folder is the same for the client and the workers: each writes, the other reads."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mgraph.core.formatting import pluralize
from mgraph.distributed.doctor import worker_probe
from mgraph.distributed.doctor.check import FAIL, OK, Check, everyone
from mgraph.errors import StorageError
from mgraph.io import store
from mgraph.io.address import parse

REMOVE_SECONDS = 5.0
ADVICE = (
    "--out must be one folder for all: a network's file system mounted there everywhere, or s3://"
)


class Probe:
    """A small file of the client in a folder, for the length of a ``with`` block."""

    def __init__(self, folder: str) -> None:
        """Write nothing yet."""
        self._address = parse(folder)
        self.folder, self._is_local = self._address.text, self._address.is_local
        self.name = f".mgraph-doctor-{secrets.token_hex(6)}"
        self.token = secrets.token_hex(16)
        self.refused = ""
        self.free: int | None = None
        self._made: list[str] = []

    def __enter__(self) -> "Probe":
        """Write the file; ``refused`` tells why that did not work."""
        try:
            if self._is_local:
                self._make_folder()
                self.free = worker_probe.free_disk(self.folder)
            self._do(worker_probe.write, self.name, self.token)
        except Exception as error:
            self.refused = str(error)
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the file, and the folder if it is ours."""
        with store.cleaning_up(), contextlib.suppress(StorageError):
            self._do(worker_probe.remove, self.name)
        if self._is_local and not self.refused:
            with contextlib.suppress(OSError):  # it may be written to, and not listed
                for name in os.listdir(self.folder):
                    if name.startswith(self.name):
                        worker_probe.remove(self.folder, name)
        for folder in reversed(self._made):
            try:
                os.rmdir(folder)
            except OSError:
                break

    def _do(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """What a function does with a file of the folder, here; a store has to answer in time."""
        if self._is_local:
            return function(self.folder, *arguments)
        return store.call(lambda: function(self.folder, *arguments), self._address)

    def _make_folder(self) -> None:
        missing, folder = [], self.folder
        while not os.path.exists(folder):
            missing.append(folder)
            folder = os.path.dirname(folder)
        for folder in reversed(missing):
            os.mkdir(folder)
            self._made.append(folder)

    def checks(self, client: Any, answers: Mapping[str, Any]) -> Iterator[Check]:
        """What the workers' answers tell, and whether we see what they wrote."""
        blind = {one: answer["out"]["sees"] for one, answer in answers.items()
                 if answer["out"]["sees"]}  # fmt: skip
        refused = {one: answer["out"]["refused"] for one, answer in answers.items()
                   if "refused" in answer["out"]}  # fmt: skip
        wrote = {one: answer["out"]["wrote"] for one, answer in answers.items()
                 if "wrote" in answer["out"]}  # fmt: skip
        unseen = {one: why for one, name in wrote.items() if (why := self._unseen(name))}
        for one, name in wrote.items():
            client.sync(everyone, client, [one], REMOVE_SECONDS, worker_probe.remove,
                        self.folder, name)  # fmt: skip
        for told, which in (
            ("do not see what was written here", blind),
            ("cannot write there", refused),
            ("wrote what is not seen here", unseen),
        ):
            if which:
                first, why = next(iter(which.items()))
                count = f"{len(which)} of {len(answers)} workers {told}"
                yield Check("out", FAIL, f"{count}: {first}: {why}", ADVICE)
        if answers and not (blind or refused or unseen):
            free = [answer["out"]["free"] for answer in answers.values()]
            least = min((count for count in free if count is not None), default=None)
            told = f"read and written by {pluralize(len(answers), 'worker')}"
            yield Check(
                "out", OK, told if least is None else f"{told}, {least / 2**30:.1f} GiB free"
            )

    def _unseen(self, name: str) -> str:
        try:
            return "" if self._do(worker_probe.read, name) == self.token else "it holds other text"
        except Exception as error:
            return str(error)
