"""The files that were shipped with a script, on every worker, where its tasks can import them.

Each worker has the files in a folder of its own, which is first on Python's path during the attempt
of the run that shipped them; so has the scheduler, which also unpickles tasks. A process has one
table of modules: if two concurrent runs ship different code under one name, the second is refused.
"""

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

from distributed import WorkerPlugin

from mgraph.distributed.protocol.broadcast import on_scheduler, run_coroutine
from mgraph.distributed.protocol.dask_internals import states_of_plugins_on_scheduler

INSTALL_SECONDS, REMOVE_SECONDS = 30.0, 5.0  # for all workers; the run waits that long
PREFIX = "mgraph-files-"


class Companions(WorkerPlugin):
    """Writes a run's files; Dask also sets it up on workers that join or restart later."""

    idempotent = True

    def __init__(self, name: str, files: dict[str, bytes]) -> None:
        """files: their content by name, which may begin with a folder."""
        self.name = name
        self.files = files

    async def setup(self, worker: Any) -> None:
        """Dask calls this on each worker."""
        await asyncio.to_thread(_make_installer(), worker.local_directory, self.name, self.files)

    async def teardown(self, worker: Any) -> None:
        """Dask calls this when the plugin is removed."""
        await asyncio.to_thread(_make_remover(), worker.local_directory, self.name)


def _plugin_name(run_id: str, attempt: int) -> str:
    return f"{PREFIX}{run_id}-{attempt}"


def install(client: Any, run_id: str, attempt: int, files: dict[str, bytes]) -> None:
    """Write the files on all workers and the scheduler. Raises what a worker, or Dask, raises."""
    plugin = Companions(_plugin_name(run_id, attempt), files)

    async def register() -> None:
        function = _for_scheduler(_make_installer())
        await client.run_on_scheduler(function, plugin.name, files, asynchronous=True)
        await client.register_plugin(plugin)

    run_coroutine(client, register, seconds=INSTALL_SECONDS)


def remove(client: Any, run_id: str, attempt: int) -> None:
    """Remove the files from all processes that can be reached."""
    _remove(client, [_plugin_name(run_id, attempt)])


def remove_abandoned(client: Any, run_id: str, attempt: int, key: str) -> None:
    """Remove the files of runs whose drivers were killed, and of earlier attempts of this run.

    key: the beginning of the keys of drivers' tasks, before the run's ID.
    """
    with contextlib.suppress(Exception):
        states = on_scheduler(
            client, states_of_plugins_on_scheduler(), PREFIX, key, seconds=REMOVE_SECONDS
        )
        current, run = _plugin_name(run_id, attempt), f"{PREFIX}{run_id}"
        end_states = (None, "memory", "erred", "released")  # of a driver's task
        abandoned = [
            name
            for name, state in states.items()
            if name.rpartition("-")[0] == run or state in end_states
        ]
        _remove(client, [name for name in abandoned if name != current])


def _remove(client: Any, names: list[str]) -> None:
    async def unregister(name: str) -> None:
        function = _for_scheduler(_make_remover())
        await client.run_on_scheduler(function, name, asynchronous=True)
        await client.unregister_worker_plugin(name)

    for name in names:
        with contextlib.suppress(Exception):
            run_coroutine(client, unregister, name, seconds=REMOVE_SECONDS)


# These functions return functions that are pickled by value: a scheduler may have no mgraph.


def _for_scheduler(function: Callable[..., None]) -> Callable[..., None]:
    def call(*arguments: Any, dask_scheduler: Any) -> None:
        function(dask_scheduler.local_directory, *arguments)

    return call


def _make_installer() -> Callable[[str, str, dict[str, bytes]], None]:
    def install(folder: str, name: str, files: dict[str, bytes]) -> None:
        import contextlib
        import importlib
        import os
        import sys

        def read(folder: str, top: str) -> dict[str, bytes]:
            """Read the file of this name in a folder, or all files below a folder of this name."""
            root, contents = os.path.join(folder, top), {}
            paths = [os.path.join(at, file) for at, _, names in os.walk(root) for file in names]
            for path in paths or [root]:
                if "__pycache__" not in path:
                    with contextlib.suppress(OSError), open(path, "rb") as stream:
                        name = os.path.relpath(path, folder).replace(os.sep, "/")
                        contents[name] = stream.read()
            return contents

        marker, target = f"{os.sep}mgraph-files-", os.path.join(folder, name)
        others = [path for path in sys.path if marker in path and path != target]
        tops = {file.partition("/")[0] for file in files}
        for other, top in ((other, top) for other in others for top in tops):
            theirs = read(other, top)
            ours = {file: files[file] for file in files if file.partition("/")[0] == top}
            if theirs and theirs != ours:
                run = os.path.basename(other)[len("mgraph-files-") :].rpartition("-")[0]
                raise RuntimeError(
                    f"run {run}, which has not ended, has shipped a different {top}; rename it, or "
                    "submit this run after the end of that one"
                )
        for file, content in files.items():
            path = os.path.join(target, *file.split("/"))
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            with open(path, "wb") as stream:
                stream.write(content)
        sys.path[:] = [target, *(path for path in sys.path if path != target)]
        # Modules of the same names that an ended run has shipped would hide the files.
        names = {top.partition(".")[0] for top in tops}
        for module, code in list(sys.modules.items()):
            origin = getattr(code, "__file__", None) or ""
            is_active = any(origin.startswith(path + os.sep) for path in others)
            if marker in origin and not is_active and module.partition(".")[0] in names:
                sys.modules.pop(module, None)
        importlib.invalidate_caches()

    return install


def _make_remover() -> Callable[[str, str], None]:
    def remove(folder: str, name: str) -> None:
        import os
        import shutil
        import sys

        target = os.path.join(folder, name)
        sys.path[:] = [path for path in sys.path if path != target]
        for module, code in list(sys.modules.items()):
            if (getattr(code, "__file__", None) or "").startswith(target + os.sep):
                sys.modules.pop(module, None)
        shutil.rmtree(target, ignore_errors=True)

    return remove
