"""STAR on a GPU: the same trees as on a CPU, whatever the search, the groups and the rooms."""

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


def random_graph(n, m, dtype, seed, *, hub=0, largest=20, least=1):
    """A connected graph with parallel edges and loops, and a hub of many arcs."""
    random = np.random.default_rng(seed)
    back = (random.random(n - 1) * np.arange(1, n)).astype(np.int64)
    ends = random.integers(0, n, (2, m))
    ends[0, :hub] = 7 % n
    src, dst = np.concatenate([np.arange(1, n), ends[0]]), np.concatenate([back, ends[1]])
    weight = None
    if dtype is not None:
        weight = random.integers(least, largest + 1, src.size).astype(dtype)
        if weight.dtype.kind == "f":
            weight += random.random(src.size).astype(dtype)
    edges = EdgeList(*(column for column in (src, dst, weight) if column is not None))
    return mgraph.from_edges(edges, n, directed=False, backend="cpu")


def grid(side, largest):
    ids = np.arange(side * side).reshape(side, side)
    src = np.concatenate([ids[:, 1:].ravel(), ids[1:].ravel()])
    dst = np.concatenate([ids[:, :-1].ravel(), ids[:-1].ravel()])
    weight = np.random.default_rng(1).integers(1, largest + 1, src.size).astype(np.int32)
    return mgraph.from_edges(EdgeList(src, dst, weight), directed=False, backend="cpu")


def draw(graph, k, seed):
    return np.random.default_rng(seed).choice(graph.n, k, replace=False)


def same(a, b):
    told = [
        (t.src.tolist(), t.dst.tolist(), t.weight.tolist(), t.cost, t.searches, t.accepted)
        for t in (a, b)
    ]
    assert told[0] == told[1]
    assert a.initial_cost == b.initial_cost


