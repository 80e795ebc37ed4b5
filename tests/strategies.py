"""Graphs that Hypothesis draws: empty, tied, disconnected, with loops, of all types."""

import numpy as np
from hypothesis import strategies as st

from mgraph.core import csr_cpu
from mgraph.core.edges import EdgeList


@st.composite
def decades(draw, dtype, zeros=True):
    """A weight of 30 decades, or of the least or largest numbers of its type, or 0."""
    limits, scale = np.finfo(dtype), draw(st.integers(0, 9))
    if scale == 0 and zeros:
        return draw(st.sampled_from([0.0, -0.0]))
    if scale == 1:
        return float(limits.smallest_subnormal) * draw(st.sampled_from([1, 2, 3, 1000]))
    if scale == 2:  # paths of 100 of these are finite, also where they are rounded up
        return float(limits.max) / 512 * draw(st.sampled_from([0.3, 0.5, 1]))
    return float(np.dtype(dtype).type(10 ** draw(st.floats(-15, 15))))


@st.composite
def weights(draw, m, dtype):
    if np.dtype(dtype).kind == "i":
        largest = draw(st.sampled_from([0, 1, 3, 1000, 10**9]))  # the last needs lengths of int64
        return np.array(draw(st.lists(st.integers(0, largest), min_size=m, max_size=m)), dtype)
    few = st.floats(0, 1e6, width=np.dtype(dtype).itemsize * 8, allow_subnormal=True)
    values = draw(st.sampled_from([st.just(-0.0) | few, decades(dtype)]))
    return np.array(draw(st.lists(values, min_size=m, max_size=m)), dtype)


@st.composite
def graphs(draw, dtypes=("int32", "int64", "float32", "float64", None), most=40, directed=None):
    n = draw(st.integers(1, most))
    m = draw(st.integers(0, 3 * n))
    ends = st.lists(st.integers(0, n - 1), min_size=m, max_size=m)
    dtype = draw(st.sampled_from(dtypes))
    # With one type of weights only, since each pair of types takes seconds to compile.
    ids = draw(st.sampled_from([np.int32, np.int64])) if dtype == "int64" else np.int32
    edges = EdgeList(
        np.array(draw(ends), ids),
        np.array(draw(ends), ids),
        None if dtype is None else draw(weights(m, dtype)),
    )
    drop, merge = draw(st.tuples(*[st.booleans()] * 2))
    directed = draw(st.booleans()) if directed is None else directed
    return csr_cpu.build(edges, n, directed=directed, drop_loops=drop, merge=merge)
