"""Ask every worker, or the scheduler, something small, and wait for none that is stuck."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable
from typing import Any

from mgraph.errors import MgraphError

ANSWER_SECONDS = 5.0


def on_workers(
    client: Any,
    function: Callable[..., Any],
    *arguments: Any,
    workers: Iterable[str] | None = None,
    seconds: float = ANSWER_SECONDS,
) -> dict[str, Any]:
    """``function(*arguments)`` on each worker, which may take ``dask_worker``; answers by address.

    An answer may be an exception. A worker that does not answer in time, or is gone, is left out.
    """
    if workers is None:
        workers = client.scheduler_info(n_workers=-1)["workers"]

    async def ask(address: str) -> Any:
        asked = client.run(
            function, *arguments, workers=[address], on_error="return", asynchronous=True
        )
        return (await asyncio.wait_for(asked, seconds))[address]

    async def ask_all(addresses: list[str]) -> list[Any]:
        return await asyncio.gather(*map(ask, addresses), return_exceptions=True)

    addresses = list(workers)
    answers = client.sync(ask_all, addresses)
    told = zip(addresses, answers, strict=True)
    return {address: answer for address, answer in told if not _is_silence(answer)}


def print_nothing(client: Any) -> None:
    """Have a client not print what tasks, anybody's, give to ``distributed.print`` and ``warn``."""
    for topic in ("print", "warn"):
        with contextlib.suppress(ValueError):  # it does not do so
            client.unsubscribe_topic(topic)


def _is_silence(answer: Any) -> bool:
    if isinstance(answer, MgraphError):
        return False
    return isinstance(answer, (TimeoutError, OSError, KeyError, asyncio.CancelledError))


def in_time(client: Any, coroutine: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
    """What a client's coroutine function returns. Raises TimeoutError after ``seconds``."""
    return client.sync(coroutine, *arguments, callback_timeout=seconds)


def on_scheduler(
    client: Any, function: Callable[..., Any], *arguments: Any, seconds: float = ANSWER_SECONDS
) -> Any:
    """``function(*arguments)`` on the scheduler, which may take ``dask_scheduler``.

    Raises TimeoutError after ``seconds``.
    """
    return client.run_on_scheduler(function, *arguments, callback_timeout=seconds)


def gather_results(client: Any, futures: list[Any], seconds: float) -> list[Any]:
    """The results of finished futures. Raises TimeoutError after ``seconds``."""

    async def gather() -> Any:
        return await client.gather(futures, asynchronous=True)

    results: list[Any] = in_time(client, gather, seconds=seconds)
    return results
