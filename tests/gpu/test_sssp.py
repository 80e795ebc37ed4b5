"""Shortest paths on the GPU equal those on the CPU, to the bit, by every method."""

import os
import pathlib
import sys
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import CopyModel, DeviceError, EdgeList, Graph, OutOfMemoryError, UsageError
from mgraph.cli.main import main
from mgraph.core import csr_cpu
from mgraph.shortest_paths.sssp import METHODS, sssp
from tests.benchmarks import sssp_shapes
from tests.strategies import graphs

pytestmark = pytest.mark.gpu

ON_GPU = [method for method in METHODS if method not in ("auto", "dijkstra")]
WITH_WEIGHTS = [method for method in ON_GPU if method != "bfs"]


def assert_equal(graph, source, method, options=None, **request):
    request["predecessors"] = True
    expected = sssp(graph, source, method="dijkstra", backend="cpu", **request)
    paths = sssp(graph, source, method=method, backend="gpu", **request, **(options or {}))
    assert paths.backend == "gpu"
    np.testing.assert_array_equal(paths.distance.get(), expected.distance)
    np.testing.assert_array_equal(paths.predecessor.get(), expected.predecessor)
    assert paths.distance.dtype == expected.distance.dtype


@pytest.mark.parametrize("method", ON_GPU)
@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_small_graphs_of_all_kinds(method, data):
    graph = data.draw(graphs())
    if method not in WITH_WEIGHTS:
        graph = Graph(graph.indptr, graph.indices, None, graph.directed)
    vertices = st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=4)
    assert_equal(
        graph,
        data.draw(vertices),
        method,
        targets=data.draw(st.none() | vertices),
        stop_at=data.draw(st.sampled_from(["first", "last"])),
        cutoff=data.draw(st.none() | st.floats(0, 2000)),
        joint=data.draw(st.booleans()),
    )


def random_graph(n, m, weights, seed=1, directed=False):
    random = np.random.default_rng(seed)
    ends = random.integers(0, n, (2, m)).astype(np.int32)
    edges = EdgeList(ends[0], ends[1], weights(random, m))
    return csr_cpu.build(edges, n, directed=directed, drop_loops=False, merge=False)


WEIGHTS = {
    "none": lambda random, m: None,
    "int32": lambda random, m: random.integers(1, 100, m).astype(np.int32),
    "zeros": lambda random, m: (random.integers(0, 3, m) == 2).astype(np.int32),
    "large": lambda random, m: random.integers(1, 1 << 28, m).astype(np.int32),
    "int64": lambda random, m: random.integers(1, 1 << 40, m).astype(np.int64),
    "float32": lambda random, m: random.random(m).astype(np.float32),
    "float64": lambda random, m: random.random(m),
    "subnormal": lambda random, m: (random.random(m) * 1e-39).astype(np.float32),
    "30 decades": lambda random, m: 10 ** random.uniform(-15, 15, m),
    "30 decades in float32": lambda random, m: (10 ** random.uniform(-15, 15, m)).astype(
        np.float32
    ),
    "600 decades": lambda random, m: 10 ** random.uniform(-320, 290, m),
}


@pytest.mark.parametrize(
    ("method", "weights"),
    [("bfs", "none"), *((method, weights) for method in WITH_WEIGHTS for weights in WEIGHTS)],
)
def test_larger_graphs_of_all_types(method, weights):
    graph = random_graph(30_000, 120_000, WEIGHTS[weights])
    assert_equal(graph, [0, 17], method)
    assert_equal(graph, 5, method, targets=[11, 12, 13])
    assert_equal(graph, [5, 6, 7], method, targets=[11, 29_999], stop_at="first", joint=True)


