"""STAR on a GPU: the same trees as on a CPU, whatever the search, the groups and the memory."""

import numpy as np
import pytest

import mgraph
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.steiner import star, star_memory_gpu, steiner_tree
from mgraph.steiner.prepared import PreparedGraph
from mgraph.steiner.star_memory_gpu import Shape
from tests.steiner import checks

pytestmark = pytest.mark.gpu

DTYPES = ("int32", "int64", "float32", "float64", None)


def random_graph(n, m, dtype, seed, *, hub=0, min_weight=1, max_weight=20):
    """A connected graph with parallel edges and loops, and a hub of many arcs."""
    random = np.random.default_rng(seed)
    back = (random.random(n - 1) * np.arange(1, n)).astype(np.int64)
    ends = random.integers(0, n, (2, m))
    ends[0, :hub] = 7 % n
    src, dst = np.concatenate([np.arange(1, n), ends[0]]), np.concatenate([back, ends[1]])
    weight = None
    if dtype is not None:
        weight = random.integers(min_weight, max_weight + 1, src.size).astype(dtype)
        if weight.dtype.kind == "f":
            weight += random.random(src.size).astype(dtype)
    edges = EdgeList(*(column for column in (src, dst, weight) if column is not None))
    return mgraph.from_edges(edges, n, directed=False, backend="cpu")


def grid(side, max_weight):
    ids = np.arange(side * side).reshape(side, side)
    src = np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
    dst = np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
    weight = np.random.default_rng(1).integers(1, max_weight + 1, src.size).astype(np.int32)
    return mgraph.from_edges(EdgeList(src, dst, weight), directed=False, backend="cpu")


def draw(graph, k, seed):
    return np.random.default_rng(seed).choice(graph.n, k, replace=False)


def assert_same(a, b):
    results = [
        (t.src.tolist(), t.dst.tolist(), t.weight.tolist(), t.cost, t.searches, t.accepted)
        for t in (a, b)
    ]
    assert results[0] == results[1]
    assert a.initial_cost == b.initial_cost


CASES = {
    "sparse": random_graph(2000, 1500, "int32", 1),
    "hub": random_graph(3000, 6000, "int32", 2, hub=2500),
    "ties": random_graph(1000, 4000, "int32", 3, max_weight=2),
    "dense": random_graph(300, 20000, "int32", 4),
    "large weights": random_graph(1000, 3000, "int32", 5, min_weight=10**8, max_weight=10**9),
    "grid": grid(48, 1000),
    "plain grid": grid(40, 1),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("k", [2, 3, 9, 40, 100])
def test_trees_are_the_cpus(name, k):
    graph = CASES[name]
    terminals = draw(graph, k, k)
    expected = mgraph.steiner_tree(graph, terminals, method="star", backend="cpu")
    tree = mgraph.steiner_tree(graph, terminals, method="star", backend="gpu")
    assert (tree.backend, tree.search) == ("gpu", "auto")
    assert_same(tree, expected)


@pytest.mark.parametrize("search", ["node", "edge"])
@pytest.mark.parametrize("name", CASES)
def test_the_papers_searches_find_the_same(name, search):
    graph = CASES[name]
    terminals = draw(graph, 7, 1)
    expected = mgraph.steiner_tree(graph, terminals, method="star", backend="cpu")
    assert_same(mgraph.steiner_tree(graph, terminals, search=search), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("search", ["auto", "node", "edge"])
def test_all_weights(dtype, search):
    graph = random_graph(500, 1500, dtype, 6)
    terminals = draw(graph, 12, 2)
    expected = mgraph.steiner_tree(graph, terminals, method="star", backend="cpu")
    tree = mgraph.steiner_tree(graph, terminals, backend="gpu", search=search)
    assert_same(tree, expected)


def wide_weights(graph, dtype, seed):
    """Return the graph with weights of 30 decades, and the type's smallest and large ones."""
    random, limits = np.random.default_rng(seed), np.finfo(dtype)
    edges = graph.to_edges()
    weight = (10 ** random.uniform(-15, 15, len(edges))).astype(dtype)
    for extreme in (limits.smallest_subnormal, 7 * limits.smallest_subnormal, limits.max / 1e6, 0):
        weight[random.random(len(edges)) < 0.05] = extreme
    edges = EdgeList(edges.src, edges.dst, weight)
    return mgraph.from_edges(edges, graph.n, directed=False, backend="cpu")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("search", ["auto", "node", "edge"])
@pytest.mark.parametrize("name", ["sparse", "hub", "dense", "grid"])
def test_weights_of_30_decades(name, search, dtype):
    graph = wide_weights(CASES[name], dtype, 8)
    for k in (2, 5, 40):
        terminals = draw(graph, k, k)
        expected = mgraph.steiner_tree(graph, terminals, method="star", backend="cpu")
        tree = mgraph.steiner_tree(graph, terminals, backend="gpu", search=search)
        assert_same(tree, expected)
        edges = tree.src, tree.dst, tree.weight
        checks.check_tree(checks.csr_of(graph), edges, np.unique(terminals))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("search", ["auto", "node", "edge"])
def test_a_weight_that_rounding_absorbs(search, dtype):
    weight = np.array([1, 1e-16, 1, 5], dtype)
    edges = EdgeList(np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3]), weight)
    graph = mgraph.from_edges(edges, directed=False, backend="gpu")
    tree = mgraph.steiner_tree(graph, [0, 3], backend="gpu", search=search)
    assert tree.weight.tolist() == weight[:3].tolist()


