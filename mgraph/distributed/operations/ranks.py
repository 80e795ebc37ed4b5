"""Run a program at all ranks at once: one task per worker, each on its own."""

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from mgraph.core import cancellation
from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.operations.rank_exchange import LOST, RankPlugin, WorkerExchange
from mgraph.distributed.operations.tasks import describe_task, run_parts
from mgraph.distributed.protocol.broadcast import workers_of
from mgraph.distributed.protocol.failures import explaining
from mgraph.errors import ClusterError, ConnectionLostError
from mgraph.partitioned.exchange import Exchange, ExchangeLostError

WATCH_SECONDS = 1.0  # between two looks at which workers are there
GRACE_SECONDS = 5.0  # from the first rank's failure until all are cancelled
_reusable: dict[tuple[str, ...], Any] = {}  # of this process: by the ranks' addresses, one at most
REMEDY = "; the graph is gone with it: start again"


class RankLostError(ClusterError):
    """A worker of the ranks has ended or cannot be reached."""


# A program of ranks: takes the exchange, the worker's memory, and the rank's argument.
Program = Callable[..., Any]


@dataclass(frozen=True)
class Ranks:
    """The ranks of a graph: the name of their plugin, and their workers' addresses, by rank."""

    cluster: Cluster
    plugin: str
    addresses: tuple[str, ...]

    @property
    def size(self) -> int:
        """The number of ranks."""
        return len(self.addresses)

    def run(
        self,
        program: Program,
        arguments: Sequence[Any],
        *,
        verb: str,
        sizes: Sequence[int],
        unit: str = "edges",
        progress: TextIO | None = None,
        by_nccl: bool = True,
        **common: Any,
    ) -> list[Any]:
        """Return ``program(exchange, memory, argument, **common)`` of each rank.

        arguments, sizes: by rank; sizes are for the progress line. by_nccl: whether ranks with GPUs
        exchange between these. Raises the error of the rank that failed first, RankLostError if a
        worker is lost.
        """
        from distributed import Lock

        run, client = f"{time.time_ns()}", self.cluster.client
        jobs = dict(enumerate(arguments))
        # Two runs that each have some of the workers would wait for each other for ever.
        with (
            explaining(describe_task(verb)),
            Lock("mgraph-ranks", scheduler_rpc=client.scheduler, loop=client.loop),
            self._watching() as watch,
        ):
            try:
                run_parts(
                    self.cluster, run_rank, jobs, dict(enumerate(sizes)), verb=verb, unit=unit,
                    progress=progress, workers=self.addresses, on_submit=watch.follow,
                    on_results=watch.receive, program=program, plugin=self.plugin, run=run,
                    addresses=self.addresses, options=common,
                    by_nccl=by_nccl and self.cluster.backend == "gpu" and self.size > 1,
                )  # fmt: skip
            except ConnectionLostError:
                if not watch.has_cancelled:
                    raise
            outcomes = watch.outcomes
            errors = [outcome.error for outcome in outcomes.values() if outcome.error is not None]
            for error in errors:
                if not isinstance(error, ExchangeLostError):
                    raise error
        if len(outcomes) < self.size or errors:
            raise RankLostError(LOST + REMEDY) from (errors[0] if errors else None)
        return [outcomes[rank].result for rank in range(self.size)]

    @contextlib.contextmanager
    def _watching(self) -> Iterator["_Watch"]:
        watch = _Watch(self.cluster.client, frozenset(self.addresses))
        watch.start()
        try:
            yield watch
        finally:
            watch.over.set()


class _Watch(threading.Thread):
    """Cancels the tasks of a run when one of its workers is gone, or soon after a rank has failed.

    Dask would wait for ever for a worker that a task is pinned to, and long for one that hangs.
    """

    def __init__(self, client: Any, addresses: frozenset[str]) -> None:
        super().__init__(name="mgraph-ranks", daemon=True)
        self._client, self._addresses = client, addresses
        self._futures: list[Any] = []
        self._deadline = float("inf")
        self.outcomes: dict[int, Outcome] = {}
        self.over, self.has_cancelled = threading.Event(), False

    def follow(self, futures: Sequence[Any]) -> None:
        """Watch over these tasks."""
        self._futures = list(futures)

    def receive(self, outcomes: Mapping[int, "Outcome"]) -> None:
        """Take note of what ranks have returned."""
        self.outcomes |= outcomes
        if any(outcome.error is not None for outcome in outcomes.values()):
            self._deadline = min(self._deadline, time.monotonic() + GRACE_SECONDS)

    def run(self) -> None:
        """Look at the workers until the run is over."""
        while not self.over.wait(WATCH_SECONDS):
            with contextlib.suppress(Exception):  # a lost scheduler is noticed elsewhere
                workers = workers_of(self._client)
                is_lost = bool(self._futures) and not self._addresses <= workers.keys()
                if is_lost or time.monotonic() > self._deadline:
                    self.has_cancelled = True
                    self._client.cancel(self._futures, force=True)
                    return


@dataclass(frozen=True)
class Outcome:
    """What a rank returned, or raised."""

    result: Any = None
    error: BaseException | None = None


def run_rank(
    argument: Any,
    *,
    program: Program,
    plugin: str,
    run: str,
    addresses: Sequence[str],
    by_nccl: bool,
    options: dict[str, Any],
) -> Outcome:
    """Run a program at the rank of this worker."""
    from distributed import get_worker

    worker = get_worker()
    ranks: RankPlugin = worker.plugins[plugin]
    state = "failed"
    try:
        exchange: Exchange = WorkerExchange(
            ranks, run, list(addresses).index(worker.address), addresses
        )
        if by_nccl:
            exchange = _between_gpus(exchange, addresses)
        result = program(exchange, ranks.memory, argument, **options)
        if by_nccl:
            _reusable[tuple(addresses)] = exchange.reusable()
        state = "done"
        return Outcome(result)
    except cancellation.Cancelled:
        raise
    except Exception as error:
        return Outcome(error=error)
    finally:
        ranks.end(run, state)


def _between_gpus(control: Exchange, addresses: Sequence[str]) -> Exchange:
    """Return NCCL's exchange, with the workers' for control."""
    from mgraph.partitioned.exchange_gpu import NcclExchange

    known = _reusable.pop(tuple(addresses), None)
    _reusable.clear()  # of other workers, or of a run that failed at another rank
    return NcclExchange(control, known)


@contextlib.contextmanager
def ranks_of(cluster: Cluster) -> Iterator[Ranks]:
    """Yield a rank per worker of a cluster, which hold what programs keep for the block."""
    plugin = RankPlugin()
    with explaining("preparing the workers"):
        cluster.client.register_plugin(plugin)
    try:
        # Those that are there now: a worker that was killed has come back at another address.
        with explaining("preparing the workers"):
            addresses = tuple(sorted(workers_of(cluster.client)))
        yield Ranks(cluster, plugin.name, addresses)
    finally:
        with contextlib.suppress(Exception):  # of a scheduler that is gone
            cluster.client.unregister_worker_plugin(plugin.name)