CASES = {
    "sparse": random_graph(2000, 1500, "int32", 1),
    "hub": random_graph(3000, 6000, "int32", 2, hub=2500),
    "ties": random_graph(1000, 4000, "int32", 3, largest=2),
    "dense": random_graph(300, 20000, "int32", 4),
    "large weights": random_graph(1000, 3000, "int32", 5, least=10**8, largest=10**9),
    "grid": grid(48, 1000),
    "plain grid": grid(40, 1),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("k", [2, 3, 9, 40, 100])
def test_trees_are_the_cpus(name, k):
    graph = CASES[name]
    terminals = draw(graph, k, k)
    expected = mgraph.steiner_tree(graph, terminals, backend="cpu")
    found = mgraph.steiner_tree(graph, terminals, backend="gpu")
    assert (found.backend, found.search) == ("gpu", "auto")
    same(found, expected)


@pytest.mark.parametrize("search", ["node", "edge"])
@pytest.mark.parametrize("name", CASES)
def test_the_papers_searches_find_the_same(name, search):
    graph = CASES[name]
    terminals = draw(graph, 7, 1)
    expected = mgraph.steiner_tree(graph, terminals, backend="cpu")
    same(mgraph.steiner_tree(graph, terminals, search=search), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("search", ["auto", "node", "edge"])
def test_all_weights(dtype, search):
    graph = random_graph(500, 1500, dtype, 6)
    terminals = draw(graph, 12, 2)
    expected = mgraph.steiner_tree(graph, terminals, backend="cpu")
    found = mgraph.steiner_tree(graph, terminals, backend="gpu", search=search)
    same(found, expected)


def wide_weights(graph, dtype, seed):
    """The graph with weights of 30 decades, the least and large ones of the type among them."""
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
        expected = mgraph.steiner_tree(graph, terminals, backend="cpu")
        found = mgraph.steiner_tree(graph, terminals, backend="gpu", search=search)
        same(found, expected)
        tree = found.src, found.dst, found.weight
        checks.check_tree(checks.csr_of(graph), tree, np.unique(terminals))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("search", ["auto", "node", "edge"])
def test_a_weight_that_rounding_absorbs(search, dtype):
    weight = np.array([1, 1e-16, 1, 5], dtype)
    edges = EdgeList(np.array([0, 1, 2, 0]), np.array([1, 2, 3, 3]), weight)
    graph = mgraph.from_edges(edges, directed=False, backend="gpu")
    found = mgraph.steiner_tree(graph, [0, 3], backend="gpu", search=search)
    assert found.weight.tolist() == weight[:3].tolist()


@pytest.mark.parametrize("search", ["auto", "node", "edge"])
def test_a_graph_without_its_arcs_back_is_refused(search):
    import cupy

    graph = CASES["sparse"]
    arcs = graph.num_arcs
    for weights, kept in ((np.arange(arcs), arcs), (graph.weights, arcs - 1)):
        indptr = np.minimum(graph.indptr, kept)
        arrays = (indptr, graph.indices[:kept], weights[:kept].astype(np.int32))
        there = Graph(*map(cupy.asarray, arrays), directed=False)
        with pytest.raises(mgraph.UsageError, match="holds both arcs of each edge"):
            mgraph.steiner_tree(there, [0, 5], backend="gpu", search=search)
        with pytest.raises(mgraph.UsageError, match="holds both arcs of each edge"):
            mgraph.minimum_spanning_forest(there)


def test_a_graph_on_the_device_and_weights_of_zero():
    graph = random_graph(800, 2000, "int32", 7, least=0, largest=3)
    terminals = draw(graph, 20, 3)
    expected = mgraph.steiner_tree(graph, terminals, backend="cpu")
    same(mgraph.steiner_tree(graph.to_gpu(), terminals, backend="gpu"), expected)
    assert mgraph.steiner_tree(graph.to_gpu(), terminals).cost == expected.cost


@pytest.mark.parametrize("concurrency", [1, 5, 64])
def test_many_queries_at_once(concurrency):
    graph = CASES["hub"]
    queries = [draw(graph, 2 + i % 9, i) for i in range(40)]
    isolated = Graph.unchecked(  # one more vertex, that nothing reaches
        np.append(graph.indptr, graph.num_arcs), graph.indices, graph.weights, False
    )
    queries[7] = np.array([3, graph.n])
    found = dict(mgraph.steiner_trees(isolated, queries, backend="gpu", concurrency=concurrency))
    assert sorted(found) == list(range(40))
    assert str(found.pop(7)).startswith(f"terminals 3 and {graph.n:,} lie in different")
    for i, tree in found.items():
        same(tree, mgraph.steiner_tree(graph, queries[i], backend="cpu"))


def test_a_caller_who_goes_away():
    graph = CASES["hub"]
    queries = [draw(graph, 2 + i % 7, i) for i in range(30)]
    expected = dict(mgraph.steiner_trees(graph, queries, backend="cpu"))
    for _ in range(3):
        some = mgraph.steiner_trees(graph, queries, backend="gpu", concurrency=4)
        i, tree = next(some)
        same(tree, expected[i])
        some.close()
    for i, tree in mgraph.steiner_trees(graph, queries, backend="gpu", concurrency=4):
        same(tree, expected[i])


def searched(graph, terminals, shape=None):
    """STAR by a searcher of its own, whatever room it has, for all queries at once."""
    from mgraph.steiner import star_gpu

    search = star_gpu.Searcher(PreparedGraph(graph).graph.to_gpu(), shape)
    found = dict(star.solve_queries(search, terminals, batch_size=len(terminals)))
    for i, some in enumerate(terminals):
        expected = mgraph.steiner_tree(graph, some, backend="cpu")
        query = found[i]
        told = query.tree.weight.sum(), query.searches, query.accepted
        assert told == (expected.cost, expected.searches, expected.accepted)
        assert query.complete
    return search


def assert_clean(search):
    """Whether all labels are as before the first search."""
    for work in search.memory._workspaces.values():
        assert bool((work.labels[..., :2] == np.iinfo(work.key).max).all())
        assert not bool(work.labels[..., 2:].any())
    assert not bool(search.initial_tree_builder.state.any())
    assert not bool(search.initial_tree_builder.listed.any())


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 3, 1), (1, 1, 4), (1, 2, 2)])
@pytest.mark.parametrize("pieces", [40, 300, 1 << 22])
def test_small_queues_lose_nothing(monkeypatch, shape, pieces):
    monkeypatch.setattr(star_memory_gpu, "_MAX_PIECES", pieces)
    graph = CASES["hub"] if pieces > 40 else CASES["grid"]
    assert_clean(searched(graph, [np.unique(draw(graph, 30, 4))], Shape(*shape)))


@pytest.mark.parametrize("room", [1, 60, 400])
def test_trees_for_which_there_is_no_room_come_again(monkeypatch, room):
    from mgraph.steiner import star_gpu

    monkeypatch.setattr(star_gpu, "_STEP_FACTOR", 1)
    monkeypatch.setattr(star_gpu, "_MORE_STEPS", room)
    graph = CASES["plain grid"]
    assert_clean(searched(graph, [np.unique(draw(graph, 4 + i, i)) for i in range(20)]))


