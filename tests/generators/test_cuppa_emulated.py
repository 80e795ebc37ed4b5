"""cuppa's kernel in the emulator generates the edges of copy, in many orders of events."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph import CopyModel, UsageError
from mgraph.generators import cuppa_gpu, preferential_attachment
from mgraph.generators.copy_model import STARTS
from mgraph.generators.copy_model_gpu import model_values
from mgraph.generators.cuppa_schedule import Schedule, read_rounds
from tests import emulator

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")


def generate(
    model, blocks, threads, segment, dynamic, seed, max_size=1 << 40, cancelled=0, growth=0,
    consecutive=False,
):  # fmt: skip
    """The endpoints, and the rounds."""
    ends = np.full((model.n - model.d) * model.d, -1, model.dtype)
    rounds = launch(
        model, cuppa_gpu.Endpoints(ends), blocks, threads, segment, dynamic, seed, max_size,
        np.array([cancelled], np.uint32), growth, consecutive,
    )  # fmt: skip
    return ends, rounds


def launch(
    model, ends, blocks, threads, segment, dynamic, seed, max_size=1 << 40, cancel_flag=None,
    growth=0, consecutive=False,
):  # fmt: skip
    """Generate a rank's endpoints; return its rounds."""
    declared = cuppa_gpu.read_declarations(model.d, str(model.dtype), threads, model.start)
    words = declared.round_log.itemsize // 8
    log = np.zeros((-(-(model.n - model.d) // segment) + 2, words), np.uint64)
    arrived, cancelled_round = np.zeros(1, np.uint64), np.full(1, ~np.uint64(0))
    values = {
        "model": model_values(model), "memory": ends.values, "cancel_flag": cancel_flag,
        "places": cuppa_gpu.count_places(model.n - model.d, ends.rank, ends.ranks),
    }  # fmt: skip
    plan = {
        "size": segment, "dynamic": dynamic, "growth": growth, "max_size": max_size,
        "consecutive": consecutive,
    }  # fmt: skip
    state = {
        "log": log, "log_rounds": len(log), "arrived": arrived,
        "cancelled_round": cancelled_round,
    }  # fmt: skip
    emulator.launch(
        cuppa_gpu.KERNELS,
        "cuppa_generate",
        defines_of(model, threads, ends.rank, ends.ranks),
        blocks,
        threads,
        [
            declared.cuppa_launch.pack(values),
            declared.segment_plan.pack(plan),
            declared.launch_state.pack(state),
        ],
        shared=cuppa_gpu.shared_bytes(model, threads),
        seed=seed,
    )
    return read_rounds(log, model.d, declared.round_log)


def defines_of(model, threads, rank, ranks):
    """The macros; that of the rank makes a copy of the emulator, which runs one launch at once."""
    known = cuppa_gpu.defines(model.d, model.dtype, threads, model.start, ranks)
    return known | {"MGRAPH_COPY": str(rank)}


def generate_by_ranks(model, ranks, threads, seed, cancelled=False, skipped=(), **options):
    """The endpoints that ranks of the host's memory generate at once, in the order of vertices."""
    vertices = model.n - model.d
    places = [cuppa_gpu.count_places(vertices, rank, ranks) for rank in range(ranks)]
    # One more: NumPy's view of the end of an array begins where the array does.
    shares = [np.full(2 + count * model.d, -1, model.dtype)[1:] for count in places]
    for rank in skipped:
        shares[rank].base[0] = 0  # it has begun
    table = np.array([share.ctypes.data for share in shares], np.uint64)
    flag = np.array([cancelled], np.uint32)
    for rank in range(ranks):
        emulator.prepare(cuppa_gpu.KERNELS, defines_of(model, threads, rank, ranks))

    def run(rank):
        ends = cuppa_gpu.Endpoints(shares[rank], rank, ranks, table)
        launch(model, ends, 2, threads, 100, True, seed + rank, cancel_flag=flag, **options)

    with ThreadPoolExecutor(ranks) as pool:
        list(pool.map(run, (rank for rank in range(ranks) if rank not in skipped)))
    stripe, width = 1 << cuppa_gpu.STRIPE_BITS, model.d
    ends = np.empty(vertices * width, model.dtype)
    for index, first in enumerate(range(0, vertices, stripe)):
        place = index // ranks * stripe * width
        rows = ends[first * width : (first + stripe) * width]
        rows[...] = shares[index % ranks][place : place + rows.size]
    return ends


@settings(deadline=None, max_examples=15)
@given(st.data())
@pytest.mark.parametrize("ranks", [2, 3])
@pytest.mark.parametrize(("d", "threads"), [(4, 64), (7, 32), (33, 64)])
def test_ranks_generate_the_same_edges(d, threads, ranks, data):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuppa_gpu, "STRIPE_BITS", 3)
        patch.setattr(cuppa_gpu, "MAX_POLLS", 0)
        n = d + data.draw(st.integers(1, 2000 // d))
        p = data.draw(st.sampled_from([0.0, 0.5, 1.0]))
        start = data.draw(st.sampled_from(STARTS))
        model = CopyModel(n, d, p, data.draw(st.integers(0, 99)), "copy", start=start)
        ends = generate_by_ranks(
            model, ranks, threads, data.draw(st.integers(1, 1 << 40)),
            consecutive=data.draw(st.booleans()),
        )  # fmt: skip
    expected = preferential_attachment.generate_endpoints(model)[model.edges_before(d) :]
    np.testing.assert_array_equal(ends, expected)


@pytest.mark.parametrize(("d", "threads"), [(4, 64), (33, 64)])
def test_a_rank_waits_no_more_once_it_is_cancelled(monkeypatch, d, threads):
    """Where another rank never writes what this one waits for."""
    monkeypatch.setattr(cuppa_gpu, "STRIPE_BITS", 3)
    model = CopyModel(d + 600 // d, d, 0.0, 1, "copy")
    ends = generate_by_ranks(model, 2, threads, 1, cancelled=True, skipped=(1,))
    assert (ends != -1).any()
    assert (ends == -1).any()


@settings(deadline=None, max_examples=60)
@given(st.data())
@pytest.mark.parametrize(
    ("d", "threads", "queue", "max_polls"),
    [(1, 64, 32, 0), (4, 64, 32, 0), (7, 32, 32, 0), (20, 32, 32, 0), (32, 32, 32, 0),
     (33, 64, 1, 0), (100, 64, 32, 0), (100, 64, 2, 50)],
)  # fmt: skip
def test_its_edges_are_those_of_copy(d, threads, queue, max_polls, data):
    """Waiting, full queues, and vertices of more slots than threads that resume after waiting."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cuppa_gpu, "QUEUE_CAPACITY", queue)
        patch.setattr(cuppa_gpu, "MAX_POLLS", max_polls)
        n = d + data.draw(st.integers(1, 2000 // d + 20))
        p = data.draw(st.sampled_from([0.0, 1e-5, 0.5, 1.0]))
        start = data.draw(st.sampled_from(STARTS))
        model = CopyModel(n, d, p, data.draw(st.integers(0, 99)), "copy", start=start)
        segment = data.draw(st.sampled_from([1, 7, 100, 1 << 40]))
        dynamic = data.draw(st.booleans())
        blocks, seed = data.draw(st.integers(1, 4)), data.draw(st.integers(1, 1 << 40))
        ends, rounds = generate(
            model, blocks, threads, segment, dynamic, seed,
            growth=data.draw(st.sampled_from([0, 2, 8])), consecutive=data.draw(st.booleans()),
        )  # fmt: skip
    expected = preferential_attachment.generate_endpoints(model)[model.edges_before(d) :]
    np.testing.assert_array_equal(ends, expected)
    assert [round.first for round in rounds] == [d, *(round.stop for round in rounds[:-1])]
    assert rounds[-1].stop == n
    assert max(round.longest for round in rounds) <= queue


@pytest.mark.parametrize(("d", "threads"), [(4, 64), (40, 64), (100, 64)])
def test_queues_are_filled_and_lose_nothing(monkeypatch, d, threads):
    monkeypatch.setattr(cuppa_gpu, "MAX_POLLS", 0)
    model = CopyModel(d + 6000 // d, d, 0.0, method="copy")
    ends, rounds = generate(model, 3, threads, 1 << 40, False, 1)
    np.testing.assert_array_equal(
        ends, preferential_attachment.generate_endpoints(model)[model.edges_before(d) :]
    )
    assert rounds[0].waited > 0
    assert d > 4 or (rounds[0].longest, rounds[0].overflows > 0) == (32, True)


@pytest.mark.parametrize("growth", [2, 4, 32])
def test_segments_grow_by_the_papers_factor(growth):
    """While no queue had more than the part of it that the factor leaves."""
    model = CopyModel(4 + 3000, 4, 0.9, method="copy")
    _, rounds = generate(model, 2, 64, 10, True, 1, growth=growth)
    sizes = [round.stop - round.first for round in rounds]
    for size, after, round in zip(sizes, sizes[1:-1], rounds, strict=False):
        grows = round.longest * growth <= cuppa_gpu.QUEUE_CAPACITY
        assert after == size * (growth if grows else 1)
    assert len(sizes) > 2


@pytest.mark.parametrize(
    ("d", "options", "vertices"),
    [
        (4, {}, 3 * 8 * 32 // 4),
        (4, {"segments": "fixed"}, 3 * 6144 // 4),
        (4, {"segments": "fixed", "places": 100}, 3 * 25),
        (4, {"growth": 2}, 3 * 6144 // 4),
        (7, {"segments": "fixed"}, 3 * (6144 // 7)),
        (4096, {"segments": "fixed", "places": 100}, 3),
        (4, {"segments": 77}, 77),
    ],
)
def test_the_first_segment(d, options, vertices):
    """Of 3 blocks of 8 teams: by the paper's rule a block has C/d vertices."""
    schedule = Schedule(**options)
    schedule.check()
    assert cuppa_gpu.choose_segment(d, schedule, 3, 24) == vertices


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"segments": 0}, "segments, if not dynamic or fixed, must lie"),
        ({"places": 0}, "places must lie"),
        ({"growth": 1}, "growth must lie"),
        ({"growth": 2, "segments": "fixed"}, "growth belongs to dynamic segments"),
        ({"partition": "hash"}, "partition must be one of round_robin, consecutive"),
    ],
)
def test_schedules_that_are_wrong(options, message):
    with pytest.raises(UsageError, match=message):
        Schedule(**options).check()
