"""A cancelled generation stops soon; the ability to cancel does not change the graph."""

import numpy as np
import pytest

from mgraph import CopyModel, experiments
from mgraph.core import cancellation
from mgraph.generators import cuppa_gpu, preferential_attachment
from tests import emulator, stopped
from tests.generators.test_cuppa_emulated import generate


@pytest.mark.parametrize("method", ["cuppa_hash", "copy_hash", "copy", "cuppa", "ba"])
def test_edges_stop(method):
    def generate_edges(n, d=8):
        return CopyModel(n, d, 0.5, 1, method).edges(backend="cpu")

    results = stopped.both_ways(lambda: generate_edges(1 << 12))
    np.testing.assert_array_equal(*(result.edges.dst for result in results))
    assert results[0].checksum == results[1].checksum
    assert stopped.seconds_to_stop(lambda: generate_edges(1 << 25)) < stopped.PATIENCE


def test_a_stream_stops_between_blocks():
    model, cancelled = CopyModel(1 << 12, 8), []
    with cancellation.cancelled_when(lambda: bool(cancelled)):
        blocks = preferential_attachment.stream(model, range(model.n), block_edges=1000)
        next(blocks)
        cancelled.append(True)
        with pytest.raises(cancellation.Cancelled):
            next(blocks)


def test_statistics_stop():
    model = CopyModel(1 << 22, 8, 0.5, 1, "copy")
    experiments.copy_statistics(CopyModel(99, 8, 0.5, 1, "copy"), backend="cpu")
    run = lambda: experiments.copy_statistics(model, backend="cpu")  # noqa: E731
    assert stopped.seconds_to_stop(run, after=1.0) < stopped.PATIENCE


@pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")
@pytest.mark.parametrize("seed", range(1, 6))
@pytest.mark.parametrize(("d", "threads"), [(4, 64), (40, 64)])
def test_cuppas_kernel_ends_with_a_segment(d, threads, seed):
    """All blocks stop after the first segment if the cancel flag is set from the beginning."""
    model = CopyModel(d + 400, d, 0.5, method="copy")
    ends, rounds = generate(model, 3, threads, 50, False, seed, cancelled=1)
    expected = preferential_attachment.generate_endpoints(model)[model.edges_before(d) :]
    np.testing.assert_array_equal(ends[: 50 * d], expected[: 50 * d])
    assert (ends[50 * d :] == -1).all()
    assert not rounds  # a cancelled round is not logged


@pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")
def test_segments_of_cuppa_grow_no_further():
    model = CopyModel(4 + 2000, 4, 0.5, method="copy")
    ends, rounds = generate(model, 2, 64, 10, True, 1, max_size=100)
    np.testing.assert_array_equal(ends, preferential_attachment.generate_endpoints(model)[6:])
    sizes = {round.stop - round.first for round in rounds[:-1]}
    assert max(sizes) == 100
    assert cuppa_gpu._MAX_SEGMENT_EDGES >> 12 > 0
