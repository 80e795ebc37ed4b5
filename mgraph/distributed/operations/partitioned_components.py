"""``mgraph components`` of a graph whose labels no worker holds: it is spread over all of them.

Data flow: the graph is built from the dataset (``partitioned_graph``) and searched for components;
each worker writes the labels of its own vertices, and the first one the table of all components.
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.core.arrays import to_numpy
from mgraph.core.memory import memory_guard
from mgraph.distributed.operations.components_tasks import ComponentsPlan, Summary, summarize
from mgraph.distributed.operations.operation import Run
from mgraph.distributed.operations.partitioned_graph import partitioned
from mgraph.distributed.operations.partitioned_tasks import GRAPH
from mgraph.io.dataset import EdgeDataset
from mgraph.io.graph_reader import ReadOptions
from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.partition import number_dtype
from mgraph.partitioned.rank_graph import RankGraph

_REMEDY = "use more workers, or larger machines"


class Written(NamedTuple):
    """What a rank wrote. summary, sizes: of all components, at the first rank."""

    parts: list[dict[str, Any]]
    summary: dict[str, Any] | None
    sizes: Summary | None


def write_components(
    run: Run, dataset: EdgeDataset, options: ReadOptions, plan: ComponentsPlan
) -> Summary:
    """Find the components of a dataset, and write them if there is an output."""
    from mgraph.components.component_folder import ComponentFolder

    progress = run.progress
    with partitioned(
        run.cluster, dataset, options, directed=False, progress=progress, with_weights=False
    ) as graph:
        found = graph.connected_components(progress=progress)
        written: list[Written] = graph.run(write_rank, "write", name=found.name, plan=plan)
    summary, sizes = written[0].summary, written[0].sizes
    assert summary is not None
    assert sizes is not None
    if plan.folder is not None:
        identity = {"graph": plan.graph, "graph_identity": plan.identity}
        parts = [part for rank in written for part in rank.parts]
        ComponentFolder(plan.folder, plan.compression).write_manifest(
            plan.n, summary, parts, identity
        )
    return sizes


def write_rank(
    exchange: Exchange, memory: dict[str, Any], argument: None, *, name: str, plan: ComponentsPlan
) -> Written:
    """Write the labels of the rank's vertices; at the first rank the table of all components."""
    from distributed import get_worker

    from mgraph.components.component_folder import ComponentFolder
    from mgraph.components.component_sizes import ComponentSizes
    from mgraph.components.partitioned_components import RankLabels, count_sizes

    graph: RankGraph = memory[GRAPH]
    found: RankLabels = memory[name]
    threads, dtype = get_worker().state.nthreads, number_dtype(graph.n)
    with memory_guard(f"the sizes of the components of {graph.n:,} vertices", _REMEDY):
        sizes = tuple(map(to_numpy, count_sizes(exchange, graph, found)))
        none = tuple(column[:0] for column in sizes)
        messages = [sizes if rank == 0 else none for rank in range(exchange.size)]
        roots, counts = map(np.concatenate, zip(*exchange.all_to_all(messages), strict=True))
        of_all = ComponentSizes(roots.astype(dtype), counts)
        parts: list[dict[str, Any]] = []
        if plan.folder is not None:
            target = ComponentFolder(plan.folder, plan.compression)
            starts = target.part_starts(graph.partition.owned(graph.rank), threads)
            made = exchange.gather_numbers(np.array([len(starts)]))
            first = sum(int(count[0]) for count in made[: exchange.rank])
            own = to_numpy(found.labels)
            parts = target.write_parts(own, starts, first_part=first, threads=threads)
            if exchange.rank == 0:
                target.write_table(of_all, dtype)
    if exchange.rank > 0:
        return Written(parts, None, None)
    summary = of_all.summary()
    whole = summarize(of_all.sizes, summary["components"], summary["largest"])
    return Written(parts, summary, whole)
