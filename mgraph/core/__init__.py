"""Edges, graphs and what all algorithms share: hashing, checks, the choice of a backend.

Graphs are built on either backend (``csr``), so this package may import ``mgraph.cuda``, which does
not depend on graphs.
"""
