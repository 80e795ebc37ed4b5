"""Local search, and a walk from one local optimum to the next by noise in the weights.

A local search takes turns: vertices are inserted, key paths exchanged and key vertices eliminated,
until neither gains anything. A step of the walk is a round of local search with weights that are
increased at random, then local search with the weights themselves. Of that tree and the one before,
what is best is kept, block by block (``blocks_cpu``): a step in a large tree is as many attempts as
there are places where it has changed. What costs as much is taken, so that the walk crosses
plateaus, of which unit weights make many.
"""

from typing import Any

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.hashing import mix64
from mgraph.steiner.improvement.blocks_cpu import combine
from mgraph.steiner.improvement.key_moves_cpu import move_keys
from mgraph.steiner.improvement.network_cpu import Network
from mgraph.steiner.improvement.vertex_insertion_cpu import insert_vertices

MAX_ROUNDS = 1000  # of a local search, which ends long before
_PASSES = 10  # over the graph, of a local search or a step, about


@compiled_when_hot
def _search(network, weight, tree, rounds, work, flag):
    """Return a local optimum, or the tree after ``rounds`` rounds."""
    arc_weight = weight[network.arcs[:, 1]]
    shortest = weight.min()
    without_gain = 0
    for i in range(2 * rounds):
        if i % 2 == 0:
            better = insert_vertices(network, weight, tree, work, flag)
        else:
            better = move_keys(network, weight, arc_weight, tree, shortest, work, flag)
        without_gain = without_gain + 1 if better is tree else 0
        tree = better
        if without_gain == 2 or flag[0]:
            break
    return tree


@compiled_when_hot
def _add_noise(weight, amplitude, seed):
    noisy = np.empty_like(weight)
    for e in range(weight.size):
        word = mix64(seed ^ mix64(np.uint64(e)))
        share = np.float64(word >> np.uint64(11)) * (amplitude / (1 << 63))
        noisy[e] = weight[e] + np.int64(weight[e] * share)
    return noisy


@compiled_when_hot
def _walk(network, weight, tree, rounds, steps, amplitude, seed, work, flag):
    tree = _search(network, weight, tree, rounds, work, flag)
    for step in range(steps):
        if flag[0]:
            break
        noisy = _add_noise(weight, amplitude, np.uint64(seed) + np.uint64(step))
        candidate = _search(network, noisy, tree, 1, work, flag)
        candidate = _search(network, weight, candidate, MAX_ROUNDS, work, flag)
        tree = combine(network, weight, tree, candidate, work)
    return tree


def walk(
    network: Network, weight: Any, tree: Any, steps: int, noise: int, seed: int, work: Any,
    flag: Any, rounds: int = 0,
) -> Any:  # fmt: skip
    """Return the tree after some steps, and before these rounds of local search at most.

    tree: ascending edge ids. noise: of the weights in a step, in units of 1 / 1024. The tree costs
    no more than the given one. Ends early once ``flag[0]`` is not 0.
    """
    passes = min(rounds, _PASSES) + _PASSES * steps
    elements = (network.indptr.size + weight.size) * passes
    return _walk.with_work(
        elements, network, weight, tree, rounds, steps, noise, np.uint64(seed), work, flag
    )


def search_locally(network: Network, weight: Any, tree: Any, work: Any, flag: Any) -> Any:
    """Return a local optimum; see ``walk``."""
    return walk(network, weight, tree, 0, 0, 0, work, flag, rounds=MAX_ROUNDS)


def add_noise(weight: Any, noise: int, seed: int) -> Any:
    """Return weights that are increased at random, by up to ``noise`` / 1024 of themselves."""
    return _add_noise.with_work(weight.size, weight, noise, np.uint64(seed))
