"""Problems as local search takes them: networks with integer weights, and trees as edge ids."""

import numpy as np
from hypothesis import strategies as st

from mgraph.steiner.improvement import network_cpu, trees_cpu

FLAG = np.zeros(1, np.uint8)


class Problem:
    """A network, weights in units, a workspace, and the edges for an oracle."""

    def __init__(self, n, src, dst, weight, terminals):
        self.n, self.src, self.dst = n, np.array(src), np.array(dst)
        self.weight, self.terminals = np.array(weight, np.int64), np.array(terminals)
        self.network = network_cpu.build(n, self.src, self.dst, self.terminals)
        self.work = network_cpu.new_workspace(self.network)

    @property
    def arc_weight(self):
        return self.weight[self.network.arcs[:, 1]]

    def cost(self, tree):
        return int(self.weight[tree].sum())

    def grown(self, start=None):
        start = self.terminals[0] if start is None else start
        tree = trees_cpu.grow(self.network, self.arc_weight, start, self.work, FLAG)
        return trees_cpu.span(self.network, self.weight, tree, self.work)

    def check(self, tree):
        """Assert that these edges are a tree without needless branches, and return its cost."""
        assert (np.diff(tree) > 0).all()
        neighbours = {int(t): set() for t in self.terminals}
        for e in tree.tolist():
            u, v = int(self.src[e]), int(self.dst[e])
            neighbours.setdefault(u, set()).add(v)
            neighbours.setdefault(v, set()).add(u)
        reached, new = set(), {int(self.terminals[0])}
        while new:
            reached |= new
            new = {v for u in new for v in neighbours[u]} - reached
        assert reached == neighbours.keys()
        assert len(tree) == len(neighbours) - 1
        terminals = set(self.terminals.tolist())
        assert all(len(other) > 1 or v in terminals for v, other in neighbours.items())
        return self.cost(tree)

    def check_workspace(self):
        """Assert that a function has left the workspace as it found it."""
        work = self.work
        fresh = network_cpu.new_workspace(self.network)
        for name in ("position", "stamp", "parent", "heap"):
            assert np.array_equal(getattr(work, name), getattr(fresh, name)), name
        assert np.array_equal(work.labels[:, 0], fresh.labels[:, 0])
        assert np.array_equal(work.fresh[:, 0], fresh.fresh[:, 0])
        assert np.array_equal(work.links[:, [0, 2, 3]], fresh.links[:, [0, 2, 3]])

    def optimum(self):
        """Return the least cost of a tree, by a table over all sets of terminals."""
        distance = np.full((self.n, self.n), np.inf)
        np.fill_diagonal(distance, 0)
        for u, v, w in zip(self.src, self.dst, self.weight, strict=True):
            distance[u, v] = distance[v, u] = min(w, distance[u, v])
        for k in range(self.n):
            distance = np.minimum(distance, distance[:, k, None] + distance[None, k])
        others = self.terminals[1:]
        full = (1 << others.size) - 1
        best = {1 << i: distance[t].copy() for i, t in enumerate(others)}
        for s in range(1, full + 1):
            if s in best:
                continue
            merged, part = np.full(self.n, np.inf), (s - 1) & s
            while part:
                merged = np.minimum(merged, best[part] + best[s ^ part])
                part = (part - 1) & s
            best[s] = (merged[None] + distance).min(axis=1)
        return int(best[full][self.terminals[0]]) if others.size else 0


@st.composite
def problems(draw, max_vertices=14, max_terminals=6, max_weight=20):
    """A connected graph, perhaps with parallel edges, and two terminals or more."""
    n = draw(st.integers(2, max_vertices))
    ends = [(draw(st.integers(0, v - 1)), v) for v in range(1, n)]
    for _ in range(draw(st.integers(0, 2 * n))):
        u = draw(st.integers(0, n - 1))
        ends.append((u, (u + draw(st.integers(1, n - 1))) % n))
    weight = [draw(st.integers(1, max_weight)) for _ in ends]
    count = min(n, draw(st.integers(2, max_terminals)))
    terminals = sorted(draw(st.permutations(range(n)))[:count])
    return Problem(n, *zip(*ends, strict=True), weight, terminals)


def grid_problem(side, count, seed):
    """A square grid with weights, and terminals at random."""
    rng = np.random.default_rng(seed)
    ids = np.arange(side * side).reshape(side, side)
    src = np.r_[ids[:, 1:].ravel(), ids[1:].ravel()]
    dst = np.r_[ids[:, :-1].ravel(), ids[:-1].ravel()]
    weight = rng.integers(1, 100, src.size)
    return Problem(ids.size, src, dst, weight, np.sort(rng.choice(ids.size, count, False)))
