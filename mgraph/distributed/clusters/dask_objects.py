"""Clients and clusters of Dask's own, which a caller passes or has open.

An operation opens a client of mgraph's own at their scheduler, and closes that alone.
"""

import sys
import weakref
from typing import Any, NamedTuple

from mgraph.errors import UsageError

# Clients that mgraph has opened, which are no caller's.
OWN_CLIENTS: weakref.WeakSet[Any] = weakref.WeakSet()


class FoundScheduler(NamedTuple):
    """The address of a scheduler, and the ``distributed.Security`` by which it is reached."""

    address: str
    security: Any


def scheduler_of(value: Any) -> FoundScheduler | None:
    """Return the scheduler of a ``distributed.Client`` or of a cluster of Dask's, else None.

    Raises UsageError for one that is closed.
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    if isinstance(value, distributed.Client):
        address = None if value.scheduler is None else value.scheduler.address
        is_open = value.status in ("running", "connecting", "newly-created")
    elif isinstance(value, distributed.deploy.Cluster):
        address, is_open = value.scheduler_address, value.status.name in ("running", "created")
    else:
        return None
    if not (is_open and address):
        raise UsageError(f"a {type(value).__name__} of Dask that is not running has no workers")
    return FoundScheduler(address, value.security)


def current_scheduler() -> FoundScheduler | None:
    """Return the scheduler of the client that the caller has opened, if there is one."""
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    try:
        client = distributed.default_client()
    except ValueError:
        return None
    if client in OWN_CLIENTS or client.status != "running":
        return None
    return scheduler_of(client)
