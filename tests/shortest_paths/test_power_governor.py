"""The governor, with a simulated GPU whose power rises with the set-point."""

import math

import numpy as np
import pytest

from mgraph.shortest_paths.power_governor import PowerGovernor

IDLE = 110


def steep(log2_p):
    return 150 + 350 / (1 + math.exp(-log2_p - 1))


def flat(log2_p):  # as measured on an H200
    return np.interp(log2_p, [-4, -3, -2, -1, 0, 2], [425, 440, 455, 465, 473, 480])


def watts(governor, at_work=steep):
    return IDLE + governor.duty_cycle * (at_work(math.log2(governor.set_point_factor)) - IDLE)


@pytest.mark.parametrize(
    ("at_work", "limit"),
    [(steep, limit) for limit in (130, 180, 250, 400)]
    + [(flat, limit) for limit in (200, 340, 400, 430, 460)],
)
def test_it_settles_at_the_limit(at_work, limit):
    governor, noise = PowerGovernor(limit), np.random.default_rng(1)
    measured = []
    for _ in range(40):
        measured.append(watts(governor, at_work) * noise.normal(1, 0.01))
        for _ in range(4):  # searches of a quarter of a window each
            governor.observe(measured[-1] / 4, 0.25)
    settled = np.array(measured[8:])
    assert settled.mean() == pytest.approx(limit, rel=0.01)
    assert settled.std() < 0.02 * limit
    assert np.abs(settled / limit - 1).max() < 0.08
    assert (governor.duty_cycle < 1) == (
        limit < at_work(-4)
    )  # below the power of the minimum set-point


def test_it_stays_within_its_bounds_and_comes_back():
    governor = PowerGovernor(100)  # below the idle power
    assert (governor.set_point_factor, governor.duty_cycle) == (1, 1)
    for _ in range(20):
        governor.observe(2 * watts(governor), 2)
    assert (governor.set_point_factor, governor.duty_cycle) == (1 / 16, 1 / 16)
    for _ in range(20):
        governor.observe(60, 1)
    assert (governor.set_point_factor, governor.duty_cycle) == (4, 1)
