import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import dijkstra

from mgraph.core.csr import from_edges
from mgraph.core.edges import EdgeList
from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.shortest_paths import dijkstra_cpu
from mgraph.shortest_paths.problem import infinity_of, length_dtype
from mgraph.shortest_paths.sssp import METHODS, sssp
from tests.core.interpreted import interpreting
from tests.shortest_paths import oracles
from tests.strategies import graphs

ALL = [method for method in METHODS if method != "auto"]
WEIGHTED = [method for method in ALL if method != "bfs"]


def weights_of(graph):
    return np.ones(graph.num_arcs, np.int32) if graph.weights is None else graph.weights


def graphs_for(method):
    """Breadth-first search takes graphs without weights."""
    return graphs(dtypes=(None,)) if method == "bfs" else graphs()


def assert_shortest(graph, sources, distance, predecessor):
    """Check the certificate: no arc improves a distance, and a tight arc leads to each vertex."""
    infinity, weights = infinity_of(distance.dtype), weights_of(graph).astype(distance.dtype)
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))
    reached = distance < infinity
    assert (distance[sources] == 0).all()
    heads, followed = graph.indices, reached[tails]
    lengths = distance[tails[followed]] + weights[followed]
    assert (distance[heads[followed]] <= lengths).all()
    tight = np.zeros(len(tails), bool)
    tight[followed] = distance[heads[followed]] == lengths
    for v in range(graph.n):
        parent = predecessor[v]
        if not reached[v] or v in sources:
            assert parent == -1
            continue
        assert (tight & (tails == parent) & (heads == v)).any()
        ancestor = v
        for _ in range(graph.n):  # back to a source, not in a cycle
            if ancestor in sources:
                break
            ancestor = predecessor[ancestor]
        assert ancestor in sources


@pytest.mark.parametrize("method", ALL)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_certificate(method, data):
    graph = data.draw(graphs_for(method))
    source = data.draw(st.integers(0, graph.n - 1))
    paths = sssp(graph, source, method=method, backend="cpu", predecessors=True)
    assert paths.distance.dtype == length_dtype(graph)
    assert_shortest(graph, [source], paths.distance, paths.predecessor)


@pytest.mark.parametrize("method", ALL)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_method_gives_the_same_answer(method, data):
    graph = data.draw(graphs_for(method))
    vertices = st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=4)
    options = {
        "targets": data.draw(st.none() | vertices),
        "stop_at": data.draw(st.sampled_from(["first", "last"])),
        "cutoff": data.draw(st.none() | st.floats(0, 2000)),
        "joint": data.draw(st.booleans()),
        "predecessors": True,
        "backend": "cpu",
    }
    sources = data.draw(vertices)
    paths = sssp(graph, sources, method=method, **options)
    infinity, rows = infinity_of(paths.distance.dtype), []
    searches = [sources] if options["joint"] else [[source] for source in sources]
    for starts in searches:
        nearest = oracles.distances(graph, starts)
        limits = options["targets"], options["stop_at"] == "first", options["cutoff"]
        expected = oracles.within(nearest, *limits)
        tree = oracles.predecessors(graph, expected, starts)
        rows.append(([infinity if d == np.inf else d for d in expected], tree))
    distance, predecessor = (np.array(column) for column in zip(*rows, strict=True))
    assert np.array_equal(paths.distance.reshape(distance.shape), distance)
    assert np.array_equal(paths.predecessor.reshape(predecessor.shape), predecessor)
    source = [-1 if len(set(starts)) > 1 else starts[0] for starts in searches]
    assert paths.source.tolist() == source


@settings(max_examples=60, deadline=None)
@given(graph=graphs(), data=st.data())
def test_dijkstra_against_scipy(graph, data):
    source = data.draw(st.integers(0, graph.n - 1))
    # SciPy's matrices drop arcs of weight 0, so the graph must have none.
    matrix = csr_matrix((graph.n, graph.n))
    kept = weights_of(graph) > 0
    tails = np.repeat(np.arange(graph.n), np.diff(graph.indptr))[kept]
    min_weights = {}
    for u, v, w in zip(tails, graph.indices[kept], weights_of(graph)[kept], strict=True):
        min_weights[u, v] = min(w, min_weights.get((u, v), np.inf))
    positive = Graph(
        np.concatenate([[0], np.cumsum(np.bincount(tails, minlength=graph.n))]).astype(np.int64),
        graph.indices[kept],
        weights_of(graph)[kept],
    )
    if min_weights:
        (rows, columns), values = zip(*min_weights, strict=True), list(min_weights.values())
        matrix = csr_matrix((values, (rows, columns)), shape=(graph.n, graph.n))
    expected = dijkstra(matrix, indices=source)
    paths = sssp(positive, source, method="dijkstra", backend="cpu")
    distance = np.where(paths.reached, paths.distance.astype(float), np.inf)
    assert np.allclose(distance, expected, rtol=1e-12)


