"""copy, cuppa, ba and copy_hash: the references' bits, one graph per model, the same degrees."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mgraph import CopyModel, OutOfMemoryError, UsageError
from mgraph.core import power_law
from mgraph.generators import preferential_attachment
from mgraph.generators.copy_model import METHODS, STARTS
from tests import oracles

SIZES = [(2, 1), (5, 4), (300, 1), (300, 4), (200, 8), (90, 33), (150, 33)]


def cpu(model, part=None):
    return model.edges(part, backend="cpu")


def assert_same_edges(generated, expected):
    for ours, theirs in zip(generated.edges, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("p", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize(("n", "d"), SIZES)
def test_copy_has_the_bits_of_the_reference(n, d, p, start):
    model = CopyModel(n, d, p, seed=7, method="copy", start=start)
    generated, expected = cpu(model), oracles.exact_copy_model(model)
    assert_same_edges(generated, expected)
    assert generated.checksum == oracles.edge_checksum(*expected)


@pytest.mark.parametrize(("n", "d"), SIZES)
def test_ba_has_the_bits_of_the_reference(n, d):
    model = CopyModel(n, d, seed=7, method="ba")
    assert_same_edges(cpu(model), oracles.preferential_attachment(model))


@pytest.mark.parametrize("p", [0.0, 0.1, 0.5, 1.0])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (20_000, 4), (3000, 40), (1_200_000, 4)])
def test_copy_hash_has_the_edges_of_cuppa_hash(n, d, p):
    generated, expected = (
        cpu(CopyModel(n, d, p, method=method)) for method in ("copy_hash", "cuppa_hash")
    )
    assert_same_edges(generated, expected.edges)


@settings(deadline=None, max_examples=40)
@given(st.data())
def test_every_partition_gives_the_same_graph(data):
    d = data.draw(st.sampled_from([1, 2, 4, 8, 33, 64]))
    method = data.draw(st.sampled_from([m for m in METHODS if m != "cuppa_hash"]))
    model = CopyModel(
        n=data.draw(st.integers(d + 1, d + 3000)),
        d=d,
        p=0.5 if method == "ba" else data.draw(st.sampled_from([0.0, 0.01, 0.5, 1.0])),
        seed=data.draw(st.integers(0, (1 << 64) - 1)),
        method=method,
        weights=data.draw(st.sampled_from([None, (0, 9)])),
    )
    complete = cpu(model)
    parts = [cpu(model, part) for part in model.split(data.draw(st.integers(1, min(9, model.n))))]
    columns = zip(*(part.edges for part in parts), strict=True)
    assert_same_edges(complete, [np.concatenate(column) for column in columns])
    blocks = preferential_attachment.stream(
        model, range(model.n), block_edges=data.draw(st.integers(1, 2 * model.num_edges))
    )
    for pieces in (parts, blocks):
        assert sum(piece.checksum for piece in pieces) % (1 << 64) == complete.checksum


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("n", "d"), [(100_000, 1), (50_000, 4), (5_000, 33), (3_000, 500)])
def test_the_graph_is_simple_and_has_every_edge(n, d, method):
    (src, dst), _ = cpu(CopyModel(n, d, method=method))
    assert len(src) == d * (d - 1) // 2 + (n - d) * d
    assert (np.bincount(src, minlength=n) == np.minimum(np.arange(n), d)).all()
    assert (np.diff(src) >= 0).all()
    assert ((dst >= 0) & (dst < src)).all()
    keys = np.sort(src.astype(np.int64) * n + dst)
    assert (np.diff(keys) > 0).all()


@functools.cache
def degrees(method, d, seed):
    n = 400_000
    return oracles.degrees_of(*cpu(CopyModel(n, d, 0.5, seed, method)).edges, n)


@pytest.mark.parametrize("d", [1, 4])
@pytest.mark.parametrize("method", [m for m in METHODS if m != "ba"])
def test_all_methods_have_the_degrees_of_ba(method, d):
    """Two-sample chi-square at fixed seeds, over degrees that many vertices share; and the tails.

    Degrees of one graph depend on each other weakly, the hubs' most, so these are compared by the
    exponents of their tails.
    """
    samples = [degrees("ba", d, 5), degrees(method, d, 6 + METHODS.index(method))]
    bounds = d + np.array([0, 1, 2, 3, 4, 5, 6, 8, 10, 13, 16, 21, 28, 41, 66, 120, 1 << 40])
    table = np.array([np.histogram(sample, bounds)[0] for sample in samples])
    table = table[:, table.min(axis=0) > 10]
    assert stats.chi2_contingency(table).pvalue > 0.01
    fits = [power_law.fit_tail(*np.unique(x, return_counts=True), 10 * d) for x in samples]
    spread = np.hypot(*(fit.standard_error for fit in fits))
    assert abs(fits[0].exponent - fits[1].exponent) < 4 * spread
    assert all(abs(fit.exponent - 3) < 0.25 for fit in fits)


@pytest.mark.parametrize("method", ["copy", "copy_hash", "ba"])
def test_a_cpu_method_refuses_a_gpu(method):
    with pytest.raises(UsageError, match=f"method {method} runs on CPUs"):
        CopyModel(100, method=method).edges(backend="gpu")


def test_endpoints_alone():
    model = CopyModel(3000, 4, method="copy")
    complete = cpu(model).edges.dst
    for stop in (None, 0, 3, 2000):
        rows = model.num_edges if stop is None else model.edges_before(stop)
        np.testing.assert_array_equal(
            preferential_attachment.generate_endpoints(model, stop), complete[:rows]
        )
    with pytest.raises(UsageError, match="copy_hash stores no endpoints; cuppa, copy and ba do"):
        preferential_attachment.generate_endpoints(CopyModel(100, method="copy_hash"))
    with pytest.raises(UsageError, match="a range of vertices within"):
        preferential_attachment.generate_endpoints(model, 3001)


def test_ba_takes_one_p():
    with pytest.raises(UsageError, match="method ba is preferential attachment alone"):
        CopyModel(100, p=0.4, method="ba")


@pytest.mark.parametrize("method", ["cuppa", "copy", "ba"])
def test_a_graph_too_large_for_memory_is_refused_before_any_work(method):
    model = CopyModel(1 << 40, 8, method=method)
    with pytest.raises(OutOfMemoryError, match=r"needs 131,072\.0 GiB.*use method cuppa_hash"):
        cpu(model)
    assert len(cpu(model, range(100)).edges) == model.edges_before(100)
