"""The queries of ``steiner``: of terminals, or of groups, as they are given, checked and drawn."""

import hashlib
from collections.abc import Iterator, Sequence, Set
from typing import Any

import numpy as np

from mgraph.core.arrays import as_list, checked_vertices
from mgraph.distributed.operations.graph_holder import holder
from mgraph.errors import UsageError


def is_group(element: Any) -> bool:
    """Return whether an element of a query is a group, and not a vertex."""
    if isinstance(element, np.ndarray):
        return element.ndim > 0
    return isinstance(element, Sequence | Set) and not isinstance(element, str | bytes)


def _as_elements(number: int, query: Any) -> list[Any]:
    if isinstance(query, Set):
        return list(query)
    return [query] if isinstance(query, int | np.integer) else as_list(f"query {number}", query)


def as_queries(queries: Any) -> tuple[list[list[Any]], bool]:
    """Return queries as lists, and whether they are of groups: each element is a list then.

    Queries are of groups if any has one; vertices become groups of one. Raises UsageError.
    """
    listed = [_as_elements(i, query) for i, query in enumerate(as_list("queries", queries))]
    if not any(is_group(element) for query in listed for element in query):
        return listed, False
    return [
        [list(element) if is_group(element) else [element] for element in query] for query in listed
    ], True


def flatten(queries: Sequence[Any], grouped: bool) -> list[Any]:
    """Return all elements of queries, one after another."""
    if grouped:
        return [name for query in queries for group in query for name in group]
    return [name for query in queries for name in query]


def refill(queries: Sequence[Any], elements: Iterator[Any], grouped: bool) -> list[Any]:
    """Return queries of the same shape with other elements, in the order of ``flatten``."""
    if grouped:
        return [[[next(elements) for _ in group] for group in query] for query in queries]
    return [[next(elements) for _ in query] for query in queries]


def check_query(number: int, query: Any, n: int, grouped: bool = False) -> Any:
    """Return a query as an array, or as one per group: ascending and distinct.

    Raises UsageError that names the query.
    """
    if grouped:
        groups = [_check(number, f"group {i}", group, n) for i, group in enumerate(query)]
        if not groups:
            raise UsageError(f"query {number} has no group")
        return groups
    return _check(number, "terminals", query, n)


def _check(number: int, name: str, vertices: Any, n: int) -> Any:
    try:
        checked = checked_vertices(name, vertices, n)
    except UsageError as error:
        raise UsageError(f"query {number}: {error}") from None
    if not checked.size:
        raise UsageError(
            f"query {number} has no terminal"
            if name == "terminals"
            else f"query {number}: {name} has no vertex"
        )
    return np.unique(checked)


def draw_queries(
    name: str, sizes: list[tuple[int, int]], seed: int, group_size: int | None
) -> list[Any]:
    """Draw terminals, or groups of ``group_size`` vertices, in the graph that a worker holds.

    See ``mgraph.steiner.sampling``.
    """
    from mgraph.steiner.sampling import sample, sample_groups

    graph = holder(name).graph()
    if group_size is None:
        return [drawn.tolist() for drawn in sample(graph, sizes, seed)]
    return [
        [group.tolist() for group in groups]
        for groups in sample_groups(graph, sizes, group_size, seed)
    ]


def hash_queries(queries: Sequence[Any], grouped: bool = False) -> str:
    """Return a hash that distinguishes one list of queries from another."""
    digest = hashlib.sha256()
    for query in queries:
        if grouped:
            digest.update(np.array([len(query), *map(len, query)], np.int64).tobytes())
            query = np.concatenate(query)
        digest.update(np.array([len(query), *query], np.int64).tobytes())
    return digest.hexdigest()[:16]
