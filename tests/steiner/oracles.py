"""Plain and slow algorithms: exact answers for small graphs, in exact arithmetic."""

import itertools
import math
from fractions import Fraction


def edges(graph):
    """Yield each edge once, as (u, v, weight)."""
    for u in range(graph.n):
        for arc in range(graph.indptr[u], graph.indptr[u + 1]):
            if graph.indices[arc] < u:
                yield u, int(graph.indices[arc]), Fraction(graph.weights[arc].item())


def distances(graph):
    """Return all distances; None where there is no path."""
    table, unit = whole_distances(graph)
    return [[None if x is None else Fraction(x, unit) for x in row] for row in table]


def whole_distances(graph):
    """Return all distances (Floyd, Warshall) as multiples of 1 / unit, and the unit.

    Weights are fractions, which are added and compared faster in a common unit.
    """
    listed = list(edges(graph))
    unit = math.lcm(*(weight.denominator for *_, weight in listed))
    vertices = range(graph.n)
    table = [[0 if u == v else None for v in vertices] for u in vertices]
    for u, v, weight in listed:
        length = weight.numerator * (unit // weight.denominator)
        if table[u][v] is None or length < table[u][v]:
            table[u][v] = table[v][u] = length
    for middle in vertices:
        onward = [(v, length) for v, length in enumerate(table[middle]) if length is not None]
        for row in table:
            if row[middle] is not None:
                for v, length in onward:
                    length += row[middle]
                    if row[v] is None or length < row[v]:
                        row[v] = length
    return table, unit


def optimum(graph, terminals):
    """Return the minimum cost of a tree (Dreyfus, Wagner), in 3^k n + 2^k n^2 steps."""
    table, unit = whole_distances(graph)
    first, *others = (int(t) for t in terminals)
    reached = [v for v in range(graph.n) if table[first][v] is not None]
    best = {}  # for each set of terminals and vertex, the minimum cost of a tree that holds both
    for part in range(1, 1 << len(others)):
        members = [t for i, t in enumerate(others) if part >> i & 1]
        if len(members) == 1:
            best[part] = {v: table[members[0]][v] for v in reached}
            continue
        split = {}
        for v in reached:
            lowest = part & -part  # one of two halves holds the first member
            costs = []
            half = (part - 1) & part
            while half:
                if half & lowest:
                    costs.append(best[half][v] + best[part ^ half][v])
                half = (half - 1) & part
            split[v] = min(costs)
        best[part] = {v: min(split[u] + table[u][v] for u in reached) for v in reached}
    return Fraction(best[(1 << len(others)) - 1][first], unit)


def spanning_edges(weighted):
    """Return a minimum spanning forest of (u, v, weight) (Kruskal)."""
    parent = {}

    def root_of(v):
        while parent.setdefault(v, v) != v:
            v = parent[v]
        return v

    kept = []
    for u, v, weight in sorted(weighted, key=lambda edge: edge[2]):
        if root_of(u) != root_of(v):
            parent[root_of(u)] = root_of(v)
            kept.append((u, v, weight))
    return kept


def all_spanning_edges(weighted, kept=()):
    """Yield every minimum spanning forest of (u, v, weight) that holds the edges ``kept``."""
    if not weighted:
        yield list(kept)
        return
    minimum = min(weight for *_, weight in weighted)
    tied = [edge for edge in weighted if edge[2] == minimum]
    heavier = [edge for edge in weighted if edge[2] != minimum]
    count = len(spanning_edges([*kept, *tied]))
    for chosen in itertools.combinations(tied, count - len(kept)):
        if len(spanning_edges([*kept, *chosen])) == count:
            yield from all_spanning_edges(heavier, [*kept, *chosen])


def pruned(weighted, terminals):
    """Return the edges of a tree without the branches that lead to no terminal."""
    weighted = list(weighted)
    while True:
        ends = [v for u, w, _ in weighted for v in (u, w)]
        needless = {v for v in ends if ends.count(v) == 1} - set(terminals)
        if not needless:
            return weighted
        weighted = [edge for edge in weighted if not needless & set(edge[:2])]


def cost(weighted):
    return sum(edge[2] for edge in weighted)
