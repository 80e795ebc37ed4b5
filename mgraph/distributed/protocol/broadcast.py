"""Small calls to every worker, or to the scheduler, that do not wait for a process that hangs."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any

from mgraph.distributed.protocol import dask_internals
from mgraph.errors import MgraphError

ANSWER_SECONDS = 5.0
SCHEDULER_SECONDS = 30.0  # for a scheduler that is busy


def workers_of(client: Any, seconds: float = SCHEDULER_SECONDS) -> dict[str, Any]:
    """Return the scheduler's figures of each worker, by address.

    ``Client.scheduler_info`` returns the last answer that the client has had. Every two seconds it
    asks for the cluster's totals alone, and if that answer comes before the other one is read,
    there are no workers. Raises OSError or TimeoutError if the scheduler does not answer.
    """
    identity = run_coroutine(client, dask_internals.identity, client, seconds=seconds)
    return dict(identity["workers"])


def on_workers(
    client: Any,
    function: Callable[..., Any],
    *arguments: Any,
    workers: Iterable[str] | None = None,
    seconds: float = ANSWER_SECONDS,
) -> dict[str, Any]:
    """Call ``function(*arguments)`` on each worker; returns the results by address.

    The function may take ``dask_worker``. A result may be an exception that the function raised. A
    worker that does not answer in time, or is gone, is left out.
    """
    if workers is None:
        try:
            workers = workers_of(client)
        except (OSError, TimeoutError):
            return {}

    async def call(address: str) -> Any:
        answers = client.run(
            function, *arguments, workers=[address], on_error="return", asynchronous=True
        )
        return (await asyncio.wait_for(answers, seconds))[address]

    async def call_all(addresses: list[str]) -> list[Any]:
        return await asyncio.gather(*map(call, addresses), return_exceptions=True)

    addresses = list(workers)
    results = zip(addresses, client.sync(call_all, addresses), strict=True)
    return {address: result for address, result in results if not _is_missing(result)}


def _is_missing(result: Any) -> bool:
    """Return whether an exception comes from Dask, which had no answer of a worker."""
    if isinstance(result, MgraphError):
        return False
    return isinstance(result, (TimeoutError, OSError, KeyError, asyncio.CancelledError))


def on_scheduler(
    client: Any, function: Callable[..., Any], *arguments: Any, seconds: float = ANSWER_SECONDS
) -> Any:
    """Call ``function(*arguments)`` on the scheduler, which may take ``dask_scheduler``.

    Raises TimeoutError after ``seconds``.
    """

    async def call() -> Any:
        return await client.run_on_scheduler(function, *arguments, asynchronous=True)

    return run_coroutine(client, call, seconds=seconds)


def run_coroutine(
    client: Any, function: Callable[..., Any], *arguments: Any, seconds: float
) -> Any:
    """Run a coroutine function in a client's event loop. Raises TimeoutError after ``seconds``.

    The time limit is set inside the coroutine. Dask's ``callback_timeout`` wraps a coroutine that
    is made before, and a ctrl-C that comes before it starts leaves it never awaited, which Python
    warns about.
    """

    async def run() -> Any:
        return await asyncio.wait_for(function(*arguments), seconds)

    return client.sync(run)


def gather_results(client: Any, futures: list[Any], seconds: float) -> list[Any]:
    """Return the results of finished futures. Raises TimeoutError after ``seconds``."""

    async def gather() -> Any:
        return await client.gather(futures, asynchronous=True)

    results: list[Any] = run_coroutine(client, gather, seconds=seconds)
    return results


def silence_task_prints(client: Any) -> None:
    """Keep a client from printing what tasks give to ``distributed.print`` and ``warn``.

    Otherwise every client prints the lines of every client's tasks.
    """
    for topic in ("print", "warn"):
        # The handler replaces the one that prints: a client that reconnects subscribes again.
        client.subscribe_topic(topic, lambda event: None)
        client.unsubscribe_topic(topic)
