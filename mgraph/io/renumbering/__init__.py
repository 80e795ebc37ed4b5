"""Edge tables of any ids to a dataset of vertices 0 to n - 1, in four stages over files.

The tables may be larger than all memory, and so may the ids: every stage reads pieces and writes
pieces, into the output folder, under names that begin with ``_convert-`` and are removed at the
end. A piece holds some 2^22 edges.

1. **encode** (``encode.py``), per chunk of the tables: the distinct ids of a piece in ascending
   order, and its rows with an index into them for each id.
2. **rank** (``rank.py``), per range of ids: the range's slice of every piece's ids, which are
   sorted, is found by binary search; together they have the range's distinct ids and, for each
   piece, the rank of each of its ids. The ranks of a range follow those of the ranges before, whose
   counts are known when the stage ends. So vertices are numbered by the ascending order of ids.
3. **order** (``order.py``), per piece: indices become vertices, by two lookups in arrays that fit a
   cache; undirected edges are turned to src >= dst; and rows are sorted by (src, dst).
4. **merge** (``merge.py``), per part of the output: a range of src, cut at equal numbers of rows,
   whose slices of all pieces are merged, written as a part of a dataset. The files of vertices are
   written per range of ids at the same time.

Cost, for m edges with D distinct ids per piece in all: reading; 45 ns of a core per id in stage 1
and again per distinct one in stage 2 (strings some 200); 40 ns per edge in stages 3 and 4 each;
writing. Scratch files: 8 bytes per edge and 12 per distinct id of a piece, with the bytes of
strings, and 8 to 16 bytes per edge after stage 3. Memory of a task: some 100 bytes per edge of a
piece.

Dask's own shuffle is not used: it keeps its state in the memory and on the disks of workers, and
begins again when one of them dies. Here every piece is a file that appears when it is complete, so
a worker that dies costs its tasks, and ``resume`` goes on from the files. The edges' own shuffle is
the slices of sorted files, which are read in ranges, from a disk, a shared file system or a store.
"""
