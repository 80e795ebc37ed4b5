"""The set-point follows the power of a plant that behaves like a GPU: more P, more watts."""

import math

import numpy as np
import pytest

from mgraph.shortest_paths.power_governor import PowerGovernor

IDLE = 110


def watts(governor):
    at_work = 150 + 350 / (1 + math.exp(-math.log2(governor.factor) - 1))
    return IDLE + governor.busy * (at_work - IDLE)


@pytest.mark.parametrize("limit", [130, 180, 250, 400])
def test_it_settles_at_the_limit(limit):
    governor, noise = PowerGovernor(limit), np.random.default_rng(1)
    seen = []
    for _ in range(40):
        seen.append(watts(governor) * noise.normal(1, 0.01))
        for _ in range(4):  # searches of a quarter of a window each
            governor.observe(seen[-1] / 4, 0.25)
    assert np.mean(seen[15:]) == pytest.approx(limit, rel=0.02)
    assert np.abs(np.array(seen[15:]) / limit - 1).max() < 0.08
    assert (governor.busy < 1) == (limit < 160)  # below what the least set-point takes


def test_it_stays_within_its_bounds_and_comes_back():
    governor = PowerGovernor(100)  # below what the plant takes at rest
    assert (governor.factor, governor.busy) == (1, 1)
    for _ in range(20):
        governor.observe(2 * watts(governor), 2)
    assert (governor.factor, governor.busy) == (1 / 16, 1 / 16)
    for _ in range(20):
        governor.observe(60, 1)
    assert (governor.factor, governor.busy) == (4, 1)
