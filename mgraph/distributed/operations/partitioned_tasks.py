"""The programs of the ranks of a partitioned graph; each runs at all ranks at once.

A rank keeps its share of the graph, and results under names, in its worker's memory.
"""

import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from mgraph import timings
from mgraph.core.arrays import to_numpy
from mgraph.core.exact_sum import exact_sum
from mgraph.core.memory import memory_guard
from mgraph.distributed.operations.graph_shares import BuildPlan, ModelEdges, Share
from mgraph.errors import DatasetError, UsageError
from mgraph.partitioned.exchange import Exchange
from mgraph.partitioned.rank_graph import RankGraph

GRAPH = "graph"  # the rank's share, in its memory
_REMEDY = "use more workers, or larger machines"


class RankFacts(NamedTuple):
    """What a rank tells of its share. bytes: at rest. seconds: of reading, and of all."""

    first: int
    owned: int
    arcs: int
    ghosts: int
    bytes: int
    num_arcs: int
    min_weight: int | float
    max_weight: int | float
    sum_weight: float
    reading_seconds: float
    seconds: float


def build_rank(
    exchange: Exchange, memory: dict[str, Any], share: Share, *, plan: BuildPlan
) -> RankFacts:
    """Read a rank's share of the files, or make it, and build its share of the graph.

    share: parts, or a range of the model's vertices.
    """
    from distributed import get_worker

    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.io.graph_dataset import read_parts
    from mgraph.io.graph_reader import drop_infinite
    from mgraph.partitioned import build
    from mgraph.partitioned.edge_source import EdgeSource, HeldEdges, Request

    began = time.perf_counter()
    threads = get_worker().state.nthreads
    dtype = plan.dtypes[2] if len(plan.dtypes) > 2 else None
    request = Request(plan.n, dtype, plan.directed, plan.backend)
    source: EdgeSource
    with memory_guard(f"a worker's share of {plan.location}", _REMEDY):
        try:
            if isinstance(share, range):
                assert plan.model is not None
                source = ModelEdges(plan.model, share, plan.backend, threads)
            else:
                edges = read_parts(share, plan.dtypes, plan.location, "cpu", threads)
                if plan.drop_infinite:
                    edges = drop_infinite(edges)
                source = HeldEdges(edges, plan.backend)
                del edges
            size = sum(source.sizes)
            reading_seconds = time.perf_counter() - began
            count_edges(size // 2)
            graph = build.build(exchange, source, request)
            del source
        except UsageError as error:  # the files are at fault
            raise DatasetError(f"{plan.location}: {error}") from error
    count_edges(size - size // 2)
    memory[GRAPH] = graph
    arrays = [graph.indptr, graph.heads, graph.ghosts, *graph.exports]
    if graph.weights is not None:
        arrays.append(graph.weights)
    return RankFacts(
        graph.first, graph.owned, graph.heads.size, int(graph.ghost_bounds[-1]),
        sum(array.nbytes for array in arrays), graph.num_arcs, graph.min_weight, graph.max_weight,
        graph.sum_weight, reading_seconds, time.perf_counter() - began,
    )  # fmt: skip


@dataclass(frozen=True)
class SearchPlan:
    """A search that all ranks do. name: under which distances and predecessors are kept."""

    name: str
    sources: tuple[int, ...]
    targets: tuple[int, ...]
    stop_at_first: bool
    cutoff: Any
    dtype: Any
    delta: float | None
    predecessors: bool


class SearchFacts(NamedTuple):
    """What a rank found: vertices reached, the greatest distance, rounds and seconds."""

    reached: int
    max_distance: int | float
    rounds: int
    seconds: float


def search_rank(
    exchange: Exchange, memory: dict[str, Any], argument: None, *, plan: SearchPlan
) -> SearchFacts:
    """Search on the partitioned graph, and keep what was found for the rank's vertices."""
    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.shortest_paths import partitioned_bfs, partitioned_delta_stepping
    from mgraph.shortest_paths.partitioned_delta_stepping import Limits
    from mgraph.shortest_paths.result import summarize

    graph: RankGraph = memory[GRAPH]
    with memory_guard("a search on a partitioned graph", _REMEDY), timings.step(timings.COMPUTING):
        exchange.all_reduce(0)  # the time begins when all ranks are there
        began = time.perf_counter()
        limits = Limits(np.array(plan.targets, np.int64), plan.stop_at_first, plan.cutoff)
        request = exchange, graph, plan.sources, limits
        if graph.weights is None:
            paths = partitioned_bfs.search(*request, predecessors=plan.predecessors)
        else:
            paths = partitioned_delta_stepping.search(
                *request, dtype=plan.dtype, delta=plan.delta, predecessors=plan.predecessors
            )
        reached, greatest = summarize(paths.distance)
        seconds = time.perf_counter() - began
    count_edges(graph.heads.size)
    memory[plan.name] = paths.distance, paths.predecessor
    return SearchFacts(reached, greatest, paths.rounds, seconds)


class ComponentFacts(NamedTuple):
    """How many components have a rank's vertex as their smallest; the first largest of them."""

    num_components: int
    largest: int | None
    largest_size: int
    seconds: float


def label_rank(
    exchange: Exchange, memory: dict[str, Any], argument: None, *, name: str
) -> ComponentFacts:
    """Find the components of the partitioned graph, and keep the labels of the rank's vertices."""
    from mgraph.components.partitioned_components import count_sizes, label_components
    from mgraph.distributed.monitoring.counters import count_edges

    graph: RankGraph = memory[GRAPH]
    guard = memory_guard("the components of a partitioned graph", _REMEDY)
    with guard, timings.step(timings.COMPUTING):
        exchange.all_reduce(0)  # the time begins when all ranks are there
        began = time.perf_counter()
        found = label_components(exchange, graph)
        roots, sizes = count_sizes(exchange, graph, found)
        seconds = time.perf_counter() - began  # now a GPU is done as well
    count_edges(graph.heads.size)
    memory[name] = found
    if not sizes.size:
        return ComponentFacts(0, None, 0, seconds)
    position = int(sizes.argmax())
    return ComponentFacts(sizes.size, int(roots[position]), int(sizes[position]), seconds)


class ForestFacts(NamedTuple):
    """How many edges of the forest a rank keeps, and the exact sum of their weights."""

    num_edges: int
    total_weight: int | Fraction
    seconds: float


def span_graph_rank(
    exchange: Exchange, memory: dict[str, Any], argument: None, *, name: str
) -> ForestFacts:
    """Find the minimum spanning forest of the partitioned graph, and keep a range of its edges."""
    from distributed import get_worker

    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.spanning_trees.partitioned_forest import spanning_forest

    graph: RankGraph = memory[GRAPH]
    threads = get_worker().state.nthreads
    guard = memory_guard("the spanning forest of a partitioned graph", _REMEDY)
    with guard, timings.step(timings.COMPUTING):
        exchange.all_reduce(0)  # the time begins when all ranks are there
        began = time.perf_counter()
        _, forest = spanning_forest(exchange, [graph.edges()], graph.n, threads, graph.backend)
        total = len(forest) if forest.weight is None else exact_sum(forest.weight)
        seconds = time.perf_counter() - began
    count_edges(graph.heads.size)
    memory[name] = tuple(forest)
    return ForestFacts(len(forest), total, seconds)


def lengths_rank(
    exchange: Exchange, memory: dict[str, Any], argument: None, *, name: str, vertices: Any
) -> list[Any]:
    """Return the distances of vertices, None for those that the rank does not own."""
    graph: RankGraph = memory[GRAPH]
    own, distance = graph.partition.owned(graph.rank), memory[name][0]
    return [distance[v - graph.first].item() if v in own else None for v in vertices]


def follow_rank(
    exchange: Exchange, memory: dict[str, Any], argument: None, *, name: str, target: int
) -> list[int]:
    """Return the vertices of the path from a source to a vertex that was reached."""
    graph: RankGraph = memory[GRAPH]
    own, predecessor = graph.partition.owned(graph.rank), memory[name][1]
    path, vertex = [target], target
    while True:
        before = int(predecessor[vertex - graph.first]) if vertex in own else -1
        vertex = int(exchange.all_reduce(before, np.max)[0])
        if vertex < 0:
            return path[::-1]
        path.append(vertex)


def fetch_rank(
    exchange: Exchange, memory: dict[str, Any], argument: None, *, name: str, index: int
) -> np.ndarray:
    """Return an array of a result, of the rank's vertices."""
    return to_numpy(memory[name][index])


def forget_rank(exchange: Exchange, memory: dict[str, Any], argument: None, *, name: str) -> None:
    """Let go of a result."""
    memory.pop(name, None)
