"""The paper's controller on a GPU: its stages in the emulator, beside those on a core."""

import itertools
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import EdgeList
from mgraph.experiments import controller_ablation as ablation
from mgraph.shortest_paths import paper_controller_cpu as paper
from mgraph.shortest_paths import paper_search_gpu
from mgraph.shortest_paths.problem import check_request
from mgraph.shortest_paths.sssp import sssp
from tests import emulator
from tests.emulator.device import Device, graph_on_device, on_device
from tests.strategies import graphs

pytestmark = pytest.mark.skipif(emulator.COMPILER is None, reason="needs g++")


@pytest.fixture(scope="module", autouse=True)
def device():
    with Device(threads=64, blocks=2).patched(pytest.MonkeyPatch, paper_search_gpu) as device:
        yield device


def make_request(graph, sources, *, targets=None, stop_at="last", cutoff=None):
    return check_request(
        graph, sources, joint=True, targets=targets, stop_at=stop_at, cutoff=cutoff
    )


def search(request, set_point, **options):
    graph = graph_on_device(request.graph)
    distance = on_device(np.zeros(graph.n, request.dtype))
    searcher = paper_search_gpu.Searcher(graph, request.dtype)
    found = paper_search_gpu.find_distances(
        searcher, request, request.sources[0], distance, float(set_point), **options
    )
    return distance, *found


@given(data=st.data(), changes=st.sets(st.sampled_from(list(paper.CHANGES))))
@settings(deadline=None, max_examples=80)
def test_distances_are_exact_where_a_search_ends(data, changes, device):
    graph = data.draw(graphs(dtypes=("int32", "int64", "float32", "float64", None), most=14))
    sources = data.draw(st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=3))
    device.seed = data.draw(st.integers(1, 1 << 30))
    cutoff = data.draw(st.sampled_from([None, 3]))
    expected = sssp(graph, sources, joint=True, cutoff=cutoff, backend="cpu").distance
    request = make_request(graph, sources, cutoff=cutoff)
    set_point = data.draw(st.sampled_from([1, 5, 1000]))
    options = {"changes": changes, "max_iterations": 200}
    distance, trace, is_finished = search(request, set_point, trace=True, **options)
    reached = distance != request.infinity
    assert (distance[reached] >= expected[reached]).all()
    assert (trace["x4"] <= trace["x3"]).all()
    if "arcs" not in changes:
        assert (trace["x3"] <= trace["x2"]).all()
    if is_finished:
        np.testing.assert_array_equal(distance, expected)
        assert trace["x1"].sum() >= reached.sum()
        assert trace["far_size"][-1] == 0


@given(data=st.data())
@settings(deadline=None, max_examples=40)
def test_targets_end_a_search_once_they_are_settled(data, device):
    graph = data.draw(graphs(dtypes=("int32", "float64"), most=14))
    vertices = st.integers(0, graph.n - 1)
    source, targets = data.draw(vertices), data.draw(st.lists(vertices, min_size=1, max_size=3))
    device.seed, stop_at = data.draw(st.integers(1, 1 << 30)), data.draw(st.sampled_from("lf"))
    stop_at = {"l": "last", "f": "first"}[stop_at]
    request = make_request(graph, [source], targets=targets, stop_at=stop_at)
    changes = ("sign", "nearest")
    distance, _, is_finished = search(request, 5, changes=changes, max_iterations=500)
    expected = sssp(graph, source, backend="cpu").distance[request.targets]
    if is_finished:
        found = distance[request.targets]
        nearest = expected.min() if stop_at == "first" else expected.max()
        settled = expected <= nearest
        np.testing.assert_array_equal(found[settled], expected[settled])


@pytest.mark.parametrize("changes", [(), ("sign", "nearest"), tuple(paper.CHANGES)])
def test_the_same_trace_as_on_a_core(changes):
    """Along a chain an iteration has one order only. The letter does not come to its end."""
    weights = np.random.default_rng(7).integers(1, 99, 300).astype(np.int32)
    edges = EdgeList(np.arange(300), np.arange(1, 301), weights)
    chain = mgraph.from_edges(edges, directed=True, backend="cpu")
    request = make_request(chain, [0])
    expected, trace, is_finished = ablation._search(request, changes, 3, 700)
    assert is_finished == bool(changes)
    distance, found, found_finished = search(
        request, 3, trace=True, changes=changes, max_iterations=700
    )
    assert found_finished == is_finished
    np.testing.assert_array_equal(distance, expected)
    for name in set(trace.dtype.names) - {"nanoseconds"}:
        np.testing.assert_array_equal(found[name], trace[name], err_msg=name)


@given(data=st.data())
@settings(deadline=None, max_examples=30)
def test_stale_entries_are_dropped_at_any_time(data, device):
    graph = data.draw(graphs(dtypes=("int32", "float64"), most=14))
    source, set_point = data.draw(st.integers(0, graph.n - 1)), data.draw(st.integers(1, 8))
    device.seed = data.draw(st.integers(1, 1 << 30))
    full = data.draw(st.lists(st.booleans(), min_size=1, max_size=9))
    changes = data.draw(st.sampled_from([(), ("sign", "nearest"), tuple(paper.CHANGES)]))
    calls = itertools.cycle(full)
    may_fill_up = mock.Mock(side_effect=lambda partition: next(calls))
    with mock.patch.object(paper_search_gpu._Search, "_may_fill_up", may_fill_up):
        distance, _, is_finished = search(
            make_request(graph, [source]), set_point, changes=changes, max_iterations=200
        )
    if is_finished:
        np.testing.assert_array_equal(distance, sssp(graph, source, backend="cpu").distance)
