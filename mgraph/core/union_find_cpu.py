"""Union-find in Numba: components by their roots.

Source: R. E. Tarjan, "Efficiency of a good but not linear set union algorithm" (1975), with path
halving. ``parent[v]`` is v for a root, else on the way to it.
"""

from mgraph.core.compiled import compiled


@compiled
def root(parent, v):
    """The root of v's component; the way to it is halved."""
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v
