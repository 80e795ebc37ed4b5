"""STAR's kernels without a GPU: the trees of the CPU, in many orders of events."""

import re
from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import mgraph
from mgraph.core.graph import Graph
from mgraph.steiner import star, star_cpu, star_memory_gpu, tree_cpu
from mgraph.steiner.star_memory_gpu import Shape
from tests import emulator
from tests.steiner import checks, emulated, strategies

pytestmark = pytest.mark.skipif(not emulator.COMPILER, reason="needs g++")
host = emulated.host  # a fixture

DTYPES = ("int32", "int64", "float32", "float64")
SHAPES = [Shape(*shape) for shape in ((1, 1, 1), (1, 2, 1), (1, 1, 2), (2, 1, 1), (1, 2, 2))]
SEARCHES = ("auto", "node", "edge")


def cost_dtype(graph):
    return "int64" if graph.weights.dtype.kind == "i" else "float64"


def results_of(search, terminals, epsilon=0.0):
    """Return the trees, and the numbers of searches and exchanges."""
    queries = dict(
        star.solve_queries(search, terminals, epsilon=epsilon, batch_size=len(terminals))
    )
    results = []
    for i in range(len(terminals)):
        results.append([column.tolist() for column in queries[i].tree])
        results.append([queries[i].searches, queries[i].accepted])
    return results


@pytest.mark.parametrize("search", SEARCHES)
@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_trees_are_the_cpus(host, search, data):
    graph, terminals = data.draw(strategies.problems(max_vertices=14, dtypes=DTYPES))
    shape, host.seed = data.draw(st.sampled_from(SHAPES)), data.draw(st.integers(1, 1 << 30))
    epsilon = data.draw(st.sampled_from([0.0, 0.0, 0.1]))
    queries = [terminals, terminals[:2], terminals[:1]]
    csr, dtype = checks.csr_of(graph), cost_dtype(graph)
    expected = results_of(star_cpu.new_search(*csr, dtype), queries, epsilon)
    emulated_search = emulated.searchers(graph, csr, dtype, shape)[search]()
    assert results_of(emulated_search, queries, epsilon) == expected


@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_queues_that_hold_one_vertex_lose_nothing(host, data):
    graph, terminals = data.draw(strategies.problems(max_vertices=14, dtypes=DTYPES))
    shape, host.seed = data.draw(st.sampled_from(SHAPES)), data.draw(st.integers(1, 1 << 30))
    csr, dtype = checks.csr_of(graph), cost_dtype(graph)
    expected = results_of(star_cpu.new_search(*csr, dtype), [terminals])
    with small_queues():
        emulated_search = emulated.searchers(graph, csr, dtype, shape)["auto"]()
        assert results_of(emulated_search, [terminals]) == expected


def small_queues():
    """Queues have no more room than one vertex needs."""
    return mock.patch.multiple(star_memory_gpu, _MAX_PIECES=1, _SPARE_PIECES=0)


@pytest.mark.parametrize("shape", SHAPES)
def test_vertices_of_many_arcs_that_fit_into_no_queue(host, shape):
    """Hubs, each beside most of the leaves, and a path from the first leaf to the last terminal."""
    hubs, leaves, path = 12, 400, 6
    first, last = hubs, hubs + leaves + path - 1  # the first leaf, and the path's end
    degrees = np.arange(150, 150 + 20 * hubs, 20)
    src = [*np.repeat(np.arange(hubs), degrees), first, *range(hubs + leaves, last)]
    dst = [*first + np.concatenate([np.arange(degree) for degree in degrees])]
    dst += range(hubs + leaves, last + 1)
    edges = mgraph.EdgeList(np.array(src), np.array(dst), np.ones(len(src), np.int32))
    graph = mgraph.from_edges(edges, last + 1, directed=False, backend="cpu")
    csr = checks.csr_of(graph)
    terminals = [np.array([first + 1, last])]
    expected = results_of(star_cpu.new_search(*csr, "int64"), terminals)
    with small_queues():
        search = emulated.searchers(graph, csr, "int64", shape)["auto"]()
        arcs_per_piece = search.graph.tile * star_memory_gpu.constant("arcs_per_lane")
        assert search.graph.bucket_capacity < degrees.sum() / arcs_per_piece
        assert results_of(search, terminals) == expected


def test_rows_sorted_by_weight(host):
    random = np.random.default_rng(1)
    for seed in range(1, 60):
        host.seed, n = seed, 12
        ends = random.integers(0, n, (2, 100))
        weights = 10 ** random.uniform(-15, 15, 100)
        weights[random.random(100) < 0.3] = 5e-324
        dtype = random.choice(["float32", "float64"])
        edges = mgraph.EdgeList(*ends, weights.astype(dtype))
        graph = mgraph.from_edges(edges, n, directed=False, backend="cpu")
        csr, terminals = checks.csr_of(graph), np.sort(random.choice(n, 4, replace=False))
        emulated_search = emulated.searchers(graph, csr, "float64", Shape(1, 2, 2))["auto"]()
        assert emulated_search.graph.rows is not None
        expected = results_of(star_cpu.new_search(*csr, "float64"), [terminals])
        assert results_of(emulated_search, [terminals]) == expected


@st.composite
def broken(draw):
    """A problem whose graph lacks the mirrors of some arcs, or has them with another weight."""
    graph, terminals = draw(strategies.problems(max_vertices=14, dtypes=("int32", "float64")))
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    arcs = draw(st.lists(st.integers(0, graph.num_arcs - 1), min_size=1, max_size=4))
    kept, weights = np.ones(graph.num_arcs, bool), graph.weights.copy()
    if draw(st.booleans()):
        kept[arcs] = False
    else:
        weights[arcs] = draw(st.integers(1, 30))
    indptr = np.searchsorted(tails[kept], np.arange(graph.n + 1))
    return Graph(indptr, graph.indices[kept], weights[kept], False), terminals


@pytest.mark.parametrize("search", ["cpu", *SEARCHES])
@given(data=st.data())
@settings(deadline=None, max_examples=60)
def test_searches_of_asymmetric_graphs_end(host, search, data):
    graph, terminals = data.draw(broken())
    csr, dtype = checks.csr_of(graph), cost_dtype(graph)
    searchers = emulated.searchers(graph, csr, dtype, Shape(1, 2, 2))
    search = star_cpu.new_search(*csr, dtype) if search == "cpu" else searchers[search]()
    message = tree_cpu.BROKEN_PATH
    try:
        dict(star.solve_queries(search, [terminals]))
    except mgraph.MgraphError as error:
        message = str(error)
    assert message == tree_cpu.BROKEN_PATH
    assume(not graph.symmetric)
    with pytest.raises(mgraph.UsageError, match="holds both arcs of each edge"):
        mgraph.steiner_tree(graph, terminals, backend="cpu")


@pytest.mark.parametrize("search", ["cpu", *SEARCHES])
def test_searches_end_where_all_terminals_are_reached_and_no_vertex_reaches_all(host, search):
    graph = Graph(
        np.array([0, 3, 3, 3, 4]), np.array([1, 2, 3, 0], np.int32), np.ones(4, np.int32), False
    )
    csr, dtype = checks.csr_of(graph), cost_dtype(graph)
    searchers = emulated.searchers(graph, csr, dtype, Shape(1, 2, 2))
    search = star_cpu.new_search(*csr, dtype) if search == "cpu" else searchers[search]()
    for _ in range(2):
        with pytest.raises(mgraph.MgraphError, match=re.escape(tree_cpu.BROKEN_PATH)):
            dict(star.solve_queries(search, [np.array([0, 1, 2])]))