def line(weights, dtype=np.int32):
    n = len(weights) + 1
    indptr = np.concatenate([np.arange(n), [n - 1]]).astype(np.int64)
    return Graph(indptr, np.arange(1, n, dtype=np.int32), np.array(weights, dtype))


def test_targets_and_cutoffs_bound_the_vertices_reached():
    graph = line([1] * 9)
    assert sssp(graph, 0, targets=[3], backend="cpu").reached.sum() == 4
    assert sssp(graph, 0, targets=[3, 6], stop_at="first", backend="cpu").reached.sum() == 4
    assert sssp(graph, 0, targets=[3, 6], backend="cpu").reached.sum() == 7
    assert sssp(graph, 5, targets=[3], backend="cpu").reached.sum() == 5  # 3 cannot be reached
    assert sssp(graph, 0, cutoff=2.9, backend="cpu").reached.sum() == 3


def test_lengths_grow_to_int64_where_int32_is_too_small():
    assert sssp(line([2**30] * 3), 0, backend="cpu").distance[-1] == 3 * 2**30
    assert sssp(line([2**20] * 3), 0, backend="cpu").distance.dtype == np.int32


@pytest.mark.parametrize("method", WEIGHTED)
def test_lengths_of_float32_weights_are_summed_in_float64(method):
    n = 100_001 if method not in ("frontier_node", "frontier_edge") else 2001
    weights = np.full(n - 1, 0.1, np.float32)
    paths = sssp(line(weights, np.float32), 0, method=method, backend="cpu")
    assert paths.distance.dtype == np.float64
    exact = (n - 1) * float(np.float32(0.1))
    assert paths.distance[-1] == pytest.approx(exact, rel=n * 2.0**-53)
    short = sssp(line([3e38] * 3, np.float32), 0, method=method, backend="cpu")
    assert short.distance[-1] == 3 * float(np.float32(3e38))  # beyond float32


def test_breadth_first_search_takes_no_weights():
    with pytest.raises(UsageError, match="bfs counts arcs, and this graph has weights"):
        sssp(line([1, 1]), 0, method="bfs")
    weighted = line([1, 1])
    graph = Graph(weighted.indptr, weighted.indices, None)
    paths = sssp(graph, 0, backend="cpu")
    assert (paths.method, paths.distance.tolist()) == ("bfs", [0, 1, 2])


def test_levels_bottom_up_and_top_down_again():
    """Of a random graph with a long path at its end, so that levels shrink and grow."""
    random = np.random.default_rng(5)
    n, tail = 3000, 50
    src, dst = random.integers(0, n, (2, 8 * n))
    path = np.arange(n, n + tail)
    edges = EdgeList(np.append(src, path), np.append(dst, path - 1))
    graph = from_edges(edges, directed=False, backend="cpu")
    unit = Graph(graph.indptr, graph.indices, np.ones(graph.num_arcs, np.int32), False)
    for options in ({}, {"targets": [n + 3, 5]}, {"cutoff": 3}, {"joint": True}):
        found = sssp(graph, [1, n + tail - 1], predecessors=True, backend="cpu", **options)
        expected = sssp(unit, [1, n + tail - 1], predecessors=True, backend="cpu", **options)
        assert (found.method, expected.method) == ("bfs", "dijkstra")
        assert np.array_equal(found.distance, expected.distance)
        assert np.array_equal(found.predecessor, expected.predecessor)


def test_graphs_with_one_arc_or_none_are_not_compiled_for_separately():
    for arcs in range(4):
        weighted = line([1] * arcs)
        graph = Graph(weighted.indptr, weighted.indices, None)
        with interpreting(False):
            paths = sssp(graph, 0, method="dijkstra", backend="cpu")
        assert paths.distance.tolist() == list(range(arcs + 1))
    signatures = dijkstra_cpu._find_distances.signatures
    weights = {types[2] for types in signatures}  # the types it is compiled for
    assert {kind.layout for kind in weights if not kind.mutable} == {"A"}


@pytest.mark.parametrize("interpreted", [False, True])
def test_targets_beyond_31_bits_are_found(interpreted):
    """The search begins again with 64 bits a key, and with all of its targets."""
    graph = line([1, 1 << 40, 1, 1 << 33], np.int64)
    with interpreting(interpreted):
        paths = sssp(graph, 0, targets=[1, 2, 3], method="dijkstra", backend="cpu")
    assert paths.distance[:4].tolist() == [0, 1, (1 << 40) + 1, (1 << 40) + 2]


@pytest.mark.parametrize("method", WEIGHTED)
@pytest.mark.parametrize(
    ("weights", "dtype"),
    [
        ([2**30 - 1] * 2, np.int32), ([2**31 - 2], np.int32), ([2**61 - 1] * 2, np.int64),
        ([8e37] * 3, np.float32), ([4e307] * 3, np.float64), ([0] * 40, np.int32),
    ],
)  # fmt: skip
def test_weights_near_the_end_of_their_type(method, weights, dtype):
    n = len(weights) + 1
    edges = EdgeList(np.arange(n - 1), np.arange(1, n), np.array(weights, dtype))
    graph = from_edges(edges, directed=False, backend="cpu")
    paths = sssp(graph, 0, method=method, backend="cpu", predecessors=True)
    lengths = np.cumsum([0, *np.array(weights, dtype).tolist()], dtype=paths.distance.dtype)
    assert np.array_equal(paths.distance, lengths)
    assert np.array_equal(paths.predecessor, np.arange(-1, n - 1))


