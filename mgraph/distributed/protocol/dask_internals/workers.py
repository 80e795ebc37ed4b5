"""What a worker needs of Dask's internals, some of it a scheduler as well."""

import contextlib
from collections.abc import Callable
from typing import Any

from mgraph.distributed.protocol.dask_internals.needs import needs


@needs("worker.state.nthreads", "worker.memory_manager.memory_limit")
def thread_and_memory_limits(worker: Any) -> tuple[int, int | None]:
    """Return a worker's number of threads, and its memory limit in bytes, None without one.

    ``Client.scheduler_info`` has both, in another process.
    """
    return worker.state.nthreads, worker.memory_manager.memory_limit


@needs("worker.state.tasks")
def is_wanted(worker: Any, key: Any) -> bool:
    """Return whether the scheduler wants a task of this worker, as far as the worker knows.

    No public API lets a running task find out that it was cancelled.
    """
    task = worker.state.tasks.get(key)
    return task is not None and task.state != "cancelled"


@needs("worker.handlers")
def add_handler(worker: Any, operation: str, handler: Callable[..., Any]) -> None:
    """Let a worker answer other workers' requests of that name with a coroutine function.

    Handlers are otherwise fixed when a worker is constructed; streams of events, which have a
    public way, give no answer.
    """
    worker.handlers[operation] = handler


@needs("worker.handlers")
def remove_handler(worker: Any, operation: str) -> None:
    """Take a handler back that ``add_handler`` has added."""
    worker.handlers.pop(operation, None)


@needs("worker.rpc", "distributed.protocol:to_serialize")
async def ask_worker(worker: Any, address: str, operation: str, *, data: Any, **more: Any) -> Any:
    """Send a request to another worker, over the connections that workers fetch results with.

    data: arrays, which are sent as they are. The cluster's protocol and security are used; public
    ways from worker to worker lead over the scheduler, or over tasks' results.
    """
    from distributed.protocol import to_serialize

    return await getattr(worker.rpc(address), operation)(data=to_serialize(data), **more)


@needs("worker.loop.asyncio_loop")
def event_loop(worker: Any) -> Any:
    """Return the asyncio loop in which a worker's handlers and connections live."""
    return worker.loop.asyncio_loop


@needs("worker.execute")
def annotate_execution(worker: Any, name: str) -> None:
    """Put each task's annotation ``name`` in force while the worker executes the task.

    The tasks that it starts then inherit the annotation; Dask itself passes on spans alone.
    """
    from dask import annotate

    execute = worker.execute

    async def execute_annotated(key: Any, **options: Any) -> Any:
        task = worker.state.tasks.get(key)
        value = (task.annotations or {}).get(name) if task else None
        with annotate(**{name: value}) if value else contextlib.nullcontext():
            return await execute(key, **options)

    worker.execute = execute_annotated  # ``del worker.execute`` brings the class's method back


@needs("worker.digests_total", "worker.digests_max")
def merge_digests_of_spans(worker: Any) -> None:
    """Add up a worker's times over all spans, and drop their maxima, which nothing reads.

    Dask keeps both for each (execute, span, prefix, activity, unit) without any limit.
    """

    def is_of_span(key: Any) -> bool:
        return isinstance(key, tuple) and len(key) == 5 and key[0] == "execute"

    totals = worker.digests_total
    for key in filter(is_of_span, list(totals)):
        totals[key[:1] + key[2:]] += totals.pop(key)
    for key in filter(is_of_span, list(worker.digests_max)):
        del worker.digests_max[key]


@needs("distributed.diagnostics.nvml:device_get_count",
       "distributed.diagnostics.nvml:get_device_index_and_uuid")  # fmt: skip
def gpu_uuid(device: str) -> Any:
    """Return the UUID (text or bytes) of a GPU given by index or UUID; None where NVML finds none.

    Dask initializes NVML once for each process, and pynvml does not know that it did.
    """
    from distributed.diagnostics import nvml

    if not nvml.device_get_count():
        return None
    return nvml.get_device_index_and_uuid(device).uuid


@needs("worker.periodic_callbacks", "scheduler.periodic_callbacks")
def start_periodic_callback(
    server: Any, name: str, function: Callable[[], Any], seconds: float
) -> None:
    """Call a function every ``seconds`` in a server's event loop, until the server closes.

    A plugin, whose ``close`` could stop the callback, is closed too late for that.
    """
    from tornado.ioloop import PeriodicCallback

    callback = PeriodicCallback(function, seconds * 1000)
    server.periodic_callbacks[name] = callback
    callback.start()


def stop_periodic_callback(server: Any, name: str) -> None:
    """Undo ``start_periodic_callback``."""
    if callback := server.periodic_callbacks.pop(name, None):
        callback.stop()


@needs("dask.utils:key_split.cache_info", "dask.utils:key_split.cache_clear")
def forget_key_names(limit: int) -> None:
    """Empty the cache of ``key_split`` beyond ``limit`` entries of some hundred bytes each.

    The cache itself holds 100,000, which no setting changes.
    """
    from dask.utils import key_split

    if hasattr(key_split, "cache_info") and key_split.cache_info().currsize > limit:
        key_split.cache_clear()
