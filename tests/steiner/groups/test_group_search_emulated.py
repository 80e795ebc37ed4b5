"""The kernels of group Steiner trees without a GPU: the CPU's trees, in any order of events."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph.core import cancellation_gpu
from mgraph.core.deadline import NEVER
from mgraph.steiner.groups import group_search, group_search_gpu
from mgraph.steiner.prepared import PreparedGraph
from tests import emulator
from tests.emulator.device import Device, graph_on_device
from tests.steiner import strategies

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")


@st.composite
def problems(draw):
    """A graph, and the groups of some queries."""
    graph, _ = draw(strategies.problems(max_vertices=12))
    k = draw(st.integers(2, 4))
    vertices = st.sets(st.integers(0, graph.n - 1), min_size=1, max_size=3)
    group = vertices.map(lambda group: np.array(sorted(group)))
    groups = st.lists(group, min_size=k, max_size=k)
    return graph, draw(st.lists(groups, min_size=1, max_size=3))


def rows(traced):
    edges = zip(
        np.minimum(traced.src, traced.dst).tolist(), np.maximum(traced.src, traced.dst).tolist(),
        traced.weight.tolist(), strict=True,
    )  # fmt: skip
    return traced.length, traced.bound, sorted(edges)


@pytest.fixture(scope="module")
def device():
    emulated = Device(threads=32, blocks=2)
    with pytest.MonkeyPatch.context() as patch, emulated.patched(patch, group_search_gpu):
        patch.setattr(cancellation_gpu, "kernel", lambda source, name: source.kernel(name))
        yield emulated


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_trees_are_the_cpus(device, data):
    graph, queries = data.draw(problems())
    device.seed = data.draw(st.integers(1, 1 << 30))
    search = group_search_gpu.GpuSearch(graph_on_device(graph))
    on_cpu = group_search.CpuSearch(PreparedGraph(graph))
    assert (search.units, search.facts) == (on_cpu.units, on_cpu.facts)
    assert search._lengths.tolist() == on_cpu.units.write(*on_cpu.csr).tolist()
    flag = np.zeros(1, np.uint8)
    found = search.run(search.units, queries, NEVER)
    for groups, traced in zip(queries, found, strict=True):
        expected = on_cpu.run(search.units, groups, 1 << 20, flag)
        assert rows(traced) == rows(expected)
        if traced.length is not None:
            assert all(v in group for v, group in zip(traced.chosen, groups, strict=True))
