"""Undirected graphs that Hypothesis draws: many ties, negative weights, loops, parallel edges."""

import numpy as np
from hypothesis import strategies as st

from mgraph.core import csr_cpu
from mgraph.core.edges import EdgeList
from tests.strategies import decades

DTYPES = ("int32", "int64", "float32", "float64", None)


@st.composite
def weights(draw, m, dtype):
    if np.dtype(dtype).kind == "i":
        bounds = np.iinfo(dtype)
        few = st.integers(-1, draw(st.integers(-1, 3)))
        values = draw(st.sampled_from([few, st.integers(bounds.min, bounds.max)]))
    else:
        few = st.sampled_from([-0.0, 0.0, 1.5, -1.5, 5e-45])
        wide = st.floats(width=np.dtype(dtype).itemsize * 8, allow_nan=False, allow_infinity=False)
        values = draw(st.sampled_from([few, wide, decades(dtype)]))
    return np.array(draw(st.lists(values, min_size=m, max_size=m)), dtype)


@st.composite
def graphs(draw, max_n=30, dtypes=DTYPES):
    n = draw(st.integers(0, max_n))
    m = draw(st.integers(0, 4 * n))
    ends = st.lists(st.integers(0, max(n - 1, 0)), min_size=m, max_size=m)
    dtype = draw(st.sampled_from(dtypes))
    # 64-bit ids with one type of weights only: each pair of types takes seconds to compile.
    ids = draw(st.sampled_from([np.int32, np.int64])) if dtype == "int64" else np.int32
    weight = None if dtype is None else draw(weights(m, dtype))
    edges = EdgeList(np.array(draw(ends), ids), np.array(draw(ends), ids), weight)
    merge = draw(st.booleans())
    return csr_cpu.build(edges, n, directed=False, drop_loops=draw(st.booleans()), merge=merge)
