"""Degrees counted on a GPU, on the emulator."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph import EdgeList
from mgraph.core import degrees_cpu, degrees_gpu
from tests import emulator
from tests.emulator.device import Device, on_device

pytestmark = pytest.mark.skipif(emulator.COMPILER is None, reason="needs g++")


@pytest.fixture(scope="module", autouse=True)
def device():
    with pytest.MonkeyPatch.context() as patch, Device(64, 2).patched(patch, degrees_gpu):
        # Blocks are copied to a device by other tests.
        copy = lambda arrays, launch: launch(*map(on_device, arrays))  # noqa: E731
        patch.setattr(degrees_gpu, "on_device", copy)
        yield


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@settings(max_examples=20)
@given(data=st.data())
def test_degrees_are_the_cpu_s(dtype, data):
    n = data.draw(st.integers(1, 50))
    ends = st.lists(st.integers(0, n - 1), max_size=80)
    dst = np.array(data.draw(ends), dtype)
    src = dst[::-1].copy()
    expected = EdgeList(src, dst).degree_histogram(n)
    found = degrees_gpu.histogram_of(EdgeList(on_device(src), on_device(dst)), n)
    np.testing.assert_array_equal(found, expected)

    vertices = range(data.draw(st.integers(0, n)), data.draw(st.integers(0, n)) + 3)
    counter = degrees_gpu.DegreeCounter(vertices)
    on_cpu = degrees_cpu.EndpointCounter(vertices)
    for block in (dst[:30], dst[30:], src):
        counter.add(block)
        on_cpu.add(block)
    counts = on_cpu.counts()
    assert not counts.overflows.size
    np.testing.assert_array_equal(counter.counts, counts.low)
    np.testing.assert_array_equal(counter.histogram(), degrees_cpu.histogram(counts))


def test_large_degrees_are_listed():
    ids = np.repeat(np.arange(4), [3, 1023, 70_000, 66_000]).astype(np.int32)
    counter = degrees_gpu.DegreeCounter(range(5))
    counter.add(ids)
    degree, count = counter.histogram()
    assert degree.tolist() == [0, 3, 1023, 66_000, 70_000]
    assert count.tolist() == [1] * 5
