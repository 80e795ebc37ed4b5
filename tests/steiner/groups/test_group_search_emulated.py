"""The kernels of group Steiner trees without a GPU: the CPU's trees, in any order of events."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph.core import cancellation_gpu
from mgraph.core.deadline import NEVER, Deadline
from mgraph.core.edges import EdgeList
from mgraph.steiner.groups import group_search, group_search_gpu
from mgraph.steiner.prepared import PreparedGraph
from tests import emulator
from tests.emulator.device import Device, graph_on_device
from tests.steiner import strategies

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")


def grid(side, random):
    """A grid, in which labels improve often."""
    ids = np.arange(side * side).reshape(side, side)
    src = np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
    dst = np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
    edges = EdgeList(src, dst, random.integers(1, 100, src.size))
    return mgraph.from_edges(edges, directed=False, backend="cpu")


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
        patch.setattr(group_search_gpu, "_WIDTH", 1.0)
        patch.setattr(cancellation_gpu, "kernel", lambda source, name: source.kernel(name))
        yield emulated


def check(device, graph, queries, seed, width):
    """Assert that trees are the CPU's. width: by which thresholds rise, in mean lengths."""
    device.seed, group_search_gpu._WIDTH = seed, width
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


@given(problems(), st.integers(1, 1 << 30), st.sampled_from([0.1, 0.5, 4.0]))
@settings(deadline=None, max_examples=100)
def test_trees_are_the_cpus(device, problem, seed, width):
    check(device, *problem, seed, width)


@pytest.mark.parametrize("seed", range(40, 70))
def test_labels_that_improve_often(device, seed):
    random = np.random.default_rng(seed)
    graph, width = grid(random.integers(4, 14), random), random.choice([0.1, 0.3, 1.0, 4.0])
    k = random.integers(2, 6)
    draw = [random.integers(0, graph.n, random.integers(1, 3)) for _ in range(2 * k)]
    queries = [list(map(np.unique, draw[:k])), list(map(np.unique, draw[k:]))]
    check(device, graph, queries, seed, float(width))


@pytest.mark.parametrize("entries", [4, 5, 7, 16])
def test_queues_that_overflow(device, entries, monkeypatch):
    monkeypatch.setattr(group_search_gpu, "_MIN_QUEUE", entries)
    monkeypatch.setattr(group_search_gpu, "_QUEUE_SHARE", 0.001)
    for seed in range(1, 8):
        random = np.random.default_rng(seed)
        graph = grid(9, random)
        queries = [[np.unique(random.integers(0, 81, 2)) for _ in range(4)] for _ in range(2)]
        check(device, graph, queries, seed, 1.0)


def test_a_launch_that_is_out_of_time(device):
    search = group_search_gpu.GpuSearch(graph_on_device(grid(5, np.random.default_rng(1))))
    (traced,) = search.run(search.units, [[np.array([0]), np.array([24])]], Deadline(1e-9))
    assert traced.length is None or traced.bound < traced.length
    assert traced.bound is not None
