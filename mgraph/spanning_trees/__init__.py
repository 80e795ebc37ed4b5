"""Spanning forests: ``minimum_spanning_forest.py`` is the front door, with a stem an algorithm."""