@pytest.mark.parametrize(
    ("dtype", "cutoff", "reached"),
    [
        (np.int64, 2.0**63, 4), (np.int64, np.inf, 4), (np.int32, 1e30, 4), (np.int32, 2.5, 3),
        (np.float32, 1e300, 4), (np.float32, 0.9999999999, 1), (np.float32, 1, 2),
    ],
)  # fmt: skip
def test_cutoffs_at_the_ends_of_types(dtype, cutoff, reached):
    assert sssp(line([1, 1, 1], dtype), 0, cutoff=cutoff, backend="cpu").reached.sum() == reached


def test_predecessors_along_a_long_chain_of_weight_0():
    n = 300_000  # one pass over all vertices per level would take hours
    paths = sssp(line([0] * n), 0, backend="cpu", method="dijkstra", predecessors=True)
    assert np.array_equal(paths.predecessor, np.arange(-1, n))


@pytest.mark.parametrize(
    ("weights", "dtype", "message"),
    [
        ([1, -2], np.int64, r"weights must be at least 0 .*\(the minimum is -2\)"),
        ([1, np.nan], np.float64, r"weights must be at least 0 .*\(the minimum is nan\)"),
        ([1, np.inf], np.float32, "weights must be finite"),
        ([2**62, 2**62], np.int64, "would overflow int64"),
        ([2**62 - 1] * 2, np.int64, "would overflow int64"),
        ([6e307] * 3, np.float64, "would overflow float64"),
    ],
)
def test_bad_weights(weights, dtype, message):
    with pytest.raises(UsageError, match=message):
        sssp(line(weights, dtype), 0, backend="cpu")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"source": 3}, r"source must lie in \[0, 3\) \(got 3\)"),
        ({"source": -1}, r"\(got -1\)"),
        ({"source": 0.5}, "source must be a vertex"),
        ({"source": []}, "source must name at least one vertex"),
        ({"targets": [9]}, "targets must lie in"),
        ({"targets": []}, "targets must name at least one vertex"),
        ({"cutoff": -1}, "cutoff must be at least 0"),
        ({"cutoff": np.nan}, "cutoff must be at least 0"),
        ({"method": "breadth"}, "method must be one of"),
        ({"stop_at": "any"}, "stop_at must be 'last' or 'first'"),
        ({"delta": 0, "method": "near_far"}, "delta must be positive and finite"),
        ({"delta": 1, "method": "dijkstra"}, "delta belongs to method near_far"),
        ({"set_point": 0.5, "method": "self_tuning"}, "set_point must be at least 1 arc"),
        ({"set_point": 9, "method": "near_far"}, "set_point belongs to method self_tuning"),
        (
            {"set_point": 9, "delta": 1},
            "set_point belongs to method self_tuning, and delta to near",
        ),
        ({"controller": "own"}, "controller must be one of mgraph, paper"),
        ({"controller": "paper", "method": "dijkstra"}, "controller belongs to method self_tuning"),
        ({"controller": "paper", "power_limit": 9}, "power_limit belongs to the controller mgraph"),
        ({"hops": 0}, r"hops must be from 1 to 128 \(got 0\)"),
        ({"hops": 129}, r"hops must be from 1 to 128 \(got 129\)"),
        ({"hops": 2}, r"on a CPU an iteration has 1 hop \(got 2\)"),
        ({"hops": 1, "method": "heap"}, "hops belongs to methods near_far and self_tuning"),
        ({"hops": 1, "power_limit": 9}, "with power_limit, iterations have as many hops"),
        ({"heap_threshold": 5}, "heap_threshold belongs to method heap"),
        (
            {"frontier_bound": "vertex"},
            "frontier_bound belongs to methods frontier_node and frontier_edge",
        ),
        ({"frontier_bound": "arc", "method": "frontier_node"}, "frontier_bound must be one of"),
        ({"power_limit": 200}, "power_limit needs a GPU"),
        ({"power_limit": 200, "set_point": 9}, "give power_limit or set_point"),
        ({"concurrency": 0}, r"concurrency must be at least 1 \(got 0\)"),
        ({"trace": True, "method": "dijkstra"}, "trace applies to one search"),
    ],
)
def test_bad_requests(arguments, message):
    with pytest.raises(UsageError, match=message):
        sssp(line([1, 1]), **({"source": 0, "backend": "cpu"} | arguments))
    with pytest.raises(UsageError, match=r"graph must be a Graph, .* \(got dict\)"):
        sssp({}, 0)
