"""Adds mgraph's page, metrics and records to a scheduler that starts.

``dask scheduler --preload mgraph.distributed.scheduler_preload`` brings it; then ``/mgraph`` is
there before the first client, and tells of all of them.
"""

from typing import Any


async def dask_setup(scheduler: Any) -> None:
    """Dask's hook."""
    from mgraph.distributed.monitoring.monitor import Monitor

    # Not registered, which would start it: the scheduler starts its plugins after its preloads.
    scheduler.add_plugin(Monitor(), idempotent=True)
