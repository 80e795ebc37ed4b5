"""Small benchmarks for the tests: sizes that ``--tiny`` divides, and a MAKER of graphs."""

import numpy as np

import mgraph

N = 1600  # vertices of each graph, whatever its name says
_divisor = 1


def add_option(parser):
    """Add the option ``--tiny``, for a benchmark with sizes of its own."""
    parser.add_argument("--tiny", action="store_true", help="small sizes, for the tests")


def apply(arguments):
    """Make sizes small if ``--tiny`` is given; return the other arguments."""
    global _divisor
    if arguments.tiny:
        _divisor = 10_000
    del arguments.tiny
    return arguments


def small(size, least=1):
    """Return a benchmark's size, or for the tests a small one of at least ``least``."""
    return size if _divisor == 1 else max(least, size // _divisor)


def make(name, xp):
    """Return a small graph: a grid for roads and grids, else preferential attachment."""
    if name.startswith(("road", "grid")):
        side = int(N**0.5)
        ids = np.arange(side * side, dtype=np.int32).reshape(side, side)
        src = np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
        dst = np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
    else:
        src, dst = mgraph.CopyModel(N, 8).edges(backend="cpu").edges
    weight = np.random.default_rng(1).integers(1, 100, src.size).astype(np.int32)
    graph = mgraph.from_edges(mgraph.EdgeList(src, dst, weight), N, directed=False, backend="cpu")
    return tuple(xp.asarray(array) for array in (graph.indptr, graph.indices, graph.weights))
