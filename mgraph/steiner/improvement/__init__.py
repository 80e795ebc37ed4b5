"""Better trees, and bounds that show how good they are; ``improve`` is the entry.

Data flow: a CSR graph and a tree become a ``Network`` of edges with ids and integer weights. A
``Search`` keeps a pool of trees and a dual solution (``Bound``), makes the problem smaller
(``reduction_cpu``), and goes on until cost and bound meet or time is up:

- trees: ``walk_cpu`` over local optima of ``vertex_insertion_cpu`` and ``key_moves_cpu`` (with
  ``key_tree_cpu``, ``regions_cpu`` and ``linked_tree_cpu``), in the whole graph, in a region, or in
  what differs between two trees (``subproblem_cpu``);
- bounds: ``dual_ascent_cpu``, and ``dual_search_cpu``, which takes part of an ascent back.

Cost for n vertices and m edges: a pass of each local search O(m log n), some 10 ns per arc; an
ascent as much as a few passes. Memory: 137 bytes per vertex and 60 per edge, and up to 256 per edge
for the record that the search for bounds needs.
"""
