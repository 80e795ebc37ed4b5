"""Spanning forests: ``minimum_spanning_forest.py`` is the front door, with one stem per method."""
