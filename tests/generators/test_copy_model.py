"""The parameters, and the arithmetic of rows and parts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgraph import CopyModel, UsageError

models = st.integers(1, 40).flatmap(
    lambda d: st.builds(CopyModel, n=st.integers(d + 1, d + 200), d=st.just(d))
)


@pytest.mark.parametrize(
    ("parameters", "word"),
    [
        ({"n": 5, "d": 8}, "n must be above d"),
        ({"n": 8, "d": 8}, "n must be above d"),
        ({"n": 10, "d": 0}, "d must lie in"),
        ({"n": 10**5, "d": 4097}, "d must lie in"),
        ({"n": (1 << 40) + 1}, "n must lie in"),
        ({"n": 10.5}, "whole number"),
        ({"n": True}, "whole number"),
        ({"n": 100, "p": 1.5}, "p is a probability"),
        ({"n": 100, "p": -0.1}, "p is a probability"),
        ({"n": 100, "p": math.nan}, "p is a probability"),
        ({"n": 100, "p": "0.5"}, "p must be a number"),
        ({"n": 100, "seed": -1}, "seed must lie in"),
        ({"n": 100, "method": "magic"}, "method must be one of"),
    ],
)
def test_a_parameter_out_of_range_is_refused_by_name(parameters, word):
    with pytest.raises(UsageError, match=word):
        CopyModel(**parameters)


@given(models)
def test_rows_count_the_edges(model):
    d, n = model.d, model.n
    assert model.num_edges == d * (d - 1) // 2 + (n - d) * d
    per_vertex = [min(v, d) for v in range(n)]
    assert [model.edges_before(v) for v in range(n + 1)] == [0, *np.cumsum(per_vertex)]


@given(models, st.data())
def test_vertex_at_inverts_edges_before(model, data):
    row = data.draw(st.integers(0, model.num_edges + model.d))
    v = model.vertex_at(row)
    assert model.edges_before(v) <= row
    assert v == model.n or model.edges_before(v + 1) > row


@given(models, st.data())
def test_parts_and_blocks_tile_the_vertices(model, data):
    parts = data.draw(st.integers(1, model.n))
    edges = data.draw(st.integers(1, 3 * model.num_edges))
    blocks = [block for part in model.split(parts) for block in model.blocks(part, edges)]
    assert [v for block in blocks for v in block] == list(range(model.n))
    assert all(model.edges_in(block) <= edges or len(block) == 1 for block in blocks)


@pytest.mark.parametrize("parts", [0, 101, -1, 2.0])
def test_more_parts_than_vertices_are_refused(parts):
    with pytest.raises(UsageError, match="parts must lie in"):
        CopyModel(100).split(parts)


def test_ids_widen_at_two_to_the_31():
    assert CopyModel((1 << 31) - 1).dtype == np.int32
    assert CopyModel(1 << 31).dtype == np.int64
