"""The tasks of ``mgraph msf``: a batch of parts becomes a forest, or all workers make one together.

The second is the program of a rank, ``span_rank``: the workers hold all edges, and write no forest
but the result (``spanning_trees/partitioned_forest.py``).
"""

import threading
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from mgraph import timings
from mgraph.core import cancellation
from mgraph.core.choices import Device
from mgraph.core.edges import EdgeList
from mgraph.core.exact_sum import exact_sum
from mgraph.core.memory import memory_guard
from mgraph.distributed.operations.spanning_forest_plan import ForestPlan, Job, write_done
from mgraph.errors import DatasetError, UsageError
from mgraph.io.dataset import Part, part_name
from mgraph.io.graph_reader import drop_infinite
from mgraph.io.manifest import PartRecord
from mgraph.partitioned.exchange import Exchange

_memory_lock = threading.Lock()  # a worker's, or its GPU's: one batch at a time


class Forest(NamedTuple):
    """A forest in files: their records, its edges and, of the result, the exact sum of weights."""

    records: tuple[PartRecord, ...]
    num_edges: int
    total_weight: int | Fraction = 0


def reduce_parts(job: Job, plan: ForestPlan) -> Forest:
    """Write the forest of a job's parts, as an intermediate one or as the result."""
    assert plan.folder is not None
    from distributed import get_worker

    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.io.graph_dataset import read_parts, write_parts
    from mgraph.spanning_trees.edge_forest import forest_of_edges

    threads = get_worker().state.nthreads  # the other cores belong to other workers
    third = job.edges // 3  # progress counts a third each for reading, spanning and writing

    def read() -> EdgeList:
        edges = read_parts(job.parts, plan.dtypes, plan.graph, plan.backend, threads)
        count_edges(third)
        return drop_infinite(edges) if plan.drop_infinite else edges

    with (
        cancellation.acquiring(_memory_lock),
        memory_guard(f"{job.edges:,} edges and their forest", "use a smaller `batch`"),
    ):
        try:
            edges = read()
            with timings.step(timings.COMPUTING):
                forest = forest_of_edges(edges, plan.n, threads)
            del edges
        except UsageError as error:  # the files are at fault
            raise DatasetError(f"{plan.graph}: {error}") from error
        total: int | Fraction = 0
        if job.name is None:
            total = len(forest) if forest.weight is None else exact_sum(forest.weight)
    count_edges(third)
    records = write_parts(
        forest,
        plan.n,
        plan.folder,
        compression=plan.compression if job.name is None else "lz4",
        name=part_name if job.name is None else lambda index: f"{job.name}{index:05d}.parquet",
        threads=threads,
    )
    count_edges(job.edges - 2 * third)
    if job.name is not None:
        write_done(plan.folder, job.name, records)
    return Forest(tuple(records), len(forest), total)


def span_rank(
    exchange: Exchange, memory: dict[str, Any], parts: Sequence[Part], *, plan: ForestPlan
) -> Forest:
    """Read a rank's share of the edges; write its range of all ranks' forest, if it is written."""
    from distributed import get_worker

    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.io.graph_dataset import cut_parts, read_parts, write_parts
    from mgraph.spanning_trees.partitioned_forest import spanning_forest

    threads = get_worker().state.nthreads
    edges_read = sum(map(len, parts))
    third = edges_read // 3
    with memory_guard(f"a worker's share of {plan.graph}", "use more workers, or larger machines"):
        blocks = [read_parts(parts, plan.dtypes, plan.graph, plan.backend, threads)]
        count_edges(third)
        if plan.drop_infinite:
            blocks = [drop_infinite(blocks.pop())]
        try:
            with timings.step(timings.COMPUTING):
                backend: Device = "gpu" if plan.backend == "gpu" else "cpu"
                ranges, edges = spanning_forest(exchange, blocks, plan.n, threads, backend)
        except UsageError as error:  # the files are at fault
            raise DatasetError(f"{plan.graph}: {error}") from error
        count_edges(third)
        records: list[PartRecord] = []
        if plan.folder is not None:
            bounds = cut_parts(edges, ranges.owned(exchange.rank), threads)
            counts = exchange.gather_numbers(np.array([len(bounds) - 1]))
            records = write_parts(
                edges, plan.n, plan.folder, compression=plan.compression, bounds=bounds,
                first_part=sum(int(count[0]) for count in counts[: exchange.rank]),
                threads=threads,
            )  # fmt: skip
        total = len(edges) if edges.weight is None else exact_sum(edges.weight)
    count_edges(edges_read - 2 * third)
    return Forest(tuple(records), len(edges), total)
