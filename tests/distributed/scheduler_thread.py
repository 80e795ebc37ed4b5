"""What a test does to a scheduler in its own process."""

import asyncio


def on_loop(scheduler, function):
    """Run something in the scheduler's own thread."""

    async def run():
        return function()

    return asyncio.run_coroutine_threadsafe(run(), scheduler.loop.asyncio_loop).result(30)
