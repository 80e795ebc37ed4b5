"""Steiner trees: ``steiner_tree.py`` is the front door, with one stem per algorithm."""
