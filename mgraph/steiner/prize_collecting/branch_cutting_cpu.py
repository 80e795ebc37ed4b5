"""Strong pruning: branches that cost more than the prizes they hold are cut off, in Numba.

Source: D. S. Johnson, M. Minkoff, S. Phillips, "The prize collecting Steiner tree problem: theory
and practice" (2000). Cost: linear in the vertices.
"""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.steiner.directed.growth_cpu import NONE


@compiled_when_hot
def cut_branches(above, tails, weights, n, paying):
    """Cut branches of an arborescence of an extension; return by how much it becomes cheaper.

    n: terminals are numbered from there on. paying: the arc that pays for each terminal.
    """
    waiting = np.zeros(above.size, np.int64)  # children that are not done
    for v in range(above.size):
        if above[v] >= 0:
            waiting[tails[above[v]]] += 1
    order = np.empty(above.size, np.int64)
    done = 0
    for v in range(above.size):
        if above[v] != NONE and waiting[v] == 0:
            order[done] = v
            done += 1
    worth = np.zeros(above.size, np.int64)
    is_cut = np.zeros(above.size, np.bool_)
    at = 0
    while at < done:
        v = order[at]
        at += 1
        arc = above[v]
        if arc < 0:
            continue
        u = tails[arc]
        if v >= n:
            worth[u] += 0 if arc == paying[v - n] else weights[paying[v - n]]
        elif worth[v] > weights[arc]:
            worth[u] += worth[v] - weights[arc]
        else:
            is_cut[v] = True
        waiting[u] -= 1
        if waiting[u] == 0:
            order[done] = u
            done += 1
    gain = np.int64(0)
    for i in range(done - 1, -1, -1):  # from the root down
        v = order[i]
        if above[v] < 0 or not (is_cut[v] or is_cut[tails[above[v]]]):
            continue
        gain += weights[above[v]]
        if v < n:
            is_cut[v] = True
            above[v] = NONE
        else:
            above[v] = paying[v - n]
            gain -= weights[above[v]]
    return gain
