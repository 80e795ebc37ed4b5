"""Removes records that Dask keeps for as long as a scheduler runs.

These are its spans, with the groups of their tasks, some kilobytes per operation; one topic of
events for each client that ever connected; and the names of up to 100,000 keys.
"""

from typing import Any

from mgraph.distributed.protocol import dask_internals

PRUNE_SECONDS = 60.0  # after the end of a span
MAX_KEYS = 10_000


def prune(scheduler: Any) -> None:
    """Remove the records of what has ended."""
    dask_internals.forget_spans(scheduler, PRUNE_SECONDS)
    dask_internals.forget_empty_topics(scheduler)
    dask_internals.forget_key_names(MAX_KEYS)
