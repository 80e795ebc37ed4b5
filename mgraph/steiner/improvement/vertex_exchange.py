"""Large trees improved by the exchange of many Steiner vertices at a time, mostly on a GPU.

A tree is determined by its key vertices, the terminals and the vertices of three edges or more: the
minimum spanning tree of their distances costs no more than it. A step removes some key vertices at
random, adds other vertices, and takes that tree, which leaves out those that do not help; then the
tree of its key vertices, and so on. So it tries thousands of moves at a time, of which some are
good and most are bad. What is best of the trees before and after is kept, block by block
(``blocks_cpu``), so that each move is judged for itself.

Sources: K. Mehlhorn (1988) for the trees of key vertices; vertex insertion and elimination are the
moves of E. Uchoa, R. F. Werneck, "Fast local search for Steiner trees in graphs" (2010).

Cost of a step: ROUNDS + 1 trees of key vertices, and on a core O(n + size of the tree).
Deterministic for a seed.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.steiner.improvement.blocks_cpu import combine
from mgraph.steiner.improvement.network_cpu import Network

DROPPED, ADDED = 0.1, 0.3  # of the key vertices, in a step
ROUNDS = 3  # in which a step's tree becomes that of its own key vertices
# The search ends when this many steps have gained less than this share of the tree's cost.
PATIENCE, MIN_GAIN = 16, 1e-4
_TIES = 255
_MULTIPLIER = 0x9E3779B97F4A7C15


def write_lengths(weight: Any) -> Any:
    """Return the length of each edge: the weight, and a small number that breaks ties."""
    with np.errstate(over="ignore"):
        hashed = np.arange(1, weight.size + 1, dtype=np.uint64) * np.uint64(_MULTIPLIER)
    return weight + (hashed >> np.uint64(40)).astype(np.int64) % _TIES + 1


def exchange_vertices(
    network: Network,
    weight: Any,
    tree: Any,
    grow: Callable[[Any], tuple[Any, Any]],
    work: Any,
    flag: Any,
) -> Any:
    """Return a tree that costs no more. Ends when ``flag[0]`` is not 0, or it gains no more.

    tree: ascending edge ids. weight: in units. grow: returns the tree of some vertices, by
    ``write_lengths``, and its key vertices.
    """
    rng, costs = np.random.default_rng(1), [int(weight[tree].sum())]
    while not flag[0] and not _has_stalled(costs):
        cancellation.raise_if_cancelled()
        vertices = _choose_vertices(network, tree, rng)
        for _ in range(ROUNDS + 1):
            candidate, vertices = grow(vertices)
        tree = combine(network, weight, tree, candidate, work)
        costs.append(int(weight[tree].sum()))
    return tree


def _has_stalled(costs: list[int]) -> bool:
    """Return whether the last steps have gained little."""
    return len(costs) > PATIENCE and costs[-PATIENCE - 1] - costs[-1] < MIN_GAIN * costs[-1]


def _choose_vertices(network: Network, tree: Any, rng: Any) -> Any:
    """Return most key vertices of a tree, all terminals among them, and some others at random."""
    n = network.indptr.size - 1
    degree = np.bincount(network.ends[tree].ravel(), minlength=n)
    keys = np.flatnonzero((degree > 2) | network.is_terminal)
    kept = keys[network.is_terminal[keys] | (rng.random(keys.size) >= DROPPED)]
    added = rng.integers(0, n, int(ADDED * keys.size) + 1)
    return np.unique(np.concatenate([kept, added]))
