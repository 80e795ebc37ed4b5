"""What a graph costs its ranks when it is divided in ranges, by hash, or in two dimensions.

    python -m tests.benchmarks.partition_kinds MAKER NAME … [--ranks 2,4,8] [--searches 3]

MAKER as for ``sssp_cpu``. ``arcs`` and ``vertices``: of the rank with the most, beside the mean.
``ghosts``: other ranks' vertices of which a rank knows a value, of all ranks, beside n. Two
dimensions: an arc from u to v is at the rank in the row of u's owner and the column of v's, and
vertices are hashed. With two ranks that is one dimension.

Of searches for shortest paths, on cores: rounds, values sent beside n, and the share of them that
were no better than what the owner had; then the share for hubs among those, the 1/1024 of the
vertices with the most arcs. That share is all that could be spared if every rank knew the
distances of hubs.
"""

import argparse
from unittest import mock

import numpy as np

from mgraph import EdgeList
from mgraph.partitioned import build
from mgraph.partitioned.edge_source import HeldEdges, Request
from mgraph.partitioned.partition import VERTEX_BYTES, bucket_shift, cut
from mgraph.shortest_paths.partitioned_delta_stepping import Limits, search
from mgraph.shortest_paths.partitioned_delta_stepping_cpu import Search
from mgraph.shortest_paths.problem import infinity_of
from tests.benchmarks.makers import made
from tests.partitioned.thread_exchange import run_ranks

ARC_BYTES = 8
HUBS = 1024  # a hub is one of so many vertices
DISTANCE = np.dtype(np.int64)


def edges_of(graph):
    """The arcs of a graph with the smaller end first, one per edge: tails, heads, weights."""
    tails = np.repeat(np.arange(graph.n, dtype=np.int32), np.diff(graph.indptr))
    chosen = tails < graph.indices
    return tails[chosen], graph.indices[chosen], graph.weights[chosen]


def ranges_of(tails, heads, n, size):
    """Bounds of ranges that need equal memory."""
    shift = bucket_shift(n)
    ends = np.concatenate([tails, heads]) >> shift
    return cut(n, size, np.bincount(ends, minlength=(n - 1 >> shift) + 1), ARC_BYTES).bounds


def worst(counts):
    """The largest of the ranks' counts beside their mean."""
    return max(counts) * len(counts) / sum(counts)


def describe(kind, arcs, vertices, ghosts, n):
    memory = [ARC_BYTES * a + VERTEX_BYTES * v for a, v in zip(arcs, vertices, strict=True)]
    return (
        f"  {kind}: arcs {worst(arcs):.2f}, vertices {worst(vertices):.2f}, memory "
        f"{worst(memory):.2f}, ghosts {sum(ghosts) / n:.2f} n"
    )


def one_dimension(kind, tails, heads, n, size):
    bounds = ranges_of(tails, heads, n, size)
    owners = [np.searchsorted(bounds[1:-1], ends, side="right") for ends in (tails, heads)]
    arcs, ghosts = [], []
    for rank in range(size):
        is_head = np.zeros(n, bool)
        for own, others in ((0, heads), (1, tails)):
            is_head[others[owners[own] == rank]] = True
        is_head[bounds[rank] : bounds[rank + 1]] = False
        ghosts.append(int(is_head.sum()))
        arcs.append(sum(int((owner == rank).sum()) for owner in owners))
    print(describe(kind, arcs, np.diff(bounds).tolist(), ghosts, n), end="")


def two_dimensions(tails, heads, n, size):
    """tails, heads: hashed."""
    rows = max(row for row in range(1, size + 1) if size % row == 0 and row * row <= size)
    columns = size // rows
    owner = np.arange(n) * size // n
    arcs, ghosts = [0] * size, [0] * size
    for rank in range(size):
        known = np.zeros((2, n), bool)
        for u, v in ((tails, heads), (heads, tails)):
            here = (owner[u] // columns == rank // columns) & (owner[v] % columns == rank % columns)
            arcs[rank] += int(here.sum())
            known[0, u[here]] = known[1, v[here]] = True
        known[:, owner == rank] = False
        ghosts[rank] = int(known.sum())
    vertices = np.bincount(owner, minlength=size).tolist()
    print(describe(f"two dimensions, {rows} x {columns}", arcs, vertices, ghosts, n))


def searches(edges, n, size, sources):
    """Print what searches send."""
    degree = np.bincount(edges.src, minlength=n) + np.bincount(edges.dst, minlength=n)
    is_hub = np.zeros(n, bool)
    is_hub[np.argsort(-degree, kind="stable")[: max(1, n // HUBS)]] = True
    sent = useless = useless_hubs = 0
    receive = Search.receive

    def counted(self, positions, lengths):
        nonlocal sent, useless, useless_hubs
        graph = self._graph
        is_useless = lengths >= self.distance[graph.own_range][positions]
        sent += positions.size
        useless += int(is_useless.sum())
        useless_hubs += int(is_hub[graph.first + positions[is_useless]].sum())
        receive(self, positions, lengths)

    limits = Limits(np.empty(0, np.int64), False, infinity_of(DISTANCE) - 1)

    def program(exchange):
        part = slice(len(edges) * exchange.rank // size, len(edges) * (exchange.rank + 1) // size)
        source = HeldEdges(edges.rows(part.start, part.stop), "cpu")
        graph = build.build(exchange, source, Request(n, edges.weight.dtype, False))
        rounds = []
        for source in sources:
            found = search(exchange, graph, [source], limits, dtype=DISTANCE, predecessors=False)
            rounds.append(found.rounds)
        return rounds

    with mock.patch.object(Search, "receive", counted):
        rounds = run_ranks(size, program)[0]
    pushed = max(sent, 1)
    print(
        f"; rounds {np.mean(rounds):.0f}, sent {sent / n / len(sources):.2f} n, nothing new "
        f"{useless / pushed:.1%}, for hubs {useless_hubs / pushed:.2%}"
    )


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("maker")
    parser.add_argument("names", nargs="+", metavar="NAME")
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--searches", type=int, default=3)
    options = parser.parse_args(arguments)
    random = np.random.default_rng(1)
    for name in options.names:
        graph, _ = made(options.maker, name, "cpu")
        n = graph.n
        tails, heads, weights = edges_of(graph)
        hashed = random.permutation(n).astype(np.int32)
        degrees = np.diff(graph.indptr)
        sources = random.choice(np.flatnonzero(degrees), options.searches).tolist()
        for size in map(int, options.ranks.split(",")):
            print(f"{name}, {size} ranks, n = {n:,}, {2 * tails.size:,} arcs", flush=True)
            for kind, number in (("ranges", np.arange(n, dtype=np.int32)), ("hashed", hashed)):
                ends = number[tails], number[heads]
                one_dimension(kind, *ends, n, size)
                searches(EdgeList(*ends, weights), n, size, number[sources].tolist())
            two_dimensions(hashed[tails], hashed[heads], n, size)


if __name__ == "__main__":
    main()
