"""The directed graph of a prize-collecting problem, in which a prize is paid by an arc.

Each vertex with a prize gets a terminal, which an arc of weight 0 from the vertex leads to, and one
of the prize's weight from the payer. With a vertex of the tree as the payer and the root, a tree
costs as much as an arborescence to all terminals.

Source: I. Ljubic et al., "An algorithmic framework for the exact solution of the prize-collecting
Steiner tree problem" (2006).
"""

from typing import Any, NamedTuple

import numpy as np

from mgraph.steiner.directed import problem as problems
from mgraph.steiner.directed.problem import Problem


class Extension(NamedTuple):
    """The directed problem and its weights. n: vertices of the graph, below the terminals.

    prized: the vertices of the terminals, in their order. paying: the arc that pays for each
    terminal. edges: of each arc the arc of the graph, or -1.
    """

    problem: Problem
    weights: Any
    n: int
    prized: Any
    paying: Any
    edges: Any


def extend(csr: Any, prizes: Any, is_kept: Any, payer: int | None) -> Extension:
    """Extend a graph in units. is_kept: the vertices that a tree may hold.

    payer: a vertex that is in the tree, or None for one beside the graph, which is no tree's root.
    """
    indptr, heads, weights = csr
    n = indptr.size - 1
    prized = np.flatnonzero((prizes > 0) & is_kept)
    if payer is not None:
        prized = prized[prized != payer]
    terminals = n + np.arange(prized.size)
    root = n + prized.size if payer is None else payer
    tails = np.repeat(np.arange(n), np.diff(indptr))
    inner = np.flatnonzero(is_kept[tails] & is_kept[heads] & (tails != heads))
    src = np.concatenate([tails[inner], prized, np.full(prized.size, root)])
    dst = np.concatenate([heads[inner].astype(np.int64), terminals, terminals])
    none, nothing = np.full(2 * prized.size, -1), np.zeros(prized.size, np.int64)
    weight = np.concatenate([weights[inner], nothing, prizes[prized]])
    edges = np.concatenate([inner, none])
    order = np.argsort(src, kind="stable")
    position = np.empty(order.size, np.int64)
    position[order] = np.arange(order.size)
    rows = np.zeros(n + prized.size + 2, np.int64)
    np.cumsum(np.bincount(src, minlength=n + prized.size + 1), out=rows[1:])
    problem = problems.build(rows, dst[order], root, terminals)
    paying = position[inner.size + prized.size :]
    return Extension(problem, weight[order], n, prized, paying, edges[order])
