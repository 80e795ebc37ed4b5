"""cuppa_hash's kernel for d <= 32 in the emulator generates the edges of the CPU."""

import numpy as np
import pytest

from mgraph import CopyModel
from mgraph.core.hash_keys import stream_key
from mgraph.generators import copy_cpu, cuppa_hash_gpu
from mgraph.generators.copy_model_gpu import model_defines
from tests import emulator
from tests.generators.test_cuppa_hash import set_core

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")


@pytest.mark.parametrize("core", [0, 150])
@pytest.mark.parametrize("start", ["paper", "ba"])
@pytest.mark.parametrize("p", [0.0, 0.1, 0.5])
@pytest.mark.parametrize("d", [1, 3, 8, 32])
def test_its_edges_are_those_of_the_cpu(monkeypatch, d, p, start, core):
    set_core(monkeypatch, core)
    model = CopyModel(d + 600, d, p, 5, start=start)
    first = model.core_vertices
    expected = model.edges(range(first, model.n), backend="cpu")
    clique = np.repeat(np.arange(d, dtype=np.int32), d)  # a copy from it ends there
    core = np.concatenate([clique, copy_cpu.exact_core(model)])
    white0, white1, key = (np.uint32(word) for word in stream_key(model.seed))
    src, dst = np.empty_like(expected.edges.src), np.full_like(expected.edges.dst, -1)
    checksum = np.zeros(1, np.uint64)
    emulator.launch(
        cuppa_hash_gpu.KERNELS,
        "cuppa_hash_fill_short",
        model_defines(d, model.dtype, start),
        2,
        64,
        (
            np.int64(first), np.int64(model.n), np.uint64(model.threshold),
            white0, white1, key, white1 ^ key,
            core, np.int64(first),
            src, dst, checksum,
        ),
        seed=1,
    )  # fmt: skip
    np.testing.assert_array_equal(dst, expected.edges.dst)
    np.testing.assert_array_equal(src, expected.edges.src)
    assert checksum[0] == expected.checksum
