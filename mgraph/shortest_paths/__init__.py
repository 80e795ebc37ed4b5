"""Single-source shortest paths: ``sssp.py`` is the front door, with one stem an algorithm.

Searches find distances alone. Predecessors follow from those (``predecessors``), so that they are
the same whichever method found them, on whichever backend.
"""