@pytest.mark.parametrize("search", ["auto", "node", "edge"])
def test_an_asymmetric_graph_is_refused(search):
    import cupy

    graph = CASES["sparse"]
    arcs = graph.num_arcs
    for weights, kept in ((np.arange(arcs), arcs), (graph.weights, arcs - 1)):
        indptr = np.minimum(graph.indptr, kept)
        arrays = (indptr, graph.indices[:kept], weights[:kept].astype(np.int32))
        on_device = Graph(*map(cupy.asarray, arrays), directed=False)
        with pytest.raises(mgraph.UsageError, match="holds both arcs of each edge"):
            mgraph.steiner_tree(on_device, [0, 5], backend="gpu", search=search)
        with pytest.raises(mgraph.UsageError, match="holds both arcs of each edge"):
            mgraph.minimum_spanning_forest(on_device)


def test_a_graph_on_the_device_and_weights_of_zero():
    graph = random_graph(800, 2000, "int32", 7, min_weight=0, max_weight=3)
    terminals = draw(graph, 20, 3)
    expected = mgraph.steiner_tree(graph, terminals, method="star", backend="cpu")
    assert_same(
        mgraph.steiner_tree(graph.to_gpu(), terminals, method="star", backend="gpu"), expected
    )
    assert mgraph.steiner_tree(graph.to_gpu(), terminals, method="star").cost == expected.cost


@pytest.mark.parametrize("concurrency", [1, 5, 64])
def test_many_queries_at_once(concurrency):
    graph = CASES["hub"]
    queries = [draw(graph, 2 + i % 9, i) for i in range(40)]
    isolated = Graph.unchecked(  # one more vertex, that nothing reaches
        np.append(graph.indptr, graph.num_arcs), graph.indices, graph.weights, False
    )
    queries[7] = np.array([3, graph.n])
    outcomes = dict(
        mgraph.steiner_trees(
            isolated, queries, method="star", backend="gpu", concurrency=concurrency
        )
    )
    assert sorted(outcomes) == list(range(40))
    assert str(outcomes.pop(7)).startswith(f"terminals 3 and {graph.n:,} lie in different")
    for i, tree in outcomes.items():
        assert_same(tree, mgraph.steiner_tree(graph, queries[i], method="star", backend="cpu"))


def test_a_caller_who_drops_the_iterator():
    graph = CASES["hub"]
    queries = [draw(graph, 2 + i % 7, i) for i in range(30)]
    expected = dict(mgraph.steiner_trees(graph, queries, method="star", backend="cpu"))
    for _ in range(3):
        trees = mgraph.steiner_trees(graph, queries, method="star", backend="gpu", concurrency=4)
        i, tree = next(trees)
        assert_same(tree, expected[i])
        trees.close()
    for i, tree in mgraph.steiner_trees(
        graph, queries, method="star", backend="gpu", concurrency=4
    ):
        assert_same(tree, expected[i])


def solve(graph, terminals, shape=None):
    """Solve all queries in one batch by a searcher of their own, and return it."""
    from mgraph.steiner import star_gpu

    search = star_gpu.Searcher(PreparedGraph(graph).graph.to_gpu(), shape)
    queries = dict(star.solve_queries(search, terminals, batch_size=len(terminals)))
    for i, query_terminals in enumerate(terminals):
        expected = mgraph.steiner_tree(graph, query_terminals, method="star", backend="cpu")
        query = queries[i]
        result = query.tree.weight.sum(), query.searches, query.accepted
        assert result == (expected.cost, expected.searches, expected.accepted)
        assert query.complete
    return search


