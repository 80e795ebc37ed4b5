"""The fast check of rows against the check of one row after another."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgraph import CopyModel
from mgraph.core import edge_list_cpu
from mgraph.core.edges import EdgeList
from mgraph.generators import copy_model_cpu, preferential_attachment
from mgraph.generators.copy_model_cpu import GOOD, REPEATED, WRONG_DST, WRONG_SRC


def rows_of(model, dtype):
    """The model's rows from vertex 1 on."""
    edges, _ = preferential_attachment.generate_edges(model, range(model.n))
    return edges.src.astype(dtype), edges.dst.astype(dtype)


def both_checks(src, dst, *position):
    """The results of the fast and of the slow check."""
    return [
        check(src, dst, *position)
        for check in (copy_model_cpu.check_block, copy_model_cpu._check_rows)
    ]


@given(
    d=st.integers(1, 40),
    vertices=st.integers(2, 300),
    dtype=st.sampled_from([np.int32, np.int64]),
    data=st.data(),
)
def test_fast_check_finds_what_the_slow_one_finds(d, vertices, dtype, data):
    src, dst = rows_of(CopyModel(d + vertices, d, seed=d), dtype)
    start = data.draw(st.integers(0, src.size - 1))
    stop = data.draw(st.integers(start + 1, src.size))
    v = int(src[start])
    position = v, dst[int(np.searchsorted(src, v)) : start].copy(), d
    src, dst = src[start:stop].copy(), dst[start:stop].copy()
    fast, slow = both_checks(src, dst, *position)
    assert fast == slow
    assert fast[2] == GOOD
    limits = np.iinfo(dtype)
    for _ in range(data.draw(st.integers(1, 3))):
        row = data.draw(st.integers(0, src.size - 1))
        near = data.draw(st.integers(max(row - d, 0), row))
        column = data.draw(st.sampled_from([src, dst]))
        column[row] = data.draw(
            st.sampled_from([column[near], src[row], -1, 0, limits.min, limits.max])
        )
    fast, slow = both_checks(src, dst, *position)
    assert fast[1:] == slow[1:]
    assert fast[2] != GOOD or fast == slow  # the checksum counts where no row is wrong


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("d", [1, 2, 8, 32, 33])
def test_each_reason_is_found_far_from_the_start(d, dtype):
    model = CopyModel(4000 // d + 2 * d, d)
    good_src, good_dst = rows_of(model, dtype)
    row = good_src.size - 2 * d - 1  # the last of its vertex
    damages = [
        (WRONG_SRC, good_src[row] + 1, good_dst[row]),
        (WRONG_DST, good_src[row], good_src[row]),
        (WRONG_DST, good_src[row], -1),
    ]
    if d > 1:
        damages.append((REPEATED, good_src[row], good_dst[row - 1]))
    for reason, wrong_src, wrong_dst in damages:
        src, dst = good_src.copy(), good_dst.copy()
        src[row], dst[row] = wrong_src, wrong_dst
        fault = copy_model_cpu.RowCheck(model, 0).add(EdgeList(src, dst))
        edge = f"({wrong_src}, {wrong_dst})"
        assert fault == f"row {row}, edge {edge}, {copy_model_cpu.REASONS[reason]}"


@given(
    d=st.integers(2, 40),
    dtype=st.sampled_from([np.int32, np.int64]),
    lengths=st.lists(st.integers(0, 100), max_size=20),
    data=st.data(),
)
def test_blocks_may_end_within_a_vertex(d, dtype, lengths, data):
    """A repeated edge is found in whichever block it is."""
    model = CopyModel(d + 10, d, seed=d)
    src, dst = rows_of(model, dtype)
    cuts = np.cumsum([0, *lengths])
    blocks = [slice(*pair) for pair in itertools.pairwise([*cuts[cuts < src.size], src.size])]

    def fault():
        check = copy_model_cpu.RowCheck(model, 0)
        faults = (check.add(EdgeList(src[block], dst[block])) for block in blocks)
        return next((fault for fault in faults if fault), None) or check.checksum

    assert fault() == edge_list_cpu.checksum(EdgeList(src, dst))
    v = data.draw(st.integers(2, model.n - 1))
    first, stop = np.searchsorted(src, [v, v + 1])
    one, other = data.draw(st.sets(st.integers(first, stop - 1), min_size=2, max_size=2))
    dst[other] = dst[one]
    reason = copy_model_cpu.REASONS[REPEATED]
    assert fault() == f"row {stop - 1}, edge ({v}, {dst[stop - 1]}), {reason}"
