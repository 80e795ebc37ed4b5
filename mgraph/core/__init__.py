"""Edges, graphs and what every algorithm shares: hashing, checks, the choice of a backend.

Graphs are built on either backend here (``csr``), so this may import ``mgraph.cuda``, which knows
nothing of graphs.
"""
