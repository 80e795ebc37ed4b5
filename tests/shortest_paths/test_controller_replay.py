"""The GPU's controller decides as a core's does: the same numbers, the same threshold."""

import numpy as np
import pytest

from mgraph.shortest_paths.self_tuning import controller_defines
from tests import emulator
from tests.shortest_paths import controller_replay as replay


@pytest.fixture(scope="module")
def graphs():
    return replay.graphs()


def decide_in_emulator(inputs, decided, scalars):
    found = emulator.aligned(decided.shape, float)
    emulator.launch(
        replay.REPLAY, "replay", controller_defines(), 1, 32,
        [inputs.reshape(-1), np.int32(len(inputs)), *scalars, found.reshape(-1)],
    )  # fmt: skip
    return found


def decide_on_gpu(inputs, decided, scalars):
    import cupy

    found = cupy.zeros(decided.shape)
    kernel = replay.REPLAY.kernel("replay", **controller_defines())
    set_point, degree, weight, min_step, is_bound = scalars
    numbers = [np.float64(x) for x in (set_point, degree, weight, min_step)]
    kernel((1,), (32,), (cupy.asarray(inputs), np.int32(len(inputs)), *numbers, is_bound, found))
    return found.get()


@pytest.mark.parametrize(
    "decide",
    [
        pytest.param(
            decide_in_emulator,
            marks=pytest.mark.skipif(not emulator.COMPILER, reason="needs g++"),
        ),
        pytest.param(decide_on_gpu, marks=pytest.mark.gpu),
    ],
)
@pytest.mark.parametrize("name", ["grid", "fractional grid", "power law"])
@pytest.mark.parametrize("set_point", [20.0, 200.0])
@pytest.mark.parametrize("is_bound", [False, True])
def test_decisions(decide, name, set_point, is_bound, graphs, monkeypatch):
    inputs, decided, scalars = replay.record(
        graphs[name], 1, set_point, monkeypatch, is_bound=is_bound
    )
    assert len(inputs) > 100
    found = decide(inputs, decided, scalars)
    replay.assert_same_decisions(found, decided, inputs, scalars[3])
