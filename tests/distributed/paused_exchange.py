"""A rank that stops before one of its exchanges, until it is killed or goes on."""

import os
import pathlib
import time

from mgraph.core import cancellation
from mgraph.partitioned.exchange import Exchange


class PausedExchange(Exchange):
    """Passes everything on. calls: before the pause; the rank then writes its process's number."""

    def __init__(self, exchange, calls, folder):
        self.rank, self.size, self._exchange = exchange.rank, exchange.size, exchange
        self._calls, self._folder = calls, pathlib.Path(folder)

    def all_to_all(self, messages):
        if self._calls == 0:
            self.pause()
        self._calls -= 1
        return self._exchange.all_to_all(messages)

    def pause(self):
        temporary = self._folder / f".{os.getpid()}"
        temporary.write_text("")
        temporary.rename(self._folder / f"paused-{os.getpid()}")
        while not (self._folder / "go-on").exists():
            cancellation.raise_if_cancelled()
            time.sleep(0.02)


def paused_programs(exchange, memory, parts, *, plan, search, pauses, folder):
    """Build a graph and search it. pauses: by rank, the exchanges before a pause."""
    from mgraph.distributed.operations.partitioned_tasks import build_rank, search_rank

    if exchange.rank in pauses:
        exchange = PausedExchange(exchange, pauses[exchange.rank], folder)
    build_rank(exchange, memory, parts, plan=plan)
    return search_rank(exchange, memory, None, plan=search)


def paused_span(calls, exchange, memory, parts, *, plan):
    """Make a forest together; the second rank pauses after some exchanges."""
    from mgraph.distributed.operations.spanning_forest_tasks import span_rank

    if exchange.rank == 1:
        folder = pathlib.Path(plan.folder.location).parent
        exchange = PausedExchange(exchange, calls, folder)
    return span_rank(exchange, memory, parts, plan=plan)
