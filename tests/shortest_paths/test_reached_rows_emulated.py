"""The rows of a search on a GPU, on the emulator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.shortest_paths import reached_rows_gpu
from mgraph.shortest_paths.problem import infinity_of
from mgraph.shortest_paths.result import summarize
from tests import emulator
from tests.emulator.device import Device, on_device

pytestmark = pytest.mark.skipif(emulator.COMPILER is None, reason="needs g++")


@pytest.fixture(scope="module", autouse=True)
def device():
    with Device(threads=64, blocks=2).patched(pytest.MonkeyPatch, reached_rows_gpu) as device:
        yield device


@pytest.mark.parametrize("dtype", ["int32", "int64", "float64"])
@pytest.mark.parametrize("with_predecessors", [False, True])
@settings(max_examples=20)
@given(data=st.data())
def test_what_a_search_reached(dtype, with_predecessors, data):
    length = np.dtype(dtype)
    values = st.sampled_from([0, 1, 2.5, 7, 1 << 30, infinity_of(length)])
    distance = np.array(data.draw(st.lists(values, min_size=1, max_size=200)), length)
    distance[data.draw(st.integers(0, distance.size - 1))] = 0  # the source
    predecessor = np.arange(distance.size, dtype=np.int32)[::-1].copy()
    expected = np.flatnonzero(distance != infinity_of(length))

    count, greatest = reached_rows_gpu.summarize(on_device(distance))
    assert (count, greatest) == summarize(distance)
    assert (count, greatest) == (expected.size, distance[expected].max())
    assert type(greatest) is (float if length.kind == "f" else int)
    given = on_device(predecessor) if with_predecessors else None
    columns = reached_rows_gpu.list_rows(on_device(distance), given, count)
    expected_columns = [expected, distance[expected], predecessor[expected]]
    assert len(columns) == 2 + with_predecessors
    for column, values in zip(columns, expected_columns, strict=False):
        np.testing.assert_array_equal(column, values)
