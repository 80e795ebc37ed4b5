"""Prize-collecting Steiner trees: a vertex that the tree leaves out costs its prize.

``prize_collecting_tree`` is the front door, ``extension`` the directed graph in which a prize is
paid by an arc, ``branch_cutting_cpu`` what removes branches that cost more than their prizes, and
``prize_search`` the search for trees and bounds.
"""