@pytest.mark.parametrize("method", WITH_WEIGHTS)
def test_hubs_and_chains(method):
    model = CopyModel(200_000, 8, p=0.05, weights=(1, 99))
    edges, _ = model.edges(backend="cpu")
    hubs = mgraph.from_edges(edges, model.n, directed=False, backend="cpu")
    assert hubs.max_degree > 20_000
    assert_equal(hubs, 3, method)
    ids = np.arange(3000, dtype=np.int32)
    chain = EdgeList(ids[:-1], ids[1:], np.ones(2999, np.int32))
    assert_equal(mgraph.from_edges(chain, backend="cpu"), 0, method)


@pytest.mark.parametrize("method", WITH_WEIGHTS)
@pytest.mark.parametrize(
    ("weights", "dtype"),
    [
        ([2**30 - 1] * 2, np.int32), ([2**31 - 2], np.int32), ([2**61 - 1] * 2, np.int64),
        ([8e37] * 3, np.float32), ([4e307] * 3, np.float64), ([1e-42] * 9, np.float64),
        ([1e-320] * 9, np.float64), ([0] * 40, np.int32),
    ],
)  # fmt: skip
def test_weights_near_the_end_of_their_type(method, weights, dtype):
    ids = np.arange(len(weights) + 1)
    edges = EdgeList(ids[:-1], ids[1:], np.array(weights, dtype))
    assert_equal(mgraph.from_edges(edges, directed=False, backend="cpu"), 0, method)


@pytest.mark.parametrize("method", WITH_WEIGHTS)
def test_lengths_of_float32_weights_are_summed_in_float64(method):
    ids = np.arange(100_001 if "frontier" not in method else 2001, dtype=np.int32)
    weights = np.full(ids.size - 1, 0.1, np.float32)
    graph = mgraph.from_edges(EdgeList(ids[:-1], ids[1:], weights), backend="cpu")
    assert_equal(graph, 0, method)
    distance = sssp(graph, 0, method=method, backend="gpu").distance
    assert distance.dtype == np.float64
    exact = (ids.size - 1) * float(np.float32(0.1))
    assert float(distance[-1]) == pytest.approx(exact, rel=ids.size * 2.0**-53)


@pytest.mark.parametrize("method", WITH_WEIGHTS)
def test_a_cutoff_of_minus_zero(method):
    edges = EdgeList([0], [1], np.array([0.0]))
    assert_equal(mgraph.from_edges(edges, backend="cpu"), 0, method, cutoff=-0.0)


@pytest.mark.parametrize("bridge", [2**54 - 3, 2**54 + 7, 3 * 2**53 + 1])
@pytest.mark.parametrize("method", WITH_WEIGHTS)
def test_lengths_beyond_the_digits_of_a_double(method, bridge):
    cluster = random_graph(300, 3000, lambda random, m: random.integers(1, 31, m), seed=bridge % 97)
    edges = cluster.to_edges()
    src, dst, weight = (np.append(a, x) for a, x in zip(edges, (300, 0, bridge), strict=True))
    graph = mgraph.from_edges(EdgeList(src, dst, weight), directed=False, backend="cpu")
    assert_equal(graph, 300, method)


@pytest.mark.parametrize("delta", [0.5, 7.0, 200.0, 1e9])
def test_any_delta(delta):
    graph = random_graph(30_000, 120_000, WEIGHTS["int32"])
    assert_equal(graph, 0, "near_far", options={"delta": delta})


@pytest.mark.parametrize("set_point", [1, 100, 10_000, 1e9])
def test_any_set_point(set_point):
    graph = random_graph(30_000, 60_000, WEIGHTS["int32"])
    assert_equal(graph, 0, "self_tuning", options={"set_point": set_point})


@pytest.mark.parametrize("options", [{}, {"delta": 3.0}, {"set_point": 2000}])
def test_lists_that_are_too_short_change_no_distance(options):
    from mgraph.shortest_paths import near_far_gpu

    graph = random_graph(40_000, 400_000, WEIGHTS["int32"])
    expected = sssp(graph, 0, method="dijkstra", backend="cpu").distance
    searcher = near_far_gpu.Searcher(graph.to_gpu(), np.dtype(np.int32))
    searcher._allocate(near=8, pieces=searcher._choose_piece_capacity(), chunk=1)
    launched = searcher.launch(
        [np.array([0])],
        mean_weight=50.0,
        cutoff=np.iinfo(np.int32).max - 1,
        max_iterations=100_000,
        **options,
    )
    np.testing.assert_array_equal(launched.distance[0].get(), expected)


