"""The answering of checked group queries: by threads of a CPU, or in launches of a GPU."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import cancellation
from mgraph.core.choices import Device
from mgraph.core.deadline import Deadline
from mgraph.errors import DisconnectedError
from mgraph.steiner import tree_cpu
from mgraph.steiner.groups import group_search
from mgraph.steiner.groups.group_search import Found
from mgraph.steiner.improvement.conversion import cost_of
from mgraph.steiner.prepared import PreparedGraph
from mgraph.steiner.query_threads import answer_in_threads
from mgraph.steiner.result import SteinerTree

# The exact search on a CPU takes so many groups, since a set of them is the low bits of a word.
MAX_GROUPS = 16
# States of the exact search on a CPU: some seconds of a core, and 60 bytes each.
MAX_STATES = 1 << 22
# From so many vertices of the smallest group trees are grown, if the exact search is out of reach.
MAX_STARTS = 8

NO_TREE = (
    "no component of the graph has a vertex of each group, so that no tree holds one of each; "
    "leave a group out"
)

_Outcome = SteinerTree | DisconnectedError


class GroupQuery(NamedTuple):
    """A query. groups: int64, each ascending and distinct. needed: contracted vertices of some.

    A group that holds another is not needed: who has a vertex of the other has one of it.
    """

    groups: list[Any]
    needed: list[Any]

    @staticmethod
    def prepare(graph: PreparedGraph, groups: list[Any]) -> "GroupQuery":
        """Return a query for checked groups."""
        contracted = [graph.contract_terminals(group) for group in groups]
        needed: list[int] = []
        for i in sorted(range(len(groups)), key=lambda i: contracted[i].size):
            if not any(_are_in(contracted[j], contracted[i]) for j in needed):
                needed.append(i)
        return GroupQuery(groups, [contracted[i] for i in sorted(needed)])


def _are_in(some: Any, others: Any) -> bool:
    """Return whether all elements are among others; both ascend."""
    at = np.searchsorted(others, some)
    return at[-1] < others.size and bool((others[at] == some).all())


@dataclass(frozen=True)
class Request:
    """Queries on a graph, and how they are answered. stop: when the caller drops the answers."""

    graph: PreparedGraph
    queries: list[GroupQuery]
    improve: bool
    limit: float
    stop: Deadline


def answer(request: Request, device: Device, threads: int) -> Iterator[tuple[int, _Outcome]]:
    """Yield the index and the outcome of each query, as they are found."""
    if device == "cpu":
        jobs: Iterator[tuple[int, Found | None]] = ((i, None) for i in range(len(request.queries)))
    else:
        jobs = _search_on_gpu(request)

    def finish(i: int, found: Found | None) -> _Outcome:
        return _finish(request, i, found, device)

    return answer_in_threads(finish, jobs, request.stop, threads)


def fits_gpu(graph: PreparedGraph, k: int) -> bool:
    """Return whether a GPU has the memory for a query of k groups."""
    from mgraph.steiner.groups import group_search_gpu

    return group_search_gpu.fits(graph.graph, k)


def _search_on_gpu(request: Request) -> Iterator[tuple[int, Found | None]]:
    """Yield what launches find; None for queries of one group."""
    from mgraph.steiner.groups import group_search_gpu

    hard = {}
    for i, query in enumerate(request.queries):
        if len(query.needed) > 1:
            hard[i] = query.needed
        else:
            yield i, None
    yield from group_search_gpu.solve_queries(request.graph, hard, request.limit, request.stop)


def _finish(request: Request, i: int, found: Found | None, device: Device) -> _Outcome:
    """Answer a query on a CPU, or do what a launch has left of it."""
    graph, (groups, needed) = request.graph, request.queries[i]
    deadline = request.stop.within(request.limit if found is None else 0)
    start = time.perf_counter()
    method = "dreyfus_wagner"
    if found is None:
        found = _search(graph, needed, deadline)
    seconds = {"initial_tree": found.seconds + time.perf_counter() - start}
    if not found.is_optimal:
        method, start = "local_search", time.perf_counter()
        found = _search_locally(graph, needed, found, request.improve, deadline)
        seconds["improvement"] = time.perf_counter() - start
    cancellation.raise_if_cancelled()
    if found.tree is None:
        return DisconnectedError(NO_TREE)
    is_complete = found.is_optimal or not deadline.is_over
    return to_result(graph, groups, found, method, seconds, is_complete, device)


def _search(graph: PreparedGraph, groups: list[Any], deadline: Deadline) -> Found:
    """Search for the best tree, if it takes no more than ``MAX_STATES``."""
    if len(groups) == 1:
        alone = groups[0][:1]
        no_weight = np.empty(0, graph.cost_dtype)
        tree = tree_cpu.from_edges(alone[:0], alone[:0], no_weight, alone)
        return Found(tree, 0, True)
    if len(groups) > MAX_GROUPS:
        return Found(None, 0, False)
    return group_search.solve(graph, groups, deadline, MAX_STATES)


def _search_locally(
    graph: PreparedGraph, groups: list[Any], found: Found, improve: bool, deadline: Deadline
) -> Found:
    """Improve a tree of which it is not known that it is the best, or the first tree there is."""
    from mgraph.steiner.groups import terminal_graph

    tree, bound = found.tree, found.bound
    if tree is None:
        starts = graph.in_common_component(groups)[:MAX_STARTS]
        if not starts.size:
            return Found(None, None, True)
        tree = terminal_graph.grow_tree(graph.csr, groups, starts)
    if tree.vertex.size == 1:
        return Found(tree, 0, True)
    if not deadline.is_over:
        tree, other_bound = terminal_graph.improve_tree(graph.csr, groups, tree, improve, deadline)
        bound = max(bound, other_bound)
    return Found(tree, min(bound, cost_of(tree)), False)


def to_result(
    graph: PreparedGraph,
    groups: list[Any],
    found: Found,
    method: str,
    seconds: dict[str, float],
    complete: bool,
    device: Device,
) -> SteinerTree:
    """Return a tree of the contracted graph as one of the graph."""
    tree = found.tree
    assert tree is not None
    chosen = [_first_among(group, graph.contract(group), np.sort(tree.vertex)) for group in groups]
    terminals = np.unique(chosen)
    tree = tree_cpu.prune(tree, graph.contract_terminals(terminals))
    if graph.contraction is not None:
        tree = graph.contraction.expand(tree, terminals)
    src, dst, weight = tree_cpu.sorted_edges(tree)
    cost = cost_of(tree)
    return SteinerTree(
        terminals=np.array(chosen, np.int64),
        src=src,
        dst=dst,
        weight=weight,
        cost=cost,
        initial_cost=cost,
        searches=0,
        accepted=0,
        seconds=seconds,
        method=method,
        search="dijkstra",
        backend=device,
        complete=complete,
        lower_bound=cost if found.is_optimal else min(found.bound, cost),
        labels=graph.labels,
    )


def _first_among(group: Any, contracted: Any, vertices: Any) -> Any:
    """Return the first vertex of a group that a tree holds. vertices: the tree's, ascending."""
    at = np.minimum(np.searchsorted(vertices, contracted), vertices.size - 1)
    return group[np.argmax(vertices[at] == contracted)]
