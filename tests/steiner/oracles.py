"""Plain and slow algorithms: exact answers for small graphs, in exact arithmetic."""

import itertools
from fractions import Fraction


def edges(graph):
    """Yield each edge once, as (u, v, weight)."""
    for u in range(graph.n):
        for arc in range(graph.indptr[u], graph.indptr[u + 1]):
            if graph.indices[arc] < u:
                yield u, int(graph.indices[arc]), Fraction(graph.weights[arc].item())


def distances(graph):
    """Return all distances (Floyd, Warshall); None where there is no path."""
    vertices = range(graph.n)
    table = [[Fraction(0) if u == v else None for v in vertices] for u in vertices]
    for u, v, weight in edges(graph):
        if table[u][v] is None or weight < table[u][v]:
            table[u][v] = table[v][u] = weight
    for middle in vertices:
        for u in vertices:
            for v in vertices:
                if table[u][middle] is not None and table[middle][v] is not None:
                    length = table[u][middle] + table[middle][v]
                    if table[u][v] is None or length < table[u][v]:
                        table[u][v] = length
    return table


def optimum(graph, terminals):
    """Return the minimum cost of a tree (Dreyfus, Wagner), in 3^k n + 2^k n^2 steps."""
    table = distances(graph)
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
    return best[(1 << len(others)) - 1][first]


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
