"""Graphs divided among ranks."""

import numpy as np

from mgraph.partitioned import build
from mgraph.partitioned.edge_source import Request
from tests.partitioned.thread_exchange import run_ranks


def edges_of(graph):
    """The edges of a graph, each of an undirected one once."""
    return graph.to_edges()


class Blocks:
    def __init__(self, blocks):
        self.sizes, self.block = list(map(len, blocks)), blocks.__getitem__


def divide(edges, size, seed=0):
    """Divide edges among ranks at random, in blocks of any order."""
    random = np.random.default_rng(seed)
    rank = random.integers(0, size, len(edges))
    shares = []
    for each in range(size):
        mine = random.permutation(np.flatnonzero(rank == each))
        share, middle = type(edges)(*(column[mine] for column in edges)), len(mine) // 2
        pieces = [share] if each % 2 else [share.rows(0, middle), share.rows(middle, len(mine))]
        shares.append(Blocks(pieces))
    return shares


def on_ranks(graph, size, program, seed=0, backend="cpu"):
    """Return ``program(exchange, rank_graph)`` of each rank."""
    edges = edges_of(graph)
    shares = divide(edges, size, seed)
    dtype = None if graph.weights is None else graph.weights.dtype
    request = Request(graph.n, dtype, graph.directed, backend)

    def run(exchange):
        return program(exchange, build.build(exchange, shares[exchange.rank], request))

    return run_ranks(size, run)
