"""Connected components, by union-find with the smallest vertex as the root of each.

``connected_components.py`` is the front door for a graph in memory; ``afforest`` finds the
components of rows, and ``edge_components`` those of edges in any order, block by block, so that
a list of edges of any length takes 4 or 8 bytes per vertex. ``component_folder.py`` writes the
result beside each other as parts. ``distributed/operations/components.py`` does all of it over a
cluster.
"""
