"""Whether a folder is the same for the client and the workers: each writes, the other reads."""

import contextlib
import os
import secrets
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from mgraph.core.formatting import pluralize
from mgraph.distributed.doctor import worker_probe
from mgraph.distributed.doctor.check import FAIL, OK, Check, call_workers
from mgraph.errors import StorageError
from mgraph.io import store
from mgraph.io.address import parse

REMOVE_SECONDS = 5.0
REMEDY = (
    "--out must be one folder for all: on a network file system that is mounted there on every "
    "machine, or in an s3:// store"
)

STORE_REMEDY = (
    "each worker needs what this process has to reach the store, set where the worker was started: "
    "credentials and, unless it is Amazon's, AWS_ENDPOINT_URL"
)


class FolderProbe:
    """A small file of the client in a folder, for the length of a ``with`` block."""

    def __init__(self, folder: str) -> None:
        """Write nothing yet."""
        self._address = parse(folder)
        self.folder, self._is_local = self._address.text, self._address.is_local
        self.name = f".mgraph-doctor-{secrets.token_hex(6)}"
        self.token = secrets.token_hex(16)
        self.error = ""
        self.free: int | None = None
        self._created: list[str] = []

    def __enter__(self) -> "FolderProbe":
        """Write the file; ``error`` says why that failed."""
        try:
            if self._is_local:
                self._make_folder()
                self.free = worker_probe.free_disk(self.folder)
            self._call(worker_probe.write, self.name, self.token)
        except Exception as error:
            self.error = str(error)
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the file, and the folders that were created for it."""
        with store.cleaning_up(), contextlib.suppress(StorageError):
            self._call(worker_probe.remove, self.name)
        if self._is_local and not self.error:
            with contextlib.suppress(OSError):  # a folder may be writable and not readable
                for name in os.listdir(self.folder):
                    if name.startswith(self.name):
                        worker_probe.remove(self.folder, name)
        for folder in reversed(self._created):
            try:
                os.rmdir(folder)
            except OSError:
                break

    def _call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call a function with the folder, in this process; an object store must answer in time."""
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
            self._created.append(folder)

    def checks(self, client: Any, answers: Mapping[str, Any]) -> Iterator[Check]:
        """Yield what the workers' answers show, and whether the client sees their files."""
        exchanges = {worker: answer["out"] for worker, answer in answers.items()}

        def select(key: str) -> dict[str, str]:
            return {worker: out[key] for worker, out in exchanges.items() if out.get(key)}

        unseen_by_workers, write_errors, names = (
            select("unseen"),
            select("refused"),
            select("wrote"),
        )
        reasons = {worker: self._read_error(name) for worker, name in names.items()}
        unseen_by_client = {worker: reason for worker, reason in reasons.items() if reason}
        for worker, name in names.items():
            client.sync(call_workers, client, [worker], REMOVE_SECONDS, worker_probe.remove,
                        self.folder, name)  # fmt: skip
        for text, failures in (
            ("do not see what was written here", unseen_by_workers),
            ("cannot write there", write_errors),
            ("wrote what is not seen here", unseen_by_client),
        ):
            if failures:
                first, reason = next(iter(failures.items()))
                count = f"{len(failures)} of {len(answers)} workers {text}"
                remedy = REMEDY if self._is_local else STORE_REMEDY
                yield Check("out", FAIL, f"{count}: {first}: {reason}", remedy)
        if answers and not (unseen_by_workers or write_errors or unseen_by_client):
            free = [out["free"] for out in exchanges.values()]
            minimum = min((count for count in free if count is not None), default=None)
            text = f"read and written by {pluralize(len(answers), 'worker')}"
            if minimum is not None:
                text += f", {minimum / 2**30:.1f} GiB free"
            yield Check("out", OK, text)

    def _read_error(self, name: str) -> str:
        """Return why the client does not see a worker's file; empty if it does."""
        try:
            content = self._call(worker_probe.read, name)
        except Exception as error:
            return str(error)
        return "" if content == self.token else "it has other content"
