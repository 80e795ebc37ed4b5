"""What a client, and a process that starts a cluster, needs of Dask's internals."""

import asyncio
import contextlib
from typing import Any

from mgraph.distributed.protocol.dask_internals.needs import needs


@needs("client.scheduler.identity")
async def identity(client: Any) -> dict[str, Any]:
    """Ask the scheduler for its own and its workers' figures.

    ``Client.scheduler_info`` takes no time limit; in an event loop its answer is a cached one.
    """
    return dict(await client.scheduler.identity(n_workers=-1))


@needs("client.scheduler.versions", "client.scheduler.broadcast", "worker.handlers.versions")
async def versions(client: Any, worker: str | None) -> Any:
    """Ask a worker, or the scheduler if None, for its versions of Python and of packages.

    ``Client.get_versions`` asks all of them, and waits for one that hangs; ``Client.run`` sends
    code, which a worker with another Python cannot load.
    """
    if worker is None:
        return dict(await client.scheduler.versions(packages=[]))
    message = {"op": "versions", "packages": []}
    answers = await client.scheduler.broadcast(msg=message, workers=[worker], on_error="return")
    return answers[worker]


@needs("distributed:connect", "distributed:Security.get_connection_args")
async def request(address: str, security: Any, seconds: float, **message: Any) -> Any:
    """Send one request to the server at an address, and return its reply; ``op`` names a handler.

    ``distributed.rpc`` raises an error of its own for a reply that it does not understand.
    """
    from distributed import Security, connect

    arguments = (security or Security()).get_connection_args("client")
    comm = await connect(address, timeout=seconds, **arguments)
    try:
        await comm.write({"reply": True, **message})
        return await comm.read()
    finally:
        comm.abort()


@needs("client._event_handlers")
def drop_topic_handler(client: Any, topic: str) -> None:
    """Remove a client's handler of a topic.

    ``Client.unsubscribe_topic`` keeps the handler, and subscribes again after a reconnection.
    """
    client._event_handlers.pop(topic, None)


@needs("client._close", "client.scheduler_comm.close")
def close_stream_with(client: Any) -> None:
    """Have a client that closes also end the coroutine that sends its messages.

    ``Client.close`` leaves that out where the scheduler closes the connection first; a timer of the
    coroutine may then end together with the event loop, which prints "Future exception was never
    retrieved" and a traceback.
    """
    close = client._close

    async def close_with_stream(*arguments: Any, **options: Any) -> None:
        stream = client.scheduler_comm
        await close(*arguments, **options)
        if stream is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stream.close(), 1)

    client._close = close_with_stream


@needs("distributed.utils:format_dashboard_link")
def dashboard_link(host: str, port: int) -> str:
    """Fill a host and a port into the configured ``distributed.dashboard.link``.

    ``Client.dashboard_link`` always takes the scheduler's host, and cuts an IPv6 address.
    """
    from distributed.utils import format_dashboard_link

    return str(format_dashboard_link(host, port))


@needs("distributed.system:MEMORY_LIMIT")
def detected_memory_limit() -> int:
    """Return the bytes that ``LocalCluster(memory_limit="auto")`` divides, and does not return."""
    from distributed import system

    return int(system.MEMORY_LIMIT)


@needs("distributed.utils:_forkserver_preload_set")
def keep_forkserver_preload() -> None:
    """Stop Dask from replacing the fork server's modules, which imports pandas and others here.

    No setting does: ``distributed.worker.preload`` is another list.
    """
    import distributed.utils

    if hasattr(distributed.utils, "_forkserver_preload_set"):
        distributed.utils._forkserver_preload_set = True
