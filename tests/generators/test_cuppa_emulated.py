"""cuppa's kernel without a GPU makes the edges of copy, in many orders of events."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph import CopyModel
from mgraph.generators import cuppa_gpu, preferential_attachment
from mgraph.generators.copy_model import STARTS
from mgraph.generators.copy_model_gpu import model_values
from tests import emulator

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")


def made(model, blocks, threads, segment, dynamic, seed, most=1 << 40, stop=0):
    """The endpoints, and the rounds."""
    ends = np.full((model.n - model.d) * model.d, -1, model.dtype)
    log = np.zeros((-(-(model.n - model.d) // segment) + 2, 5), np.uint64)
    arguments = {
        "cuppa_launch": {"model": model_values(model), "n": model.n, "ends": ends},
        "segment_plan": {"size": segment, "dynamic": dynamic, "most": most},
        "launch_state": {
            "log": log, "logged": len(log), "arrived": np.zeros(1, np.uint64),
            "stop": np.array([stop], np.uint32), "stopped_at": np.full(1, ~np.uint64(0)),
        },
    }  # fmt: skip
    macros = cuppa_gpu.defines(model.d, model.dtype, threads, model.start)
    emulator.launch(
        cuppa_gpu.KERNELS,
        "cuppa_generate",
        macros,
        blocks,
        threads,
        [cuppa_gpu.KERNELS.struct(name, **macros).pack(arguments[name]) for name in arguments],
        shared=cuppa_gpu._shared_bytes(model, threads),
        seed=seed,
    )
    return ends, cuppa_gpu._rounds(log, model.d)


@settings(deadline=None, max_examples=60)
@given(st.data())
@pytest.mark.parametrize(
    ("d", "threads", "queue", "patience"),
    [(1, 64, 32, 0), (4, 64, 32, 0), (7, 32, 32, 0), (20, 32, 32, 0), (32, 32, 32, 0),
     (33, 64, 1, 0), (100, 64, 32, 0), (100, 64, 2, 50)],
)  # fmt: skip
def test_it_makes_the_edges_of_copy(d, threads, queue, patience, data):
    """Waiting, full queues, vertices of more slots than threads, that go on where they waited."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuppa_gpu, "QUEUE", queue)
        patch.setattr(cuppa_gpu, "PATIENCE", patience)
        n = d + data.draw(st.integers(1, 2000 // d + 20))
        p = data.draw(st.sampled_from([0.0, 1e-5, 0.5, 1.0]))
        start = data.draw(st.sampled_from(STARTS))
        model = CopyModel(n, d, p, data.draw(st.integers(0, 99)), "copy", start=start)
        segment = data.draw(st.sampled_from([1, 7, 100, 1 << 40]))
        dynamic = data.draw(st.booleans())
        blocks, seed = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 1 << 40))
        ends, rounds = made(model, blocks, threads, segment, dynamic, seed)
    expected = preferential_attachment.generate_endpoints(model)[model.edges_before(d) :]
    np.testing.assert_array_equal(ends, expected)
    assert [round.first for round in rounds] == [d, *(round.stop for round in rounds[:-1])]
    assert rounds[-1].stop == n
    assert max(round.longest for round in rounds) <= queue


@pytest.mark.parametrize(("d", "threads"), [(4, 64), (40, 64), (100, 64)])
def test_queues_are_filled_and_lose_nothing(monkeypatch, d, threads):
    monkeypatch.setattr(cuppa_gpu, "PATIENCE", 0)
    model = CopyModel(d + 6000 // d, d, 0.0, method="copy")
    ends, rounds = made(model, 3, threads, 1 << 40, False, 1)
    np.testing.assert_array_equal(
        ends, preferential_attachment.generate_endpoints(model)[model.edges_before(d) :]
    )
    assert rounds[0].waited > 0
    assert d > 4 or (rounds[0].longest, rounds[0].overflows > 0) == (32, True)
