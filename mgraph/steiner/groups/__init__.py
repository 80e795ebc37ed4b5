"""Group Steiner trees: a tree of least cost that holds a vertex of each of several groups.

``group_steiner_tree`` is the front door, ``group_search_cpu`` and ``group_search_gpu`` the exact
search on each backend, ``lengths`` the integer lengths of both, and ``terminal_graph`` what reduces
a query that is too hard for it to a Steiner tree of terminals.
"""
