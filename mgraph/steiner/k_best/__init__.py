"""The k best Steiner trees.

``k_best_trees`` is the front door, ``partition`` has Lawler's search over sets of trees, and
``completion_cpu`` the dynamic program that completes a part of a tree at the least cost.
"""