def assert_clean(search):
    """Assert that all labels are as before the first search."""
    for workspace in search.memory._workspaces.values():
        assert bool((workspace.labels[..., :2] == np.iinfo(workspace.key).max).all())
        assert not bool(workspace.labels[..., 2:].any())
    assert not bool(search.initial_tree_builder.state.any())
    assert not bool(search.initial_tree_builder.listed.any())


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 3, 1), (1, 1, 4), (1, 2, 2)])
@pytest.mark.parametrize("pieces", [40, 300, 1 << 22])
def test_small_queues_lose_nothing(monkeypatch, shape, pieces):
    monkeypatch.setattr(star_memory_gpu, "_MAX_PIECES", pieces)
    monkeypatch.setattr(star_memory_gpu, "_SPARE_PIECES", 0)
    graph = CASES["hub"] if pieces > 40 else CASES["grid"]
    assert_clean(solve(graph, [np.unique(draw(graph, 30, 4))], Shape(*shape)))


@pytest.mark.parametrize("steps", [1, 60, 400])
def test_trees_whose_memory_does_not_suffice_are_launched_again(monkeypatch, steps):
    from mgraph.steiner import star_gpu

    monkeypatch.setattr(star_gpu, "_STEP_FACTOR", 1)
    monkeypatch.setattr(star_gpu, "_MORE_STEPS", steps)
    graph = CASES["plain grid"]
    assert_clean(solve(graph, [np.unique(draw(graph, 4 + i, i)) for i in range(20)]))


@pytest.mark.parametrize(
    "shape", [(1, 1, 2), (2, 1, 1), (3, 1, 1), (2, 2, 1), (2, 1, 2), (1, 1, 8), (2, 3, 4)]
)
@pytest.mark.parametrize("queries", [1, 2, 7])
def test_teams_of_any_shape(shape, queries):
    graph = CASES["plain grid"]
    terminals = [np.unique(draw(graph, 10, i)) for i in range(queries)]
    assert_clean(solve(graph, terminals, Shape(*shape)))


@pytest.mark.parametrize("queries", [1, 2, 5, 16, 40, 132, 300])
@pytest.mark.parametrize("name", ["ties", "hub"])
def test_any_number_of_queries(queries, name):
    graph = CASES[name]
    assert_clean(solve(graph, [np.unique(draw(graph, 2 + i % 9, i)) for i in range(queries)]))


def test_queries_of_all_sizes_at_once():
    graph = CASES["hub"]
    assert_clean(solve(graph, [np.unique(draw(graph, k, k)) for k in (1, 2, 3, 31, 32, 70)]))


def test_fewer_groups_where_memory_is_short(monkeypatch):
    monkeypatch.setattr(star_memory_gpu, "free_bytes", lambda: 1 << 22)
    graph = CASES["ties"]
    assert_clean(solve(graph, [np.unique(draw(graph, 5, i)) for i in range(9)]))


@pytest.mark.parametrize("k", [31, 32, 33, 64, 65, 1000, 2000])
def test_hundreds_of_terminals_share_words(k):
    graph = CASES["sparse"]
    terminals = draw(graph, k, k)
    expected = mgraph.steiner_tree(graph, terminals, method="star", backend="cpu")
    assert_same(mgraph.steiner_tree(graph, terminals, method="star", backend="gpu"), expected)


def test_a_time_limit():
    graph = CASES["sparse"]
    terminals = draw(graph, 500, 1)
    tree = mgraph.steiner_tree(graph, terminals, method="star", backend="gpu", time_limit=1e-3)
    assert not tree.complete
    assert tree.cost <= tree.initial_cost
    checks.check_tree(checks.csr_of(graph), (tree.src, tree.dst, tree.weight), np.unique(terminals))


@checks.needs_steinlib
@pytest.mark.parametrize("search", ["auto", "edge"])
def test_steinlib(search):
    for _, graph, terminals, optimum in checks.steinlib("BC" if search == "auto" else "B"):
        expected = mgraph.steiner_tree(graph, terminals, method="star", backend="cpu")
        tree = mgraph.steiner_tree(graph, terminals, backend="gpu", search=search)
        assert tree.cost == expected.cost >= optimum


def test_the_memory_of_a_search_does_not_send_the_next_to_the_cpu(monkeypatch):
    """The backend is chosen once per graph, before its searches take the memory."""
    graph = random_graph(200_000, 2_000_000, "int32", 1).to_gpu()
    monkeypatch.setattr(steiner_tree, "BREAK_EVEN_ARCS", 0)
    tree = mgraph.steiner_tree(graph, draw(graph, 4, 1), method="star")
    monkeypatch.setattr(star_memory_gpu, "free_bytes", lambda: 0)
    again = mgraph.steiner_tree(graph, draw(graph, 4, 1), method="star")
    assert (again.cost, again.backend) == (tree.cost, tree.backend) == (tree.cost, "gpu")
