"""The generators' GPU code without a GPU makes the edges and the statistics of the CPU."""

import numpy as np
import pytest

from mgraph import CopyModel
from mgraph.experiments import copy_statistics
from mgraph.generators import (
    copy_statistics_gpu,
    cuppa_gpu,
    cuppa_hash_gpu,
    preferential_attachment_gpu,
)
from tests import emulator
from tests.emulator.device import Device
from tests.generators.test_cuppa_hash import set_core

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")


@pytest.fixture(scope="module")
def device():
    modules = cuppa_gpu, cuppa_hash_gpu, preferential_attachment_gpu
    cuppa_hash_gpu._exact_core.cache_clear()
    with Device(64).patched(pytest.MonkeyPatch, *modules) as device:
        yield device
    cuppa_hash_gpu._exact_core.cache_clear()  # other tests may have a GPU


MODELS = [
    (CopyModel(700, 1), None),
    (CopyModel(600, 4, weights=(1, 9)), None),
    (CopyModel(500, 7, 0.1, start="ba"), range(3, 444)),
    (CopyModel(300, 33, 0.5), None),
    (CopyModel(1 << 40, 8), range((1 << 40) - 99, 1 << 40)),
    (CopyModel(600, 4, 0.0, method="cuppa", weights=(1, 9)), None),
    (CopyModel(400, 40, method="cuppa"), range(20, 333)),
]


@pytest.mark.parametrize(("model", "part"), MODELS, ids=str)
@pytest.mark.parametrize("core", [0, 2000])
def test_edges_are_the_cpu_s(device, monkeypatch, model, part, core):
    set_core(monkeypatch, core)
    part = part or range(model.n)
    edges, checksum = preferential_attachment_gpu.generate_edges(model, part)
    expected = model.edges(part, backend="cpu")
    for ours, theirs in zip(edges, expected.edges, strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype
    assert checksum == expected.checksum


@pytest.mark.parametrize("start", ["paper", "ba"])
@pytest.mark.parametrize(("method", "d"), [("cuppa", 4), ("cuppa", 40), ("cuppa_hash", 4)])
def test_statistics_are_the_cpu_s(device, monkeypatch, method, d, start):
    set_core(monkeypatch, 500)
    model = CopyModel(900, d, 0.3, method=method, start=start)
    gpu = copy_statistics_gpu.statistics(model, 128, 64)
    cpu = copy_statistics(model, backend="cpu", segments=128 if method == "cuppa" else None)
    np.testing.assert_array_equal(gpu.attempts, cpu.attempts)
    np.testing.assert_array_equal(gpu.chains, cpu.chains)
    assert [round[:4] for round in gpu.rounds] == [round[:4] for round in cpu.rounds]
