"""The summary of edges block by block, compared with NumPy's counts and SciPy's components."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from mgraph import EdgeList, UsageError
from mgraph.core.summary_cpu import Summarizer


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@settings(max_examples=80, deadline=None)
@given(data=st.data())
def test_it_is_the_plain_count(dtype, data):
    n, directed = data.draw(st.integers(1, 60)), data.draw(st.booleans())
    repeats = st.sampled_from([1, 1, 1, 2, 300])
    summarizer, blocks = Summarizer(n, directed), []
    for _ in range(data.draw(st.integers(0, 3))):
        ends = st.integers(0, n - 1)
        rows = data.draw(st.lists(st.tuples(ends, ends, repeats), max_size=20))
        src, dst, times = np.array(rows, np.int64).reshape(-1, 3).T
        block = [np.repeat(array, times).astype(dtype) for array in (src, dst)]
        summarizer.add(EdgeList(*block))
        blocks.append(block)
    summary = summarizer.summary()
    src, dst = (
        np.concatenate([*side, []]).astype(int) for side in zip(*blocks, ([], []), strict=True)
    )
    out, into = np.bincount(src, minlength=n), np.bincount(dst, minlength=n)
    matrix = coo_array((np.ones(src.size), (src, dst)), shape=(n, n))
    count, component = connected_components(matrix, directed=False)
    degrees = out if directed else out + into
    assert (summary.n, summary.edges, summary.directed) == (n, src.size, directed)
    assert summary.self_loops == (src == dst).sum()
    assert summary.isolated == (out + into == 0).sum()
    assert summary.degree == (degrees.min(), degrees.max())
    assert summary.degree_variance == pytest.approx(degrees.var())
    assert summary.in_degree == ((into.min(), into.max()) if directed else None)
    assert summary.components == count
    assert summary.largest_component == np.bincount(component).max()


def test_foreign_ids_are_refused():
    for ids in ([0, -1], [0, 5]):
        with pytest.raises(UsageError, match=r"\[0, 5\) \(got (-1|5)\)"):
            Summarizer(5, False).add(EdgeList(np.array(ids), np.array([0, 0])))
    assert Summarizer(0, True).summary().degree == (0, 0)
