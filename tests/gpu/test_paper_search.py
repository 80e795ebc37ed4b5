"""The paper's controller, whose stages run on a GPU."""

import numpy as np
import pytest

import mgraph
from mgraph import CopyModel, EdgeList, UsageError
from mgraph.experiments import compare_controllers
from mgraph.shortest_paths import paper_controller_cpu as paper
from mgraph.shortest_paths.sssp import sssp

pytestmark = pytest.mark.gpu


def power_law(n, dtype=None):
    edges = CopyModel(n, 4, weights=(1, 99)).edges(backend="cpu").edges
    if dtype is not None:
        edges = EdgeList(edges.src, edges.dst, edges.weight.astype(dtype))
    return mgraph.from_edges(edges, n, directed=False, backend="cpu")


@pytest.mark.parametrize("dtype", [None, np.int64, np.float32, np.float64])
@pytest.mark.parametrize("set_point", [30_000, 100_000, None])
def test_distances(dtype, set_point):
    graph = power_law(20_000, dtype)
    expected = sssp(graph, [5, 9], backend="cpu")
    found = sssp(graph, [5, 9], controller="paper", set_point=set_point, backend="gpu")
    assert (found.method, found.backend) == ("self_tuning", "gpu")
    np.testing.assert_array_equal(found.distance.get(), expected.distance)
    targets = [7, 21, 19_000]
    near = sssp(
        graph, 5, controller="paper", set_point=set_point, targets=targets, backend="gpu",
        predecessors=True,
    )  # fmt: skip
    np.testing.assert_array_equal(near.distance.get()[targets], expected.distance[0, targets])
    assert int(near.path(21).vertices[0]) == 5


def test_a_hub_and_its_pieces():
    """The arcs of one vertex are spread over all blocks."""
    leaves = 3_000_000
    edges = EdgeList(np.zeros(leaves, np.int32), np.arange(1, leaves + 1, dtype=np.int32))
    star = mgraph.from_edges(edges, directed=False, backend="cpu").to_gpu()
    paths = sssp(star, 4, controller="paper", trace=True)
    assert paths.trace["x1"][:2].tolist() == [1, 1]
    assert paths.trace["x2"][1] == leaves - 1
    assert int(paths.distance.max()) == 2


def test_traces_and_ends(monkeypatch):
    graph = power_law(20_000)
    trace = sssp(graph, 5, controller="paper", set_point=30_000, trace=True, backend="gpu").trace
    assert (trace["x3"] <= trace["x2"]).all()
    assert (trace["x4"] <= trace["x3"]).all()
    assert (trace["hops"] == 1).all()
    assert trace["far_size"][-1] == 0
    monkeypatch.setattr(paper, "MAX_ITERATIONS", 3)
    with pytest.raises(UsageError, match="not come to an end in 3 iterations"):
        sssp(graph, 5, controller="paper", set_point=300, backend="gpu")


def test_the_controllers_beside_each_other():
    """The rows are those of a core; the races of a GPU's iteration change the numbers a little."""
    graph = power_law(20_000)
    expected = compare_controllers(graph, 5, 3000, max_iterations=2000)
    found = compare_controllers(graph.to_gpu(), 5, 3000, max_iterations=2000)
    assert found["controller"].tolist() == expected["controller"].tolist()
    ends = found["ends"] & expected["ends"]
    assert ends.sum() >= 5
    ratio = found["expansions per vertex"][ends] / expected["expansions per vertex"][ends]
    assert ratio.between(0.5, 2).all()


@pytest.mark.parametrize("hops", [1, 128])
def test_a_trace_has_its_hops(hops):
    edges = EdgeList(np.arange(3000), np.arange(1, 3001), np.ones(3000, np.int32))
    chain = mgraph.from_edges(edges, directed=True, backend="cpu")
    for options in ({"delta": 50.0}, {"set_point": 500}):
        trace = sssp(chain, 0, backend="gpu", hops=hops, trace=True, **options).trace
        assert trace["is_wave"].any() == (hops > 1)
        assert trace["hops"].max() <= hops
        assert (trace["hops"][trace["is_wave"] == 0] <= 1).all()
        if hops > 1:
            assert trace["hops"].max() > 8
            assert trace["hops"].sum() >= 3000
