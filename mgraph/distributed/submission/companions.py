"""What was shipped with a script, where its tasks can import it: on every worker of the run.

Each worker has the files in a folder of its own, which is first on Python's path while the attempt
lasts that brought it; so does the scheduler, which loads tasks, too. A process has one table of
modules, so of two runs at once that bring different code under one name the second is refused.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from distributed import WorkerPlugin

from mgraph.distributed.protocol.broadcast import in_time, on_scheduler
from mgraph.distributed.protocol.dask_internals import states_of_plugins_on_scheduler

INSTALL_SECONDS, REMOVE_SECONDS = 30.0, 5.0  # for all workers; the run waits so long for its end
PREFIX = "mgraph-files-"


class Companions(WorkerPlugin):
    """Writes a run's files; reaches workers that join or restart later, too."""

    idempotent = True

    def __init__(self, name: str, files: dict[str, bytes]) -> None:
        """files: by name, which may have a folder before it."""
        self.name = name
        self.files = files

    async def setup(self, worker: Any) -> None:
        """Dask's hook."""
        await asyncio.to_thread(_installer(), worker.local_directory, self.name, self.files)

    async def teardown(self, worker: Any) -> None:
        """Dask's hook."""
        await asyncio.to_thread(_remover(), worker.local_directory, self.name)


def _name(run_id: str, attempt: int) -> str:
    return f"{PREFIX}{run_id}-{attempt}"


def install(client: Any, run_id: str, attempt: int, files: dict[str, bytes]) -> None:
    """Bring the files to all workers and the scheduler. Raises what a worker raised, or Dask."""
    plugin = Companions(_name(run_id, attempt), files)

    async def register() -> None:
        install_there = _on_scheduler(_installer())
        await client.run_on_scheduler(install_there, plugin.name, files, asynchronous=True)
        await client.register_plugin(plugin)

    in_time(client, register, seconds=INSTALL_SECONDS)


def remove(client: Any, run_id: str, attempt: int) -> None:
    """Take the files away; what cannot be reached is left."""
    _remove(client, [_name(run_id, attempt)])


def remove_others(client: Any, run_id: str, attempt: int, key: str) -> None:
    """Take away what runs have left whose drivers were killed, and earlier attempts of this run.

    key: what the keys of drivers' tasks begin with, before the run's ID.
    """
    with contextlib.suppress(Exception):
        states = on_scheduler(
            client, states_of_plugins_on_scheduler(), PREFIX, key, seconds=REMOVE_SECONDS
        )
        mine, run = _name(run_id, attempt), f"{PREFIX}{run_id}"
        over = (None, "memory", "erred", "released")  # the states of a driver's task
        others = [name for name in states if name != mine]
        _remove(
            client,
            [one for one in others if one.rpartition("-")[0] == run or states[one] in over],
        )


def _remove(client: Any, names: list[str]) -> None:
    async def unregister(name: str) -> None:
        await client.run_on_scheduler(_on_scheduler(_remover()), name, asynchronous=True)
        await client.unregister_worker_plugin(name)

    for name in names:
        with contextlib.suppress(Exception):
            in_time(client, unregister, name, seconds=REMOVE_SECONDS)


# These functions are made here so that they travel by value: a scheduler may have no mgraph.


def _on_scheduler(function: Callable[..., None]) -> Callable[..., None]:
    def called(*arguments: Any, dask_scheduler: Any) -> None:
        function(dask_scheduler.local_directory, *arguments)

    return called


def _installer() -> Callable[[str, str, dict[str, bytes]], None]:
    def install(folder: str, name: str, files: dict[str, bytes]) -> None:
        import contextlib
        import importlib
        import os
        import sys

        def contents(folder: str, top: str) -> dict[str, bytes]:
            """The file of this name in a folder, or those below it, by name."""
            whole, found = os.path.join(folder, top), {}
            paths = [os.path.join(at, one) for at, _, ones in os.walk(whole) for one in ones]
            for path in paths or [whole]:
                if "__pycache__" not in path:
                    with contextlib.suppress(OSError), open(path, "rb") as stream:
                        name = os.path.relpath(path, folder).replace(os.sep, "/")
                        found[name] = stream.read()
            return found

        marked, place = f"{os.sep}mgraph-files-", os.path.join(folder, name)
        others = [one for one in sys.path if marked in one and one != place]
        tops = {file.partition("/")[0] for file in files}
        for other, top in ((other, top) for other in others for top in tops):
            theirs = contents(other, top)
            ours = {file: files[file] for file in files if file.partition("/")[0] == top}
            if theirs and theirs != ours:
                run = os.path.basename(other)[len("mgraph-files-") :].rpartition("-")[0]
                raise RuntimeError(
                    f"run {run}, which has not ended, has brought another {top}; rename it, or "
                    "submit this run when that one has ended"
                )
        for file, content in files.items():
            path = os.path.join(place, *file.split("/"))
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "wb") as stream:
                stream.write(content)
        sys.path[:] = [place, *(one for one in sys.path if one != place)]
        # What an earlier run brought under the same names would be found before the files.
        names = {top.partition(".")[0] for top in tops}
        for module, code in list(sys.modules.items()):
            origin = getattr(code, "__file__", None) or ""
            ended = marked in origin and not any(origin.startswith(one + os.sep) for one in others)
            if ended and module.partition(".")[0] in names:
                sys.modules.pop(module, None)
        importlib.invalidate_caches()

    return install


def _remover() -> Callable[[str, str], None]:
    def remove(folder: str, name: str) -> None:
        import os
        import shutil
        import sys

        place = os.path.join(folder, name)
        sys.path[:] = [one for one in sys.path if one != place]
        for module, code in list(sys.modules.items()):
            if (getattr(code, "__file__", None) or "").startswith(place + os.sep):
                sys.modules.pop(module, None)
        shutil.rmtree(place, ignore_errors=True)

    return remove
