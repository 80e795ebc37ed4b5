"""Minimum spanning forests: ``minimum_spanning_forest.py`` is the front door, a stem an algorithm."""