@pytest.mark.parametrize("method", ["near_far", "self_tuning", "heap"])
def test_little_memory_changes_no_distance(method, monkeypatch):
    monkeypatch.setattr("mgraph.shortest_paths.near_far_gpu.free_bytes", lambda: 1 << 20)
    assert_equal(random_graph(200_000, 800_000, WEIGHTS["int32"]), [0, 17], method)


def hub_graph(leaves, weight_type):
    """A hub, whose leaves are all queued at once, and arcs between leaves that improve many."""
    random = np.random.default_rng(3)
    src = np.concatenate([np.zeros(leaves, np.int32), random.integers(1, leaves, leaves)])
    dst = np.concatenate([np.arange(1, leaves + 1), random.integers(1, leaves, leaves)])
    weights = np.concatenate(
        [random.integers(1, 1_000_000, leaves), random.integers(1, 99_999, leaves)]
    )
    edges = EdgeList(src.astype(np.int32), dst.astype(np.int32), weights.astype(weight_type))
    return mgraph.from_edges(edges, directed=False, backend="cpu")


@pytest.mark.parametrize("weight_type", ["int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("free_bytes", [None, 1 << 20])
def test_many_far_vertices_go_through_heaps(weight_type, free_bytes, monkeypatch):
    from mgraph.shortest_paths import near_far_gpu

    graph = hub_graph(700_000, weight_type)
    assert_equal(graph, [0, 17], "heap", options={"heap_threshold": 1000})
    expected = sssp(graph, 0, method="dijkstra", backend="cpu").distance
    if free_bytes:  # heaps of one node and a buffer, which are full soon
        monkeypatch.setattr(near_far_gpu, "free_bytes", lambda: free_bytes)
    searcher = near_far_gpu.Searcher(graph.to_gpu(), expected.dtype, heaps=True)
    launched = searcher.launch(
        [np.array([0])],
        mean_weight=graph.mean_weight,
        cutoff=expected.max(),
        set_point=10_000,
    )
    np.testing.assert_array_equal(launched.distance[0].get(), expected)
    assert (searcher.heap_operations >= 2).all(), "a block has not used its heap"


def test_auto_chooses_a_backend_with_enough_memory(tmp_path):
    graph = random_graph(40_000, 400_000, WEIGHTS["int32"])
    assert sssp(graph, 0).backend == "gpu"
    assert sssp(graph, 0, method="dijkstra").backend == "cpu"
    small = random_graph(30, 60, WEIGHTS["int32"])
    assert sssp(small, 0).backend == "cpu"
    edges, files = graph.to_edges(), [tmp_path / "g", tmp_path / "g.mtx"]
    for file in files:
        mgraph.write_graph(graph, file)
        assert mgraph.read_graph(file).backend == "gpu"
    with pytest.MonkeyPatch.context() as patch:
        for module in ("mgraph.core.csr_gpu", "mgraph.shortest_paths.sssp_gpu"):
            patch.setattr(f"{module}.free_bytes", lambda: 1 << 20)
        assert sssp(graph, 0).backend == "cpu"
        assert mgraph.from_edges(edges, graph.n, directed=False).backend == "cpu"
        assert {mgraph.read_graph(file).backend for file in files} == {"cpu"}
    assert mgraph.from_edges(edges, graph.n, directed=False).backend == "gpu"


@pytest.mark.parametrize("shape", ["path", "grid 4 wide", "star and path", "star"])
@pytest.mark.parametrize("on_gpu", [False, True])
def test_auto_ends_where_it_is_faster(shape, on_gpu):
    graph = sssp_shapes.make(shape, 100_000)
    expected = sssp(graph, 0, backend="cpu", predecessors=True)
    paths = sssp(graph.to_gpu() if on_gpu else graph, 0, predecessors=True)
    assert paths.backend == ("gpu" if shape == "star" else "cpu")
    assert hasattr(paths.distance, "get") == (on_gpu or shape == "star")
    paths = paths.to_cpu()
    np.testing.assert_array_equal(paths.distance, expected.distance)
    np.testing.assert_array_equal(paths.predecessor, expected.predecessor)


def test_the_command_line_chooses_the_backend(tmp_path, capsys):
    mgraph.write_graph(random_graph(40_000, 400_000, WEIGHTS["int32"]), tmp_path / "g")
    command = ["sssp", str(tmp_path / "g"), "--source", "0"]
    for options, output in (
        ([], "self_tuning on the gpu"),
        (["--backend", "cpu"], "dijkstra on the cpu"),
        (["--method", "dijkstra"], "dijkstra on the cpu"),
        (["--method", "dijkstra", "--out", str(tmp_path / "o")], "40,000 vertices reached"),
    ):
        assert main([*command, *options]) == 0
        assert output in capsys.readouterr().out


def test_too_many_searches_raise_an_error_that_names_them():
    import cupy

    graph = random_graph(1000, 4000, WEIGHTS["int32"]).to_gpu()
    small = cupy.cuda.MemoryPool()  # the default one may hold blocks that are large enough
    small.set_limit(1 << 20)
    with (
        cupy.cuda.using_allocator(small.malloc),
        pytest.raises(OutOfMemoryError, match="not enough memory for 900 searches on Graph"),
    ):
        sssp(graph, list(range(900)))


@pytest.mark.parametrize("method", ON_GPU)
def test_two_billion_vertices(method):
    """A binary tree, v's children 2v + 1 and 2v + 2, as large as lengths of 32 bits allow."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    if cupy.cuda.runtime.memGetInfo()[0] < 130e9:
        pytest.skip("needs a GPU with 130 GB of free memory")
    n = (1 << 31) - 2
    indptr = cupy.arange(n + 1, dtype=np.int64)
    indptr *= 2
    cupy.minimum(indptr, n - 1, out=indptr)
    graph = Graph.unchecked(indptr, cupy.arange(1, n, dtype=np.int32), None, True)
    paths = sssp(graph, 0, method=method, predecessors=True)
    assert paths.distance.dtype == np.int32
    for depth in range(31):
        level = slice(2**depth - 1, min(2 ** (depth + 1) - 1, n))
        assert bool((paths.distance[level] == depth).all())
    assert int(paths.predecessor[0]) == -1
    step = 1 << 28
    for first in range(1, n, step):
        parents = paths.predecessor[first : first + step]
        expected = (cupy.arange(first, first + parents.size, dtype=np.int64) - 1) // 2
        assert bool((parents == expected).all())


@pytest.mark.parametrize("groups", [2, 7, 33])
def test_searches_side_by_side(groups):
    from mgraph.shortest_paths import near_far_gpu

    graph = random_graph(20_000, 80_000, WEIGHTS["int32"])
    sources = [np.array([v]) for v in range(50)]
    expected = sssp(graph, list(range(50)), method="dijkstra", backend="cpu").distance
    searcher = near_far_gpu.Searcher(graph.to_gpu(), np.dtype(np.int32), 50, groups)
    launched = searcher.launch(sources, mean_weight=50.0, cutoff=np.iinfo(np.int32).max - 1)
    np.testing.assert_array_equal(launched.distance.get(), expected)


@pytest.mark.parametrize("method", ["near_far", "self_tuning", "heap"])
def test_the_trace_adds_up(method):
    graph = random_graph(30_000, 120_000, WEIGHTS["int32"])
    paths = sssp(graph, 0, method=method, backend="gpu", trace=True)
    trace, reached = paths.trace, int(paths.reached.sum())
    assert trace["x1"].sum() >= reached
    assert trace["x2"].sum() >= graph.num_arcs - 1
    assert (trace["x4"] <= trace["x3"]).all()
    assert (trace["nanoseconds"] > 0).all()
    if method == "near_far":
        assert (np.diff(trace["delta"]) >= 0).all()
    else:
        assert (trace["d"] > 0).all()


@pytest.mark.parametrize("set_point", [5000, 20_000, 80_000])
def test_parallelism_stays_at_the_set_point(set_point):
    side = 700
    at = np.arange(side * side, dtype=np.int32).reshape(side, side)
    src = np.concatenate([at[:, :-1].ravel(), at[:-1].ravel()])
    dst = np.concatenate([at[:, 1:].ravel(), at[1:].ravel()])
    weight = np.random.default_rng(1).integers(1, 1000, src.size).astype(np.int32)
    grid = mgraph.from_edges(EdgeList(src, dst, weight), directed=False, backend="cpu")
    trace = sssp(grid, 0, backend="gpu", set_point=set_point, trace=True).trace
    assert len(trace) > 20
    assert 0.75 < np.median(trace["x2"][len(trace) // 10 :]) / set_point < 1.25


def test_graphs_on_the_gpu_stay_there():
    graph = random_graph(5000, 20_000, WEIGHTS["int32"])
    on_gpu = graph.to_gpu()
    assert on_gpu.backend == "gpu"
    paths = sssp(on_gpu, [1, 2, 3])
    assert (paths.backend, paths.method) == ("gpu", "self_tuning")
    expected = sssp(graph, [1, 2, 3], backend="cpu")
    np.testing.assert_array_equal(paths.to_cpu().distance, expected.distance)
    assert paths.to_arrow() == expected.to_arrow()
    with pytest.raises(UsageError, match="this one is on a GPU"):
        sssp(on_gpu, 0, backend="cpu")
    with pytest.raises(UsageError, match="runs on the CPU only"):
        sssp(on_gpu, 0, method="dijkstra")
    with pytest.raises(UsageError, match="weights must be at least 0"):
        sssp(Graph(on_gpu.indptr, on_gpu.indices, -on_gpu.weights), 0)
    back = on_gpu.to_cpu()
    np.testing.assert_array_equal(back.indices, graph.indices)


def test_power_limits_change_no_distance():
    from mgraph.cuda.energy import EnergyMeter, idle_watts

    graph = random_graph(50_000, 400_000, WEIGHTS["int32"])
    try:
        assert 10 < idle_watts(0.5) < 1000
    except DeviceError as error:
        pytest.skip(str(error))
    until = time.perf_counter() + 1
    with EnergyMeter() as meter:
        while time.perf_counter() < until:
            paths = sssp(graph, list(range(40)), backend="gpu", power_limit=10_000.0)
    assert meter.joules > 0
    expected = sssp(graph, list(range(40)), backend="cpu").distance
    np.testing.assert_array_equal(paths.distance.get(), expected)


@pytest.mark.parametrize("name", ["road-NE", "grid-1024", "rmat-18", "pa-18"])
def test_benchmark_graphs(name):
    shared = os.environ.get("MGRAPH_SHARED", pathlib.Path(__file__).parents[3] / "shared")
    bench = pathlib.Path(shared) / "bench"
    if not (bench / "graphs.py").exists():
        pytest.skip("needs the benchmark graphs, which are not part of the project")
    import cupy

    sys.path.insert(0, str(bench))
    from graphs import make

    graph = Graph(*make(name, cupy), directed=False)
    source = int(cupy.diff(graph.indptr).argmax()) if name[0] in "rp" and name != "road-NE" else 1
    expected = sssp(graph.to_cpu(), source, method="dijkstra", backend="cpu").distance
    for method in ("near_far", "self_tuning"):
        np.testing.assert_array_equal(sssp(graph, source, method=method).distance.get(), expected)
