"""cuPPA on several cores makes the graph of one core, whatever its threads do when."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mgraph import CopyModel
from mgraph.core import cancellation
from mgraph.generators import copy_cpu, cuppa_cpu, preferential_attachment
from mgraph.generators.copy_draws_cpu import parameters


def expected_ends(model):
    copied = np.empty((model.n - model.d) * model.d, model.dtype)
    copy_cpu.fill(parameters(model), copied, cancellation.cancel_flag())
    return copied


models = st.builds(
    lambda n, d, p, seed, start: CopyModel(n + d, d, p, seed, "cuppa", start=start),
    n=st.integers(1, 9000), d=st.sampled_from([1, 2, 4, 7, 32, 33, 100]),
    p=st.sampled_from([0.0, 0.01, 0.5, 1.0]), seed=st.integers(0, 99),
    start=st.sampled_from(["paper", "ba"]),
)  # fmt: skip


@given(model=models, threads=st.integers(1, 5), first_edges=st.integers(1, 20_000))
@settings(max_examples=60)
def test_its_edges_are_those_of_copy(model, threads, first_edges):
    ends = np.empty((model.n - model.d) * model.d, model.dtype)
    cuppa_cpu.fill(parameters(model), ends, threads, first_edges)
    np.testing.assert_array_equal(ends, expected_ends(model))


@given(model=models, threads=st.integers(2, 5), orders=st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_threads_that_come_late(model, threads, orders):
    """Threads that run one after another, the last ones first, leave the most vertices waiting."""
    expected = expected_ends(model)
    ends = expected.copy()
    rows = model.n - model.d
    first = orders.randint(1, rows)
    waited = []

    def each(work, items):
        items = list(items)
        order = orders.sample(range(len(items)), len(items))
        counts = {i: work(items[i]) for i in order}
        waited.append(sum(counts[i] or 0 for i in order))
        return [counts[i] for i in range(len(items))]

    cuppa_cpu._make_segment(parameters(model), ends, first, rows, threads, each)
    np.testing.assert_array_equal(ends, expected)
    assert waited[-1] == 0


def test_many_vertices_wait_where_threads_come_late(monkeypatch):
    """And several threads resolve them, in more than one pass."""
    monkeypatch.setattr(cuppa_cpu, "_FEW_WAITING", 100)
    model = CopyModel(60_000, 4, 0.1, method="cuppa")
    expected = expected_ends(model)
    ends = expected.copy()
    waited = []

    def each(work, items):
        counts = [work(item) for item in reversed(list(items))][::-1]
        if counts[0] is not None:
            waited.append(sum(counts))
        return counts

    cuppa_cpu._make_segment(parameters(model), ends, 5, model.n - model.d, 3, each)
    np.testing.assert_array_equal(ends, expected)
    assert waited[0] > 20_000
    assert len(waited) > 3


def test_the_front_door_takes_all_cores(monkeypatch):
    model = CopyModel(100_000, 8, method="cuppa", weights=(1, 9))
    expected = CopyModel(100_000, 8, method="copy", weights=(1, 9)).edges(backend="cpu")
    seen = []
    fill = cuppa_cpu.fill

    def observe(draws, ends, threads):
        seen.append(threads)
        fill(draws, ends, threads, 1000)

    monkeypatch.setattr(cuppa_cpu, "fill", observe)
    monkeypatch.setattr(preferential_attachment, "available_cores", lambda: 3)
    found = model.edges(backend="cpu")
    assert found.checksum == expected.checksum
    np.testing.assert_array_equal(found.edges.dst, expected.edges.dst)
    preferential_attachment.generate_edges(model, range(500), backend="cpu", threads=2)
    assert seen == [3, 2]
