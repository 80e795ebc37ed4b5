"""How a generator that needs no communication scales over a cluster's workers."""

import statistics
import sys
import time
from dataclasses import dataclass
from typing import TextIO

from mgraph.distributed.clusters.connect import ClusterLike, open_cluster
from mgraph.distributed.operations.tasks import follow_parts, result_of, worker_address
from mgraph.errors import ClusterError, UsageError
from mgraph.experiments.generator_timing import generator_seconds
from mgraph.generators.copy_model import CopyModel


@dataclass(frozen=True)
class Scaling:
    """So many workers took so many seconds: the slowest of them, with an equal share each."""

    workers: int
    seconds: float
    edges: int


def make_share(
    index: int, model: CopyModel, shares: int, backend: str, repeats: int
) -> tuple[str, float]:
    """The task: which worker it ran on, and its median time to make a share of the edges."""
    from mgraph.distributed.monitoring.counters import count_edges

    part = model.part(index, shares)
    times = generator_seconds(model, part, repeats=repeats, backend=backend, threads=1)
    count_edges(model.edges_in(part) * (repeats + 1))
    return worker_address(), statistics.median(times)


def generator_scaling(
    model: CopyModel,
    *,
    repeats: int = 5,
    cluster: ClusterLike = None,
    progress: TextIO | None = sys.stderr,
) -> list[Scaling]:
    """Make the same graph in memory with 1, 2, 3 … of the workers, each with an equal share.

    On a CPU a worker uses one core. The time is the slowest worker's median of ``repeats``, after a
    first. Raises UsageError for a method that makes a graph as a whole, ClusterError where a worker
    is lost, and what ``edges`` raises.
    """
    if model.stores_endpoints:
        raise UsageError(f"method {model.method} makes a graph as a whole: it has no shares")
    if repeats < 1:
        raise UsageError(f"repeats must be 1 at least, and are {repeats}")
    found = []
    with open_cluster(cluster) as cluster:
        addresses = sorted(cluster.workers)
        for count in range(1, len(addresses) + 1):
            shares = {index: model.edges_in(model.part(index, count)) for index in range(count)}
            run = f"mgraph-scaling-{time.time_ns()}"
            futures = {
                index: cluster.client.submit(
                    make_share,
                    index,
                    model,
                    count,
                    cluster.backend,
                    repeats,
                    key=(run, index),
                    workers=[addresses[index]],
                    allow_other_workers=True,  # else it waits for ever for one that died
                )
                for index in shares
            }
            following = follow_parts(cluster, futures, shares, verb="scaling", progress=progress)
            on, times = zip(*(result_of(done, "scaling") for _, done in following), strict=True)
            if set(on) != set(addresses[:count]):
                raise ClusterError("a worker was lost while it was timed; measure again")
            found.append(Scaling(count, max(times), model.num_edges))
    return found
