"""Graphs whose arcs are spread over several workers, for those that no single one holds.

Words. A *rank* is one worker's share of a computation, which all ranks run at the same time: a
program in which each works on its own arrays and meets the others in an *exchange*. The *owner* of
a vertex is the rank whose range of vertices holds it. A *ghost* of a rank is a vertex of another
owner to which an arc of the rank leads.

Layout (``rank_graph``). Rank r owns the vertices ``bounds[r]`` to ``bounds[r + 1]`` and all arcs
that leave them, in rows. The ranges are cut where the ranks need equal memory, which follows the
arcs (``partition``). Within a rank, its own vertices and its ghosts are numbered together, in
ascending order of their global numbers: the rank's *local numbers*. They have 32 bits, whatever n
is; ghosts of one owner are neighbours in them; and since the order is the global one, ties between
vertices are broken as on one device. Per arc 4 bytes and the weight; per own vertex 8 bytes; per
ghost 4 bytes at its rank and 4 at its owner. With weights of 32 bits that is 8 bytes per arc and at
most 16 per vertex and rank it is a ghost of.

Ranges and not hashing: where neighbours have close numbers, as in a grid, ranges have few ghosts,
and hashed vertices are nearly all ghosts; elsewhere both have about as many, and searches send as
much. Hashing would divide the vertices of a preferential-attachment graph evenly, of which the last
of eight ranges has 1.7 times the mean; and a range of hubs is busy while others wait, and the other
way round. But with hubs at every rank, each goes on with what another has improved already, and
expands 1.4 times as many vertices, in about the same time. In two dimensions a rank has 0.7 to 0.8
times the ghosts from four ranks on, but half of them are tails, whose values have to be sent to it
before it can relax their arcs. Hubs' distances are not at all ranks, only where an arc leads to the
hub: 0.1 to 3 % of the values that a search sends are of hubs and tell their owners nothing new,
which is all that could be spared. Hubs are not split: a row has at most n arcs, few compared with a
rank's. The figures are in ``shortest_paths/BENCHMARKS.md``.

Building (``build``). The files are read once, by all ranks, which keep the edges in the memory of
the host. Two passes over them follow. Each sends every arc to the owner of its tail, step by step;
the first counts the arcs of each row and notes which vertices are ghosts, and the second puts the
arcs into place. Rows are sorted, so that they do not depend on the order in which arcs came: by
weight, since a search for shortest paths then reads the first few arcs of most rows, and by head.
Bytes sent per arc: twice 8 and its weight. Memory on a device: the finished rows, 1/5 byte per
vertex of the whole graph, and one step of arcs.

Computing. Algorithms live beside their one-device forms, ``partitioned_*`` in ``shortest_paths/``,
``components/`` and ``spanning_trees/``. Each round has a local phase, in which a rank goes on until
only other ranks could tell it more, and an exchange. A ghost has the best value that its rank has
proposed to the owner, so that only better ones are sent, each ghost once per round.

Exchange (``exchange``). One interface, all-to-all of arrays. ``exchange_gpu`` is NCCL;
``mgraph.distributed`` has one over Dask's own connections between workers.
"""
