"""Steiner arborescences: trees of least cost whose arcs lead from a root to terminals.

``steiner_arborescence`` and ``node_weighted_steiner_tree`` are the front doors: with weights of
vertices, an arc costs its own weight and that of the vertex it leads to. ``problem`` has the graph
that the algorithms work on, ``growth_cpu`` and ``path_exchange_cpu`` the heuristics, and ``search``
how they and a dual ascent are put together.
"""
