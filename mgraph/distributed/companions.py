"""What was shipped with a script, where its tasks can import it: on every worker of the run.

Each worker has the files in a folder of its own, which is first on Python's path while the run
lasts; so does the scheduler, which loads tasks, too. Two runs at once whose modules have the same
names share a worker's one table of modules: what a worker has imported, it keeps until the run ends
that brought it.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from distributed import WorkerPlugin

from mgraph.distributed.broadcast import in_time

SECONDS = 30.0  # for all workers to have them
PREFIX = "mgraph-files-"


class Companions(WorkerPlugin):
    """Writes a run's files; reaches workers that join or restart later, too."""

    idempotent = True

    def __init__(self, run_id: str, files: dict[str, bytes]) -> None:
        """files: by name, which may have a folder before it."""
        self.name = f"{PREFIX}{run_id}"
        self.files = files

    async def setup(self, worker: Any) -> None:
        """Dask's hook."""
        await asyncio.to_thread(_installer(), worker.local_directory, self.name, self.files)

    async def teardown(self, worker: Any) -> None:
        """Dask's hook."""
        await asyncio.to_thread(_remover(), worker.local_directory, self.name)


def install(client: Any, run_id: str, files: dict[str, bytes]) -> None:
    """Bring the files to all workers and the scheduler. Raises what a worker raised, or Dask."""
    from distributed.core import clean_exception
    from distributed.protocol.pickle import dumps

    plugin = Companions(run_id, files)

    async def register() -> Any:
        await client._run_on_scheduler(_on_scheduler(_installer()), plugin.name, files)
        return await client.scheduler.register_worker_plugin(
            plugin=dumps(plugin), name=plugin.name, idempotent=True
        )

    for answer in in_time(client, register, seconds=SECONDS).values():
        if answer["status"] == "error":
            raise clean_exception(**answer)[1]


def remove(client: Any, run_id: str) -> None:
    """Take the files away; what cannot be reached is left."""
    name = f"{PREFIX}{run_id}"

    async def unregister() -> None:
        await client._run_on_scheduler(_on_scheduler(_remover()), name)
        await client.scheduler.unregister_worker_plugin(name=name)

    with contextlib.suppress(Exception):
        in_time(client, unregister, seconds=SECONDS)


# These functions are made here so that they travel by value: a scheduler may have no mgraph.


def _on_scheduler(function: Callable[..., None]) -> Callable[..., None]:
    def called(*arguments: Any, dask_scheduler: Any) -> None:
        function(dask_scheduler.local_directory, *arguments)

    return called


def _installer() -> Callable[[str, str, dict[str, bytes]], None]:
    def install(folder: str, name: str, files: dict[str, bytes]) -> None:
        import importlib
        import os
        import sys

        place = os.path.join(folder, name)
        for file, content in files.items():
            path = os.path.join(place, *file.split("/"))
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "wb") as stream:
                stream.write(content)
        sys.path[:] = [place, *(one for one in sys.path if one != place)]
        # What an earlier run brought under the same names would be found before the files.
        tops = {file.partition("/")[0].partition(".")[0] for file in files}
        for module in list(sys.modules):
            origin = getattr(sys.modules[module], "__file__", None) or ""
            if module.partition(".")[0] in tops and f"{os.sep}mgraph-files-" in origin:
                del sys.modules[module]
        importlib.invalidate_caches()

    return install


def _remover() -> Callable[[str, str], None]:
    def remove(folder: str, name: str) -> None:
        import os
        import shutil
        import sys

        place = os.path.join(folder, name)
        sys.path[:] = [one for one in sys.path if one != place]
        for module in list(sys.modules):
            origin = getattr(sys.modules[module], "__file__", None) or ""
            if origin.startswith(place + os.sep):
                del sys.modules[module]
        shutil.rmtree(place, ignore_errors=True)

    return remove
