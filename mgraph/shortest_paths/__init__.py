"""Single-source shortest paths: ``sssp.py`` is the front door, with one stem per algorithm.

Searches find distances alone. Predecessors follow from those (``predecessors``), so that they are
the same for every method and backend.
"""
