"""Strong scaling of a communication-free generator over a cluster's workers."""

import statistics
import sys
import time
from dataclasses import dataclass
from typing import TextIO

from mgraph.core.choices import Backend
from mgraph.distributed.clusters.connect import ClusterLike, open_cluster
from mgraph.distributed.operations.tasks import fetch_result, follow_parts, worker_address
from mgraph.errors import ClusterError, UsageError
from mgraph.experiments.generator_timing import generator_seconds
from mgraph.generators.copy_model import CopyModel


@dataclass(frozen=True)
class Scaling:
    """The run time with equal shares for a number of workers: that of the slowest."""

    workers: int
    seconds: float
    edges: int


def make_share(
    index: int, model: CopyModel, shares: int, backend: Backend, repeats: int
) -> tuple[str, float]:
    """Generate one share, as a task; return the worker's address and the median seconds."""
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
    """Generate the same graph in memory with 1, 2, 3 … workers, each with an equal share.

    On a CPU a worker uses one core. The time is the slowest worker's median of ``repeats``, after a
    warm-up. Raises UsageError for a method that cannot generate parts, ClusterError if a worker is
    lost, and what ``CopyModel.edges`` raises.
    """
    if model.stores_endpoints:
        raise UsageError(
            f"method {model.method} cannot generate parts by themselves, so it does not scale"
        )
    if repeats < 1:
        raise UsageError(f"repeats must be at least 1 (got {repeats})")
    results = []
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
                    allow_other_workers=True,  # otherwise it would wait for a dead worker for ever
                )
                for index in shares
            }
            following = follow_parts(cluster, futures, shares, verb="scaling", progress=progress)
            used, times = zip(
                *(fetch_result(done, "scaling") for _, done in following), strict=True
            )
            if set(used) != set(addresses[:count]):
                raise ClusterError("a worker was lost during the measurement; measure again")
            results.append(Scaling(count, max(times), model.num_edges))
    return results
