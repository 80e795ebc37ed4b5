"""Union-find in Numba: the components of a graph by their roots.

Source: R. E. Tarjan, "Efficiency of a good but not linear set union algorithm" (1975), with path
halving. ``parent[v]`` is v for a root, else a vertex on the path to the root.
"""

from mgraph.core.compiled import compiled_when_hot


@compiled_when_hot
def root(parent, v):
    """Find the root of v's component, and halve the path to it."""
    while parent[v] != v:
        parent[v] = parent[parent[v]]
        v = parent[v]
    return v
