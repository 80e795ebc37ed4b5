"""The paper's controller: its equations, and distances that are exact wherever it ends."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import CopyModel, UsageError, sssp
from mgraph.experiments import controller_ablation as ablation
from mgraph.shortest_paths import paper_controller_cpu as paper
from mgraph.shortest_paths.problem import check_request
from mgraph.shortest_paths.self_tuning_cpu import observe
from tests.strategies import graphs


class Model:
    """Algorithm 1 as it is printed, for a model that predicts slope * x of y."""

    def __init__(self, slope):
        self.slope, self.g, self.v, self.h, self.tau = slope, 0.0, 1e-6, 1.0, 2 * (1 + 1e-6)

    def observe(self, x, y):
        gradient, curvature = -2 * (y - self.slope * x) * x, 2 * x**2
        rate = 1 / self.tau
        self.g = (1 - rate) * self.g + rate * gradient
        self.v = (1 - rate) * self.v + rate * gradient**2
        self.h = (1 - rate) * self.h + rate * curvature
        mu = self.g**2 / (self.h * self.v)
        self.tau = (1 - self.g**2 / self.v) * self.tau + 1
        self.slope -= mu * gradient


@given(
    slope=st.floats(0.1, 50),
    seen=st.lists(st.tuples(st.integers(1, 10**6), st.integers(0, 10**6)), max_size=20),
)
def test_algorithm_1(slope, seen):
    controller, expected = paper.new_controller(slope, 1.0), Model(slope)
    for x, y in seen:
        observe(controller.advance, float(x), float(y), -1, False)
        expected.observe(x, y)
        assert controller.advance[0] == pytest.approx(expected.slope, rel=1e-6, abs=1e-6)


def test_equation_5_as_it_is_printed():
    """Its gradient is that of (X1 - X4 + alpha * change) squared."""
    controller = paper.new_controller(1.0, 1.0)
    mirrored = Model(1.0)
    for change, brought in [(2.0, 30.0), (1.0, -4.0), (-3.0, 8.0)]:
        observe(controller.bisect, change, brought, 1, False)
        mirrored.observe(change, -brought)
        assert controller.bisect[0] == pytest.approx(mirrored.slope)


def test_the_threshold_moves_by_equation_6():
    """In a first iteration, where (8) gives alpha: 8 vertices within a distance of 4."""
    controller = paper.new_controller(mean_degree=2.0, mean_weight=4.0)
    move = paper._move_threshold.py_func
    move(np.zeros(2, np.int64), controller, 10.0, 1, 8, 0.0, 3.0, 1.0)
    assert controller.bisect[0] == 8 / 4
    assert controller.values[0] == 4 + (10 / 2 - 8) / 2
    assert controller.values[1] == (10 / 2 - 8) / 2


@given(data=st.data(), changes=st.sets(st.sampled_from(list(paper.CHANGES))))
@settings(deadline=None, max_examples=80)
def test_distances_are_exact_where_a_search_ends(data, changes):
    graph = data.draw(graphs(dtypes=("int32", "float64", None)))
    source = data.draw(st.integers(0, graph.n - 1))
    expected = sssp(graph, source, method="frontier_node", backend="cpu").distance
    request = check_request(graph, source, joint=False, targets=None, stop_at="last", cutoff=None)
    set_point = data.draw(st.sampled_from([1, 5, 1000]))
    distance, trace, is_finished = ablation._search(request, tuple(changes), set_point, 300)
    assert 0 < len(trace) <= 300
    reached = distance != request.infinity
    assert (distance[reached] >= expected[reached]).all()
    if is_finished:
        np.testing.assert_array_equal(distance, expected)


@pytest.fixture(scope="module")
def graph():
    edges = CopyModel(3000, 4, weights=(1, 99)).edges(backend="cpu").edges
    return mgraph.from_edges(edges, 3000, directed=False, backend="cpu")


def test_searches_by_the_front_door(graph):
    expected = sssp(graph, [5, 9], backend="cpu")
    found = sssp(graph, [5, 9], controller="paper", set_point=200)
    np.testing.assert_array_equal(found.distance, expected.distance)
    assert (found.method, found.backend) == ("self_tuning", "cpu")
    traced = sssp(graph, 5, controller="paper", set_point=200, trace=True, predecessors=True)
    np.testing.assert_array_equal(traced.distance, expected.distance[0])
    assert (traced.trace["x3"] <= traced.trace["x2"]).all()  # updates, of which some are repeated
    near = sssp(graph, 5, controller="paper", set_point=200, targets=[9])
    assert near.distance[9] == expected.distance[0, 9]


@pytest.mark.parametrize("trace", [False, True])
def test_a_search_that_does_not_end_is_given_up(graph, trace, monkeypatch):
    monkeypatch.setattr(paper, "MAX_ITERATIONS", 3)
    with pytest.raises(UsageError, match="not come to an end in 3 iterations; pass `controller="):
        sssp(graph, 5, controller="paper", set_point=200, trace=trace)
