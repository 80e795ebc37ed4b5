"""Local search, and a walk from one local optimum to the next by noise in the weights.

A local search takes turns: vertices are inserted, key paths exchanged and key vertices eliminated,
until neither gains anything. A step of the walk is a round of local search with weights that are
increased at random, then local search with the weights themselves; a tree that costs no more is
kept. So the walk crosses plateaus, of which unit weights make many.
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.hashing import mix64
from mgraph.steiner.improvement.key_moves_cpu import move_keys
from mgraph.steiner.improvement.vertex_insertion_cpu import insert_vertices


@compiled_when_hot
def search_locally(network, weight, tree, rounds, work, flag):
    """Return a local optimum that costs no more than the tree, after ``rounds`` rounds at most."""
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
def add_noise(weight, amplitude, seed):
    """Return weights that are increased by up to ``amplitude`` / 1024 of themselves."""
    noisy = np.empty_like(weight)
    for e in range(weight.size):
        word = mix64(np.uint64(seed) ^ mix64(np.uint64(e)))
        share = np.float64(word >> np.uint64(11)) * (amplitude / (1 << 63))
        noisy[e] = weight[e] + np.int64(weight[e] * share)
    return noisy


@compiled_when_hot
def walk(network, weight, tree, steps, amplitude, seed, work, flag):
    """Return the tree after some steps, which costs no more."""
    cost = weight[tree].sum()
    for step in range(steps):
        if flag[0]:
            break
        noisy = add_noise(weight, amplitude, np.uint64(seed) + np.uint64(step))
        candidate = search_locally(network, noisy, tree, 1, work, flag)
        candidate = search_locally(network, weight, candidate, 100, work, flag)
        if weight[candidate].sum() <= cost:
            tree, cost = candidate, weight[candidate].sum()
    return tree
