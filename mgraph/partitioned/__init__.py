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

What a round sends, and what links need for it at the least. A round of a search sends 4 bytes and a
distance for each ghost that became better: in all rounds some 0.08 n values between two ranks of an
R-MAT graph, and 0.8 n of preferential attachment, whose ghosts are more. A pull on a GPU sends a
distance for each ghost, 0.5 n and n of them; breadth-first search a bit. At R-MAT of scale 28 over
two GPUs (n = 2.7·10^8, 8.6·10^9 arcs, distances of 8 bytes) that is 0.26 GB, and 1.1 GB per pull,
half of it each way: 0.3 and 1.2 ms by NVLink at 450 GB/s, of 216 ms that a search takes; some 50
all-to-alls of 20 to 50 µs cost as much. Building sends 100 GB, 0.1 s. To read all arcs once takes 7
ms of a GPU's memory at 4.8 TB/s. So searches there are limited by reads at random in the memory of
each GPU, and not by the link; between hosts at 1.25 GB/s the same search would send for 0.1 s, each
pull for 0.4 s, and the building for 40 s.

Exchange (``exchange``). One interface, all-to-all of arrays. ``exchange_gpu`` is NCCL;
``mgraph.distributed`` has one over Dask's own connections between workers.
"""
