"""cuPPA-Hash: the reference's bits, a simple graph, one graph for every partition, its degrees."""

import functools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from mgraph import CopyModel, UsageError
from mgraph.core import power_law
from mgraph.generators import copy_model, preferential_attachment
from mgraph.generators.copy_model import STARTS
from tests import oracles


def cpu(model, part=None, **options):
    return model.edges(part, backend="cpu", **options)


def set_core(monkeypatch, endpoints):
    """Limit the exact core's endpoints, so that small graphs have vertices beyond it."""
    monkeypatch.setattr(copy_model, "CORE_ENDPOINTS", endpoints)
    monkeypatch.setattr(copy_model, "SMALL_CORE_ENDPOINTS", endpoints)


@functools.cache
def reference(n, d, p, start, core_vertices):
    """The edges and their checksum, of seed 7; several cores may have as many vertices."""
    model = CopyModel(n, d, p, seed=7, start=start)
    assert model.core_vertices == core_vertices
    src, dst = oracles.cuppa_hash(model, range(n))
    return src, dst, oracles.edge_checksum(src, dst)


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("core", [0, 99, 800, 1 << 22])
@pytest.mark.parametrize("p", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize(("n", "d"), [(2, 1), (5, 4), (300, 1), (300, 4), (200, 8), (150, 33)])
def test_it_has_the_bits_of_the_reference(monkeypatch, n, d, p, core, start):
    set_core(monkeypatch, core)
    for method in ("cuppa_hash", "copy_hash"):
        model = CopyModel(n, d, p, seed=7, start=start, method=method)
        assert d <= model.core_vertices <= n
        src, dst, checksum = reference(n, d, p, start, model.core_vertices)
        generated = cpu(model)
        np.testing.assert_array_equal(generated.edges.src, src)
        np.testing.assert_array_equal(generated.edges.dst, dst)
        assert generated.checksum == checksum


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("d", [1, 8, 33, 4096])
def test_it_has_the_bits_of_the_reference_at_the_largest_n(monkeypatch, d, start):
    set_core(monkeypatch, 10_000)
    model = CopyModel(1 << 40, d, 0.5, start=start)
    part = range((1 << 40) - 3, 1 << 40)
    generated, (src, dst) = cpu(model, part), oracles.cuppa_hash(model, part)
    assert generated.edges.src.dtype == np.int64
    np.testing.assert_array_equal(generated.edges.src, src)
    np.testing.assert_array_equal(generated.edges.dst, dst)


@settings(deadline=None, max_examples=60)
@given(st.data())
def test_every_partition_gives_the_same_graph(monkeypatch, data):
    set_core(monkeypatch, data.draw(st.sampled_from([0, 5000, 1 << 22])))
    d = data.draw(st.sampled_from([1, 2, 4, 7, 8, 32, 33, 64]))
    model = CopyModel(
        n=data.draw(st.integers(d + 1, d + 3000)),
        d=d,
        p=data.draw(st.sampled_from([0.0, 0.01, 0.5, 1.0])),
        seed=data.draw(st.integers(0, (1 << 64) - 1)),
    )
    complete = cpu(model)
    parts = [cpu(model, part) for part in model.split(data.draw(st.integers(1, min(64, model.n))))]
    blocks = list(
        preferential_attachment.stream(
            model, range(model.n), block_edges=data.draw(st.integers(1, 2 * model.num_edges))
        )
    )
    for pieces in (parts, blocks):
        assert sum(piece.checksum for piece in pieces) % (1 << 64) == complete.checksum
    np.testing.assert_array_equal(np.concatenate([p.edges.src for p in parts]), complete.edges.src)
    np.testing.assert_array_equal(np.concatenate([p.edges.dst for p in parts]), complete.edges.dst)


@pytest.mark.parametrize("p", [0.0, 0.01, 0.5, 1.0])
@pytest.mark.parametrize(
    ("n", "d"), [(100_000, 1), (50_000, 4), (30_000, 8), (5_000, 33), (3_000, 500)]
)
def test_the_graph_is_simple_and_has_every_edge(n, d, p):
    model = CopyModel(n, d, p)
    (src, dst), _ = cpu(model)
    assert len(src) == d * (d - 1) // 2 + (n - d) * d
    assert (np.diff(src) >= 0).all()
    assert ((dst >= 0) & (dst < src)).all()
    keys = np.sort(src.astype(np.int64) * n + dst)
    assert (np.diff(keys) > 0).all()
    assert (np.bincount(src, minlength=n) == np.minimum(np.arange(n), d)).all()


def test_the_largest_d():
    model = CopyModel(4200, 4096, 0.0)
    (_, dst), _ = cpu(model)
    rows = dst[model.edges_before(4096) :].reshape(-1, 4096)
    assert (np.sort(rows, axis=1) == np.arange(4096)).all()


def test_threads_do_not_matter():
    model = CopyModel(200_000, 4)
    assert cpu(model, threads=1).checksum == cpu(model, threads=5).checksum


def test_seeds_and_methods_of_drawing_differ():
    models = [CopyModel(1000, 4, p, seed) for p in (0.4, 0.5) for seed in range(20)]
    checksums = {cpu(model).checksum for model in models}
    assert len(checksums) == 40


def test_a_part_outside_the_graph_is_refused():
    for part in (range(0, 11), range(-1, 5), range(0, 10, 2)):
        with pytest.raises(UsageError, match="part must be a range"):
            cpu(CopyModel(10, 2), part)


def test_degrees_are_those_of_the_plain_copy_model():
    """n = 10^6, d = 4, p = 1/2, against a loop that stores and reads endpoints.

    Degrees of one graph depend on each other weakly, the hubs' most; so the distributions are
    compared by two-sample chi-square over degrees that many vertices share, at fixed seeds, and
    the hubs by the exponent of their tail.
    """
    n, d = 1_000_000, 4
    (src, dst), _ = cpu(CopyModel(n, d, 0.5, seed=3))
    ours = oracles.degrees_of(src, dst, n)
    plain = oracles.copy_model(n, d, 0.5, seed=4)
    clique = [(v, u) for v in range(d) for u in range(v)]
    plain_src = np.concatenate([[v for v, _ in clique], np.repeat(np.arange(d, n), d)])
    plain_dst = np.concatenate([[u for _, u in clique], plain[d:].ravel()])
    theirs = oracles.degrees_of(plain_src, plain_dst, n)

    bounds = np.array([4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 32, 45, 70, 120, 1 << 40])
    table = [np.histogram(degrees, bounds)[0] for degrees in (ours, theirs)]
    assert stats.chi2_contingency(table).pvalue > 0.01

    fits = [power_law.fit_tail(*np.unique(x, return_counts=True), 40) for x in (ours, theirs)]
    for fit in fits:
        assert abs(fit.exponent - 3) < 0.12
    spread = np.hypot(*(fit.standard_error for fit in fits))
    assert abs(fits[0].exponent - fits[1].exponent) < 4 * spread


@pytest.mark.parametrize("n", [20_000])
def test_uniform_attachment_has_its_own_law(n):
    """p = 1: vertex u gains d·(H(n) - H(u)) edges on average, a known sum."""
    d = 4
    (_, dst), _ = cpu(CopyModel(n, d, 1.0))
    gained = np.bincount(dst[d * (d - 1) // 2 :], minlength=n)
    harmonic = np.concatenate([[0], np.cumsum(1 / np.arange(1, n))])
    early = slice(d, 2000)
    expected = d * (harmonic[-1] - harmonic[np.arange(n)])[early].sum()
    assert gained[early].sum() == pytest.approx(expected, abs=5 * np.sqrt(expected))
