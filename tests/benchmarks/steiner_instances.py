"""Steiner-tree instances of the classes that are hard, the same on every machine.

``make(name)`` returns a graph and its terminals. The classes of I. Rosseti et al., "New benchmark
instances for the Steiner problem in graphs" (2001), with unit weights (u) or weights from 100 to
110 (p), and two of the kind that wires and roads are:

| name              | graph                                                     | terminals        |
|-------------------|-----------------------------------------------------------|------------------|
| hc-D-u, hc-D-p    | hypercube of D dimensions                                 | of even parity   |
| cc-D-Q-T-u, …-p   | words of D letters out of Q, edges at distance 1          | T spread out     |
| bip-A-B-D-u, …-p  | A vertices, each with D random neighbours among B others  | the A            |
| holes-S-T         | S x S grid of uneven lines with rectangular holes         | T at random      |
| road-N-T          | N vertices around one of the road network of the NE USA   | T at random      |
"""

import itertools
import os
import pathlib
import sys

import numpy as np

import mgraph

SHARED = os.environ.get("MGRAPH_SHARED", pathlib.Path(__file__).parents[3] / "shared")


def make(name, seed=1):
    kind, *sizes = name.split("-")
    rng = np.random.default_rng([seed, *name.encode()])
    if kind in ("hc", "cc", "bip"):
        *sizes, weights = sizes
        src, dst, n, terminals = {"hc": hypercube, "cc": code, "bip": bipartite}[kind](
            rng, *map(int, sizes)
        )
        weight = np.ones(src.size) if weights == "u" else rng.integers(100, 111, src.size)
        if kind == "cc":  # edges at terminals weigh twice as much
            weight = weight * (1 + (np.isin(src, terminals) | np.isin(dst, terminals)))
    else:
        src, dst, weight, n, terminals = {"holes": grid_with_holes, "road": road}[kind](
            rng, *map(int, sizes)
        )
    edges = mgraph.EdgeList(src.astype(np.int32), dst.astype(np.int32), weight.astype(np.int32))
    return mgraph.from_edges(edges, n, directed=False, backend="cpu"), np.sort(terminals)


def hypercube(rng, dimensions):
    vertex = np.arange(1 << dimensions)
    src, bit = np.repeat(vertex, dimensions), np.tile(np.arange(dimensions), vertex.size)
    dst = src ^ (1 << bit)
    parity = sum(vertex >> i & 1 for i in range(dimensions)) % 2
    return src[src < dst], dst[src < dst], vertex.size, vertex[parity == 0]


def code(rng, length, letters, terminals):
    n = letters**length
    pairs = []
    for position in range(length):
        step = letters**position
        for low, high in itertools.combinations(range(letters), 2):
            first = np.arange(n)
            first = first[first // step % letters == low]
            pairs.append((first, first + (high - low) * step))
    src, dst = (np.concatenate(ends) for ends in zip(*pairs, strict=True))
    return src, dst, n, covering_code(rng, src, dst, n, terminals)


def covering_code(rng, src, dst, n, size):
    """Return words to which as many others as possible are neighbours, chosen greedily."""
    order = np.argsort(np.r_[src, dst], kind="stable")
    neighbours = np.r_[dst, src][order].reshape(n, -1)
    uncovered, chosen = np.ones(n, bool), np.zeros(n, bool)
    for _ in range(size):
        gain = uncovered + uncovered[neighbours].sum(1) + rng.random(n)
        word = np.where(chosen, 0, gain).argmax()
        chosen[word] = True
        uncovered[word] = uncovered[neighbours[word]] = False
    return np.flatnonzero(chosen)


def bipartite(rng, terminals, others, degree):
    src = np.repeat(np.arange(terminals), degree)
    dst = np.concatenate([rng.choice(others, degree, replace=False) for _ in range(terminals)])
    return src, terminals + dst, terminals + others, np.arange(terminals)


def grid_with_holes(rng, side, terminals):
    free = np.ones((side, side), bool)
    for _ in range(max(4, side // 8)):
        height, width = rng.integers(2, max(3, side // 8), 2)
        row, column = rng.integers(0, side - height), rng.integers(0, side - width)
        free[row : row + height, column : column + width] = False
    ids = np.arange(side * side).reshape(side, side)
    gap = rng.integers(1, 60, (2, side))
    pairs = []
    for axis in range(2):
        a, b = (np.moveaxis(ids, axis, 0)[i] for i in (slice(None, -1), slice(1, None)))
        length = np.broadcast_to(gap[axis][:-1, None], a.shape)
        both = np.moveaxis(free, axis, 0)
        both = both[:-1] & both[1:]
        pairs.append((a[both], b[both], length[both]))
    src, dst, weight = (np.concatenate(column) for column in zip(*pairs, strict=True))
    return largest_component(rng, src, dst, weight, terminals)


def road(rng, size, terminals):
    sys.path.insert(0, str(pathlib.Path(SHARED) / "bench"))
    import graphs

    whole = graphs.make("road-NE")
    reached, border = {int(rng.integers(whole.indptr.size - 1))}, []
    border = list(reached)
    while len(reached) < size and border:
        following = []
        for u in border:
            for v in whole.indices[whole.indptr[u] : whole.indptr[u + 1]].tolist():
                if v not in reached and len(reached) < size:
                    reached.add(v)
                    following.append(v)
        border = following
    src = np.repeat(np.arange(whole.indptr.size - 1), np.diff(whole.indptr))
    inside = np.zeros(whole.indptr.size - 1, bool)
    inside[list(reached)] = True
    kept = inside[src] & inside[whole.indices] & (src < whole.indices)
    return largest_component(rng, src[kept], whole.indices[kept], whole.weights[kept], terminals)


def largest_component(rng, src, dst, weight, terminals):
    from scipy import sparse
    from scipy.sparse import csgraph

    ids, ends = np.unique(np.r_[src, dst], return_inverse=True)
    src, dst = ends[: src.size], ends[src.size :]
    matrix = sparse.csr_matrix((np.ones(src.size), (src, dst)), (ids.size, ids.size))
    component = csgraph.connected_components(matrix, directed=False)[1]
    largest = np.flatnonzero(component == np.bincount(component).argmax())
    kept = np.isin(src, largest)
    src, dst = (np.searchsorted(largest, end[kept]) for end in (src, dst))
    return src, dst, weight[kept], largest.size, rng.choice(largest.size, terminals, replace=False)


HARD = tuple(
    f"{name}-{weights}"
    for weights in "up"
    for name in (
        *(f"hc-{dimensions}" for dimensions in range(6, 13)),
        *("cc-3-4-8", "cc-3-5-13", "cc-5-3-27", "cc-6-3-76", "cc-7-3-222", "cc-9-2-64"),
        *("cc-10-2-135", "cc-11-2-244", "cc-12-2-473", "cc-3-10-50", "cc-3-12-74"),
        *("bip-200-1000-20", "bip-200-2000-40", "bip-200-1000-50", "bip-300-3000-60"),
        "bip-50-500-100",
    )
)
LARGE = (
    *("holes-120-100", "holes-120-1000", "holes-200-500", "holes-200-3000", "holes-320-2000"),
    *("holes-320-10000", "road-10000-10", "road-10000-100", "road-10000-1000", "road-30000-300"),
    *("road-30000-3000", "road-100000-30", "road-100000-1000", "road-100000-10000"),
)
