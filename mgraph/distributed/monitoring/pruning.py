"""What Dask would keep for ever on a scheduler that stays is forgotten after a while.

That is every span that there was, with the groups of its tasks, some kilobytes for each operation;
of every client that there was a topic of events, of which it forgets the events alone; and, not
for ever, but for 100,000 keys, what each is called.
"""

from typing import Any

from mgraph.distributed.protocol import dask_internals

PRUNE_SECONDS = 60.0  # after its end
MOST_KEYS = 10_000


def prune(scheduler: Any) -> None:
    """Forget what is over."""
    dask_internals.forget_spans(scheduler, PRUNE_SECONDS)
    dask_internals.forget_empty_topics(scheduler)
    dask_internals.forget_key_names(MOST_KEYS)
