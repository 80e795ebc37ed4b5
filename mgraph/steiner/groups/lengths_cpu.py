"""The lengths of arcs: see ``lengths``. ``group_search.cu`` writes the same on a GPU."""

import numpy as np

from mgraph.core.compiled import compiled_when_hot
from mgraph.core.hashing import edge_hash
from mgraph.steiner.whole_lengths_cpu import whole_length


@compiled_when_hot
def write_lengths(indptr, indices, weights, scale, shift, tie_bits):
    """Return the length of each arc, int64: its whole weight, above ``shift`` low bits.

    tie_bits: of the number that is drawn for an edge and added; -1 for none.
    """
    lengths = np.empty(indices.size, np.int64)
    mask = (np.uint64(1) << np.uint64(max(tie_bits, 0))) - np.uint64(1)
    for u in range(indptr.size - 1):
        for arc in range(indptr[u], indptr[u + 1]):
            length = np.int64(whole_length(weights[arc], scale)) << shift
            if tie_bits >= 0:
                v = indices[arc]
                low, high = np.uint64(min(u, v)), np.uint64(max(u, v))
                length += np.int64(edge_hash(low, high) & mask) + 1
            lengths[arc] = length
    return lengths
