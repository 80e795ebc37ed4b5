"""The random graphs have the edges that their definitions say."""

import doctest

import networkx
import numpy as np
import pytest
from scipy.spatial import ConvexHull
from scipy.spatial.distance import pdist, squareform

import mgraph
from mgraph import UsageError, experiments
from mgraph.experiments import heap_paper_graphs, random_graphs


def points(n, seed):
    """The points that a maker draws."""
    return np.random.default_rng(seed).random((n, 2))


def pairs(edges):
    """The edges as a set of ordered pairs; each must be there once, and no loop."""
    rows = zip(edges.src.tolist(), edges.dst.tolist(), strict=True)
    found = {(min(row), max(row)) for row in rows}
    assert len(found) == len(edges)
    assert all(u < v for u, v in found)
    return found


@pytest.mark.parametrize(("n", "seed"), [(3, 0), (10, 1), (500, 2), (3000, 3)])
def test_delaunay_triangulation(n, seed):
    edges = experiments.delaunay_edges(n, seed=seed)
    graph = networkx.Graph(pairs(edges))
    assert len(graph) == n
    assert networkx.is_connected(graph)
    assert networkx.check_planarity(graph)[0]
    assert len(edges) == 3 * n - 3 - len(ConvexHull(points(n, seed)).vertices)


def test_each_point_has_its_nearest_neighbour_in_the_triangulation():
    found = pairs(experiments.delaunay_edges(400, seed=5))
    distance = squareform(pdist(points(400, 5)))
    np.fill_diagonal(distance, np.inf)
    nearest = enumerate(distance.argmin(axis=1).tolist())
    assert {(min(edge), max(edge)) for edge in nearest} <= found


@pytest.mark.parametrize(("n", "radius"), [(2, None), (700, None), (300, 0.2)])
def test_random_geometric_graph(n, radius):
    found = pairs(experiments.random_geometric_edges(n, radius=radius, seed=4))
    limit = radius or 0.55 * np.sqrt(np.log(n) / n)
    close = np.triu(squareform(pdist(points(n, 4))) <= limit, 1)
    assert found == set(zip(*(ends.tolist() for ends in np.nonzero(close)), strict=True))


def test_kronecker_graph():
    edges = experiments.kronecker_edges(12, edge_factor=8, seed=1)
    assert len(pairs(edges)) < 8 << 12
    assert max(edges.src.max(), edges.dst.max()) < 1 << 12
    degrees = np.bincount(np.concatenate([edges.src, edges.dst]), minlength=1 << 12)
    assert degrees.max() > 20 * degrees.mean()
    assert (degrees == 0).any()


def test_quadrants_of_a_kronecker_graph():
    """The first level has the initiator's shares; the upper right counts with the lower left."""
    scale, count = 14, 1 << 18
    random = np.random.default_rng(3)
    keys = random_graphs._draw_keys(np.arange(1 << scale), scale, count, random)
    src, dst = keys >> scale, keys & ((1 << scale) - 1)
    quadrants = 2 * (src >> (scale - 1)) + (dst >> (scale - 1))
    shares = np.bincount(quadrants, minlength=4) / count
    assert shares == pytest.approx([0.57, 0.38, 0, 0.05], abs=0.01)


@pytest.mark.parametrize(
    "make",
    [
        lambda **options: experiments.delaunay_edges(200, **options),
        lambda **options: experiments.random_geometric_edges(200, **options),
        lambda **options: experiments.kronecker_edges(9, **options),
    ],
)
def test_seeds_and_weights(make):
    first, again, other = (make(weights=(3, 7), seed=seed) for seed in (1, 1, 2))
    assert all((a == b).all() for a, b in zip(first, again, strict=True))
    assert pairs(first) != pairs(other)
    assert set(first.weight.tolist()) == set(range(3, 8))
    assert first.weight.dtype == np.int32
    assert pairs(make(seed=1)) == pairs(first)
    assert make(seed=1).weight is None


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: experiments.delaunay_edges(2), "n must lie in"),
        (lambda: experiments.delaunay_edges(9, seed=-1), "seed must lie in"),
        (lambda: experiments.delaunay_edges(9, weights=(2, 1)), "low 2 is above 1"),
        (lambda: experiments.random_geometric_edges(9, radius=-1), "radius must be positive"),
        (lambda: experiments.kronecker_edges(27), "scale must lie in"),
        (lambda: experiments.kronecker_edges(9, edge_factor=0), "edge_factor must lie in"),
        (lambda: experiments.make_heap_graph("AS365"), "name must be one of delaunay_n22"),
    ],
)
def test_wrong_use(call, sentence):
    with pytest.raises(UsageError, match=sentence):
        call()


@pytest.mark.parametrize("directed", [False, True])
def test_random_weights_of_a_graph(directed):
    edges = mgraph.EdgeList([0, 1, 1, 2, 3], [1, 2, 3, 2, 0], np.full(5, -1.5))
    graph = mgraph.from_edges(edges, 5, directed=directed, backend="cpu")
    drawn = experiments.with_random_weights(graph, (10, 99), seed=1)
    assert drawn.weights.dtype == np.int32
    assert 10 <= drawn.weights.min() <= drawn.weights.max() <= 99
    assert (drawn.indptr == graph.indptr).all()
    assert (drawn.indices == graph.indices).all()
    assert drawn.directed == directed
    assert drawn.symmetric is not directed
    drawn.to_edges()  # refuses an undirected graph whose arcs' weights differ


@pytest.mark.parametrize("name", experiments.MADE_HEAP_GRAPHS)
def test_the_papers_graphs_made_smaller(name):
    made, graph = experiments.make_heap_graph(name, smaller=8, backend="cpu")
    paper = experiments.HEAP_PAPER_GRAPHS[name]
    assert made == name.replace(str(paper.scale), str(paper.scale - 8))
    assert graph.n == 1 << (paper.scale - 8) == paper.vertices >> 8
    assert not graph.directed
    assert 1 <= graph.weights.min() <= graph.weights.max() <= 1000
    assert graph.num_arcs / graph.n == pytest.approx(paper.edges / paper.vertices, rel=0.5)


def test_the_papers_table():
    table = experiments.HEAP_PAPER_GRAPHS
    assert len(table) == 13
    assert len(experiments.MADE_HEAP_GRAPHS) == 3
    assert all(
        1 << table[name].scale == table[name].vertices for name in experiments.MADE_HEAP_GRAPHS
    )


@pytest.mark.parametrize("module", [random_graphs, heap_paper_graphs])
def test_examples_are_right(module):
    result = doctest.testmod(module, extraglobs={"mgraph": mgraph})
    assert result.attempted
    assert not result.failed
