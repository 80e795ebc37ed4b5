"""The endpoints of a graph that its method makes as a whole, for the tasks that read them.

Each worker holds them all. Where they fit no single GPU, the GPUs of one host share them, a rank
per worker (``mgraph.generators.cuppa_peers_gpu``). What a task has read of another worker's memory
counts only if that worker still runs afterwards: memory of one that has ended may hold anything.
"""

import contextlib
import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager
from typing import Any, TextIO

from distributed import get_worker

from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.operations.generate_plan import choose_ranks
from mgraph.distributed.operations.graph_holder import held_by_workers, holder
from mgraph.distributed.operations.operation import Run
from mgraph.distributed.operations.rank_exchange import LOST, RankPlugin, check_alive
from mgraph.distributed.operations.ranks import REMEDY, RankLostError, ranks_of
from mgraph.errors import ClusterError
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_model import CopyModel
from mgraph.partitioned.exchange import Exchange

SHARE, OWNERS = "share", "owners"  # in a rank's memory


def hold_endpoints(model: CopyModel, run: Run) -> AbstractContextManager[str] | None:
    """Return what holds a model's endpoints for a block, if its method makes them as a whole.

    It gives the name of the holder. Raises OutOfMemoryError if they do not fit.
    """
    if not model.stores_endpoints:
        return None
    if choose_ranks(model, run.cluster) > 1:
        return held_by_gpus(run.cluster, model, run.progress)
    make = functools.partial(
        preferential_attachment.generate_endpoints, model, backend=run.cluster.backend
    )
    return held_by_workers(run.cluster, make)


@contextlib.contextmanager
def held_by_gpus(cluster: Cluster, model: CopyModel, progress: TextIO | None) -> Iterator[str]:
    """Generate the graph, and yield the name under which workers hold it for the block."""
    with ranks_of(cluster) as ranks:
        arguments, sizes = [None] * ranks.size, [model.num_edges // ranks.size] * ranks.size
        ranks.run(
            make_share, arguments, verb="generate-share", sizes=sizes, progress=progress,
            by_nccl=False, model=model, owners=ranks.addresses,
        )  # fmt: skip
        try:
            yield ranks.plugin
        finally:
            with contextlib.suppress(ClusterError):  # what failed before tells more
                ranks.run(
                    release_share, arguments, verb="generate-share", sizes=sizes, by_nccl=False
                )


def make_share(
    exchange: Exchange,
    memory: dict[str, Any],
    argument: None,
    *,
    model: CopyModel,
    owners: tuple[str, ...],
) -> None:
    """Generate this rank's share of the graph."""
    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.generators.cuppa_peers_gpu import PeerEndpoints

    memory[OWNERS] = owners
    memory[SHARE] = share = PeerEndpoints(exchange, model)
    share.generate(exchange, model)
    count_edges(model.num_edges // exchange.size)


def release_share(exchange: Exchange, memory: dict[str, Any], argument: None) -> None:
    """Free this rank's share."""
    memory.pop(SHARE).close(exchange)


def find_endpoints(name: str | None) -> Any:
    """Return, in a task, the endpoints that a holder has; None without a holder."""
    if name is None:
        return None
    plugin = get_worker().plugins[name]
    if not isinstance(plugin, RankPlugin):
        return holder(name).graph()
    if SHARE not in plugin.memory:  # a worker that came later
        raise RankLostError(LOST + REMEDY)
    return plugin.memory[SHARE].endpoints


def check_owners(name: str | None) -> None:
    """Raise RankLostError if a worker whose memory this task may have read has ended."""
    plugin = name and get_worker().plugins[name]
    if isinstance(plugin, RankPlugin):
        try:
            check_alive(plugin, plugin.memory[OWNERS])
        except ClusterError as error:
            raise RankLostError(LOST + REMEDY) from error