@pytest.mark.parametrize(
    "shape", [(1, 1, 2), (2, 1, 1), (3, 1, 1), (2, 2, 1), (2, 1, 2), (1, 1, 8), (2, 3, 4)]
)
@pytest.mark.parametrize("queries", [1, 2, 7])
def test_teams_of_any_shape(shape, queries):
    graph = CASES["plain grid"]
    terminals = [np.unique(draw(graph, 10, i)) for i in range(queries)]
    assert_clean(searched(graph, terminals, Shape(*shape)))


@pytest.mark.parametrize("queries", [1, 2, 5, 16, 40, 132, 300])
@pytest.mark.parametrize("name", ["ties", "hub"])
def test_any_number_of_queries(queries, name):
    graph = CASES[name]
    assert_clean(searched(graph, [np.unique(draw(graph, 2 + i % 9, i)) for i in range(queries)]))


def test_queries_of_all_sizes_at_once():
    graph = CASES["hub"]
    assert_clean(searched(graph, [np.unique(draw(graph, k, k)) for k in (1, 2, 3, 31, 32, 70)]))


def test_groups_for_which_there_is_no_memory(monkeypatch):
    monkeypatch.setattr(star_memory_gpu, "free_bytes", lambda: 1 << 22)
    graph = CASES["ties"]
    assert_clean(searched(graph, [np.unique(draw(graph, 5, i)) for i in range(9)]))


@pytest.mark.parametrize("k", [31, 32, 33, 64, 65, 1000, 2000])
def test_terminals_by_the_hundred_share_words(k):
    graph = CASES["sparse"]
    terminals = draw(graph, k, k)
    expected = mgraph.steiner_tree(graph, terminals, backend="cpu")
    same(mgraph.steiner_tree(graph, terminals, backend="gpu"), expected)


def test_a_time_limit():
    graph = CASES["sparse"]
    terminals = draw(graph, 500, 1)
    found = mgraph.steiner_tree(graph, terminals, backend="gpu", time_limit=1e-3)
    assert not found.complete
    assert found.cost <= found.initial_cost
    checks.check_tree(
        checks.csr_of(graph), (found.src, found.dst, found.weight), np.unique(terminals)
    )


@checks.needs_steinlib
@pytest.mark.parametrize("search", ["auto", "edge"])
def test_steinlib(search):
    for _, graph, terminals, optimum in checks.steinlib("BC" if search == "auto" else "B"):
        expected = mgraph.steiner_tree(graph, terminals, backend="cpu")
        found = mgraph.steiner_tree(graph, terminals, backend="gpu", search=search)
        assert found.cost == expected.cost >= optimum


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_components_are_the_cpus(dtype):
    """Also of one vertex, none, and of long chains whose ends are joined last."""
    import cupy

    from mgraph.steiner import components_cpu, components_gpu

    random = np.random.default_rng(3)
    cases = [(0, 0), (1, 0), (5, 0), (1000, 300), (100_000, 60_000), (100_000, 500_000)]
    graphs = [
        mgraph.from_edges(
            EdgeList(*random.integers(0, max(n, 1), (2, m), np.int32)), n, directed=False,
            drop_loops=True, backend="cpu",
        )
        for n, m in cases
    ]  # fmt: skip
    chain = random.permutation(300_000).astype(np.int32)
    graphs.append(
        mgraph.from_edges(
            EdgeList(chain[1:], chain[:-1]), chain.size, directed=False, backend="cpu"
        )
    )
    for graph in graphs:
        expected = components_cpu.label_components(graph.indptr, graph.indices)
        there = cupy.asarray(graph.indptr), cupy.asarray(graph.indices.astype(dtype))
        np.testing.assert_array_equal(components_gpu.label_components(*there), expected)


def test_what_a_search_holds_does_not_send_the_next_to_the_cpu(monkeypatch):
    """The choice is made once for a graph, before its searches take the memory."""
    graph = random_graph(200_000, 2_000_000, "int32", 1).to_gpu()
    monkeypatch.setattr(steiner_tree, "BREAK_EVEN_ARCS", 0)
    found = mgraph.steiner_tree(graph, draw(graph, 4, 1))
    monkeypatch.setattr(star_memory_gpu, "free_bytes", lambda: 0)
    again = mgraph.steiner_tree(graph, draw(graph, 4, 1))
    assert (again.cost, again.backend) == (found.cost, found.backend) == (found.cost, "gpu")
