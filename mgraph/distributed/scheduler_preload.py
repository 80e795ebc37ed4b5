"""Adds mgraph's page, metrics and records to a scheduler when it starts.

``dask scheduler --preload mgraph.distributed.scheduler_preload`` loads this module; the page
``/mgraph`` then exists before the first client connects, and shows the work of every client.
"""

from typing import Any


async def dask_setup(scheduler: Any) -> None:
    """Dask calls this function when the scheduler starts."""
    from mgraph.distributed.monitoring.monitor import Monitor

    # Not registered, which would start it: the scheduler starts its plugins after its preloads.
    scheduler.add_plugin(Monitor(), idempotent=True)
