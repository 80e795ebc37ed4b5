"""A set-point is the mean of the arcs per iteration, or an upper bound of them."""

import numpy as np
import pytest

import mgraph
from mgraph import EdgeList, UsageError, sssp


@pytest.fixture(scope="module")
def grid():
    side = 400
    at = np.arange(side * side).reshape(side, side)
    src = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    dst = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    weights = np.random.default_rng(1).integers(1, 1000, src.size).astype(np.int32)
    return mgraph.from_edges(EdgeList(src, dst, weights), directed=False, backend="cpu")


@pytest.mark.parametrize("backend", ["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
@pytest.mark.parametrize("set_point", [500, 2000])
def test_an_upper_bound_is_exceeded_by_few_iterations(backend, set_point, grid):
    options = {"set_point": set_point, "hops": 1, "backend": backend, "trace": True}
    mean, bound = sssp(grid, 0, **options), sssp(grid, 0, upper_bound=True, **options)
    assert bool((mean.distance == bound.distance).all())
    work, bounded = mean.trace["x2"], bound.trace["x2"]
    assert (work > set_point).mean() > 0.2
    assert (bounded > set_point).mean() < 0.1
    assert bounded.mean() > 0.5 * set_point
    assert bounded.max() < 1.6 * set_point


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "near_far"}, "upper_bound belongs to method self_tuning"),
        ({"delta": 3}, "upper_bound belongs to method self_tuning, and delta to near_far"),
        ({"controller": "paper"}, "upper_bound belongs to the controller mgraph"),
        ({"power_limit": 9}, "give power_limit or upper_bound"),
    ],
)
def test_where_there_is_no_upper_bound(options, message, grid):
    with pytest.raises(UsageError, match=message):
        sssp(grid, 0, upper_bound=True, backend="cpu", **options)
