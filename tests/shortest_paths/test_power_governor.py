"""The set-point follows the power of a plant that behaves like a GPU: more P, more watts."""

import math

import numpy as np
import pytest

from mgraph.shortest_paths.power_governor import PowerGovernor


def watts(set_point):
    return 110 + 500 / (1 + math.exp(-(math.log2(set_point) - 17) / 1.5))


@pytest.mark.parametrize("limit", [180, 250, 400])
@pytest.mark.parametrize("start", [2e3, 1e6])
def test_it_settles_at_the_limit(limit, start):
    governor, noise = PowerGovernor(limit), np.random.default_rng(1)
    governor.begin(start, 1e3, 4e6)
    seen = []
    for _ in range(40):
        seen.append(watts(governor.set_point) * noise.normal(1, 0.01))
        for _ in range(4):  # searches of a quarter of a window each
            governor.observe(seen[-1] / 4, 0.25)
    assert np.mean(seen[15:]) == pytest.approx(limit, rel=0.02)
    assert np.abs(np.array(seen[15:]) / limit - 1).max() < 0.08


def test_it_stays_within_its_bounds_and_comes_back():
    governor = PowerGovernor(100)  # below what the plant can do
    governor.begin(1e5, 1e3, 1e6)
    for _ in range(20):
        governor.observe(2 * watts(governor.set_point), 2)
    assert governor.set_point == pytest.approx(1e3)
    governor.observe(60, 1)
    assert governor.set_point > 1e3
    governor.begin(5, 1, 10)  # it goes on from where it is
    assert governor.set_point > 1e3
