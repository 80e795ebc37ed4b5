"""The first vertices have the degrees of the exact copy model, or of Barabási and Albert's."""

import functools

import networkx as nx
import numpy as np
import pytest
from scipy import stats

from mgraph import CopyModel
from mgraph.generators import preferential_attachment
from tests.benchmarks.hubs import compare_hubs, hubs_by_seed
from tests.generators.test_cuppa_hash import set_core

N, SEEDS = 20_000, 20
METHODS = ("cuppa_hash", "copy")


@pytest.mark.parametrize("p", [0.1, 0.25, 0.5, 0.75])
@pytest.mark.parametrize("d", [1, 4, 8, 16])
def test_hubs_are_those_of_the_exact_model(monkeypatch, d, p):
    """A core of a quarter of the vertices leaves 0.4 per cent at p = 0.5; no core leaves 25."""
    set_core(monkeypatch, N * d // 4)
    exact, ours = hubs_by_seed("copy", N, d, p, SEEDS), hubs_by_seed("cuppa_hash", N, d, p, SEEDS)
    shares, errors = compare_hubs(ours, exact)
    assert np.abs(shares).max() < {0.1: 6, 0.25: 3, 0.5: 1, 0.75: 0.5}[p]
    if p >= 0.5:
        assert np.abs(errors).max() < 1
    if d == 1:
        assert not shares.any()  # no parallel edges, so no redraws


@pytest.mark.parametrize(("d", "p"), [(8, 0.5), (4, 0.25), (16, 0.1)])
def test_without_a_core_hubs_are_too_large(monkeypatch, d, p):
    """The test above would detect a missing core."""
    set_core(monkeypatch, 0)
    exact, ours = hubs_by_seed("copy", N, d, p, SEEDS), hubs_by_seed("cuppa_hash", N, d, p, SEEDS)
    shares, _ = compare_hubs(ours, exact)
    assert shares[0] > 10
    assert shares[1] > 10


@pytest.mark.parametrize("p", [0.1, 0.5])
@pytest.mark.parametrize("d", [4, 16])
def test_a_small_graph_is_the_exact_model(d, p):
    """A graph within the core equals the exact model edge by edge."""
    results = [CopyModel(9000, d, p, 3, method).edges(backend="cpu") for method in METHODS]
    assert results[0].checksum == results[1].checksum


@functools.cache
def degrees(method, n, d, start, seeds):
    """Degrees of the first 2d + 2 vertices, by seed."""
    first = 2 * d + 2
    rows = []
    with pytest.MonkeyPatch.context() as patch:  # asking for it takes longer than a small graph
        patch.setattr(preferential_attachment, "available_memory", lambda: 1 << 30)
        for seed in range(seeds):
            model = CopyModel(n, d, 0.5, seed, method, start=start)
            ((edges, _),) = preferential_attachment.stream(model, range(n))
            counts = np.bincount(np.concatenate([edges.src, edges.dst]), minlength=n)
            rows.append(counts[:first])
    return np.array(rows)


@functools.cache
def networkx_degrees(n, d, seeds):
    rows = []
    for seed in range(seeds):
        clique = nx.complete_graph(d) if d > 1 else None
        graph = nx.barabasi_albert_graph(n, d, seed=seed, initial_graph=clique)
        rows.append([graph.degree(v) for v in range(2 * d + 2)])
    return np.array(rows)


def assert_same_means(ours, theirs):
    """Vertex by vertex, a t-test at a level that 10 vertices of 6 cases pass by chance."""
    assert ours.shape[1] == theirs.shape[1]
    p_values = stats.ttest_ind(ours, theirs, equal_var=False).pvalue
    assert np.nan_to_num(p_values, nan=1.0).min() > 1e-4


@pytest.mark.parametrize(("n", "d"), [(3, 1), (300, 1), (200, 2), (200, 5)])
def test_the_start_ba_is_barabasi_and_alberts(n, d):
    """Graphs this small are within the core of cuppa_hash, so those of copy are its graphs, too."""
    ours = degrees("copy", n, d, "ba", 1500)
    np.testing.assert_array_equal(degrees("cuppa_hash", n, d, "ba", 300), ours[:300])
    ours = ours[:, : min(n, ours.shape[1])]
    assert_same_means(ours, degrees("ba", n, d, "paper", 1500)[:, : ours.shape[1]])
    if n >= 2 * d + 2:
        assert_same_means(ours, networkx_degrees(n, d, 400))


def test_the_two_starts_at_three_vertices():
    """By hand: vertex 2 joins vertex 0 with probability 3/4, or 1/2 with the start ba."""
    paper, ba = (degrees("copy", 3, 1, start, 1500).mean(axis=0) for start in ("paper", "ba"))
    np.testing.assert_allclose(paper[:2], [1.75, 1.25], atol=0.04)
    np.testing.assert_allclose(ba[:2], [1.5, 1.5], atol=0.04)


def test_the_starts_differ_at_the_first_vertex():
    """Mean degree of vertex 0 at n = 1000, d = 1: 68 against 35, as the documentation says."""
    for start, expected in (("paper", 68), ("ba", 35)):
        first_degrees = degrees("cuppa_hash", 1000, 1, start, 1000)[:, 0]
        error = first_degrees.std() / np.sqrt(len(first_degrees))
        assert abs(first_degrees.mean() - expected) < 4 * error + 0.5


@pytest.mark.parametrize("p", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_other_probabilities_take_the_start_ba_too(d, p):
    model = CopyModel(2000, d, p, 1, start="ba")
    (src, dst), _ = model.edges(backend="cpu")
    assert len(np.unique(src.astype(np.int64) * model.n + dst)) == model.num_edges
    assert (dst < src).all()
