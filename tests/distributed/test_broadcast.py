"""Calls with a time limit to a scheduler or its workers."""

import asyncio
import gc
import warnings

import pytest

from mgraph.distributed.protocol.broadcast import gather_results, on_scheduler, run_coroutine


class CancelledClient:
    """A client whose calls are cancelled before they start, as ctrl-C may do.

    Its ``sync`` makes the coroutines and the task that Dask's makes.
    """

    def sync(self, function, *arguments, callback_timeout=None, **options):
        async def run():
            awaitable = function(*arguments, **options)
            if callback_timeout is not None:
                awaitable = asyncio.wait_for(awaitable, callback_timeout)
            task = asyncio.ensure_future(awaitable)
            task.cancel()
            await task

        asyncio.run(run())

    async def _answer(self, *_, asynchronous=True):
        raise AssertionError("the call was cancelled")

    def gather(self, futures, asynchronous=False):
        return self._answer() if asynchronous else self.sync(self._answer)

    def run_on_scheduler(self, function, *, asynchronous=False, **options):
        return self._answer() if asynchronous else self.sync(self._answer, **options)


async def nothing():
    pass


@pytest.mark.parametrize(
    "call",
    [
        lambda client: run_coroutine(client, nothing, seconds=5),
        lambda client: gather_results(client, [], seconds=5),
        lambda client: on_scheduler(client, dict, seconds=5),
    ],
)
def test_a_call_that_is_interrupted_before_it_starts_warns_of_nothing(call):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with pytest.raises(asyncio.CancelledError):
            call(CancelledClient())
        gc.collect()
    assert not [str(warning.message) for warning in caught if "awaited" in str(warning.message)]


def test_a_call_that_takes_too_long_is_ended(cluster):
    with pytest.raises(TimeoutError):
        run_coroutine(cluster.client, asyncio.sleep, 60, seconds=0.05)
