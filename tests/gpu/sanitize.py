"""A small case of every kernel path, for compute-sanitizer (it takes minutes on large ones):

compute-sanitizer --tool memcheck python3 -m tests.gpu.sanitize
compute-sanitizer --tool racecheck $BUT python3 -m tests.gpu.sanitize

BUT is --kernel-regex-exclude kns=cupy_nonzero, a kernel of CuPy's that racecheck warns of. With
arguments: only those of edges, peers, copies, pages, graph, degrees, rows, checksums, frontier,
near_far (predecessors with each search), paper_search, steiner, groups, exchange, components,
breadth, forests, heap, heap_search and knapsacks.
"""

import sys
import tempfile

import numpy as np

import mgraph
from mgraph import CopyModel, EdgeList, experiments
from mgraph.components import component_sizes_gpu
from mgraph.components.edge_components_gpu import EdgeComponents
from mgraph.core import cancellation, edge_list_cpu, edge_list_gpu
from mgraph.generators import cuppa_gpu
from mgraph.generators.cuppa_schedule import Schedule
from mgraph.heap import batch_heap_gpu
from mgraph.io import graph_dataset
from mgraph.shortest_paths import near_far_gpu
from mgraph.shortest_paths.sssp import sssp
from mgraph.spanning_trees.edge_forest import forest_of_edges
from mgraph.spanning_trees.minimum_spanning_forest import GPU_METHODS
from tests.components.oracles import assert_ordered
from tests.gpu import certificate
from tests.gpu.poisoned_memory import poison
from tests.heap.histories import run_on_gpu
from tests.partitioned import test_bfs, test_components, test_delta_stepping, test_forest

MODELS = [
    (CopyModel(3000, 1), None),
    (CopyModel(3000, 4, weights=(1, 9)), None),
    (CopyModel(1500, 8, 0.0), None),
    (CopyModel(1001, 7), range(3, 777)),
    (CopyModel(400, 32), None),
    (CopyModel(300, 33, 0.1), None),
    (CopyModel(4099, 4096, 0.5), range(4095, 4099)),
    (CopyModel(1 << 35, 8), range(1 << 34, (1 << 34) + 300)),
    (CopyModel(3000, 1, method="cuppa"), None),
    (CopyModel(2000, 4, 0.0, method="cuppa", weights=(1, 9)), None),
    (CopyModel(1001, 7, method="cuppa"), range(3, 777)),
    (CopyModel(500, 20, 0.1, method="cuppa"), None),
    (CopyModel(300, 33, 0.1, method="cuppa"), None),
    (CopyModel(400, 200, method="cuppa"), None),
    (CopyModel(1104, 1100, method="cuppa"), None),
]


def small_graph(dtype="int32"):
    random = np.random.default_rng(1)
    ends = random.integers(0, 2000, (2, 6000)).astype(np.int32)
    ends[0, :600] = 7  # a hub of more arcs than a piece has
    weight = random.integers(0, 20, 6000).astype(dtype)
    return EdgeList(ends[0], ends[1], weight)


def edges():
    for model, part in MODELS:
        cpu, gpu = (model.edges(part, backend=backend) for backend in ("cpu", "gpu"))
        assert gpu.checksum == cpu.checksum, model
        assert (gpu.edges.dst.get() == cpu.edges.dst).all(), model


def peers():
    """Each rank of two, beside the endpoints that the other has made."""
    import cupy

    for model in (CopyModel(9000, 4, method="cuppa"), CopyModel(5000, 40, 0.0, method="cuppa")):
        rows = model.edges(backend="cpu").edges.dst[model.edges_before(model.d) :]
        rows = rows.reshape(-1, model.d)
        stripe = np.arange(len(rows)) >> cuppa_gpu.STRIPE_BITS
        begun = np.zeros(1, rows.dtype)  # before the endpoints of each
        known = [cupy.asarray(np.append(begun, rows[stripe % 2 == rank]))[1:] for rank in range(2)]
        for rank in range(2):
            own = cupy.full(known[rank].size + 1, -1, rows.dtype)[1:]
            shares = [own, known[1]] if rank == 0 else [known[0], own]
            table = cupy.asarray(np.array([share.data.ptr for share in shares], np.uint64))
            ends = cuppa_gpu.Endpoints(own, rank, 2, table)
            cuppa_gpu.launch_fill(model, ends, len(rows), Schedule(), np.uint64(0))
            assert (own == known[rank]).all()
        assert certificate.wrong_endpoints(model, ends, np.arange(model.d, model.n)) == 0


def copies():
    for method, segments in (("cuppa", 100), ("cuppa_hash", None)):
        model = CopyModel(1000, 4, method=method)
        cpu, gpu = (
            experiments.copy_statistics(model, backend=backend, segments=segments)
            for backend in ("cpu", "gpu")
        )
        assert (gpu.attempts == cpu.attempts).all()
        assert (gpu.chains == cpu.chains).all()
        assert [round[:4] for round in gpu.rounds] == [round[:4] for round in cpu.rounds]


def pages():
    model = CopyModel(9000, 4, weights=(1, 900))
    edges = model.edges(backend="cpu").edges
    for compression in ("lz4", "none"):
        with tempfile.TemporaryDirectory() as folder:
            mgraph.generate(f"{folder}/g", model, backend="cpu", compression=compression)
            read = graph_dataset.read(mgraph.open_dataset(f"{folder}/g"), "gpu").edges
        for column, expected in zip(read, edges, strict=True):
            assert (column.get() == expected).all()


def graph():
    for merge in (False, True):
        cpu, gpu = (
            mgraph.from_edges(small_graph(), directed=False, merge=merge, backend=backend)
            for backend in ("cpu", "gpu")
        )
        assert (gpu.indices.get() == cpu.indices).all()
    for dtype in ("int32", "float64", None):
        edges = rows_of_all_lengths(dtype)
        cpu, gpu = (mgraph.from_edges(edges, 5000, backend=backend) for backend in ("cpu", "gpu"))
        assert (gpu.indices.get() == cpu.indices).all()
        if dtype:
            assert (gpu.weights.get() == cpu.weights).all()


def rows_of_all_lengths(dtype):
    """Rows that are sorted by a warp, by a block, and in chunks."""
    random = np.random.default_rng(2)
    lengths = [0, 2, 33, 65, 129, 257, 3000, 9000, 20_000]
    src = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    dst = random.integers(0, 5000, src.size).astype(np.int32)
    return EdgeList(src, dst, dtype and random.integers(-9, 9, src.size).astype(dtype))


def degrees():
    import cupy

    edges = small_graph()
    on_gpu = EdgeList(cupy.asarray(edges.src), cupy.asarray(edges.dst))
    found, expected = on_gpu.degree_histogram(2000), edges.degree_histogram(2000)
    assert (np.array(found) == np.array(expected)).all()


def rows():
    """What a search reached, where not all are."""
    from mgraph.shortest_paths import reached_rows_gpu

    graph = mgraph.from_edges(small_graph(), 2100, directed=False, backend="gpu")
    paths = sssp(graph, 3, predecessors=True, cutoff=9, backend="gpu")
    reached, greatest = reached_rows_gpu.summarize(paths.distance)
    columns = reached_rows_gpu.list_rows(paths.distance, paths.predecessor, reached)
    distance = paths.distance.get()
    vertices = np.flatnonzero(distance <= greatest)
    assert 1 < reached == vertices.size < 2100
    assert (columns[0].get() == vertices).all()
    assert (columns[1].get() == distance[vertices]).all()


def checksums():
    import cupy

    edges = small_graph("float32")
    on_gpu = EdgeList(*map(cupy.asarray, edges))
    assert edge_list_gpu.checksum(on_gpu) == edge_list_cpu.checksum(edges)


def search(method, targets=None, **options):
    for dtype in ("int32", "float64"):
        cpu = mgraph.from_edges(small_graph(dtype), directed=False, backend="cpu")
        asked = {"targets": targets, "predecessors": True}
        expected = sssp(cpu, 3, method="dijkstra", backend="cpu", **asked)
        found = sssp(cpu, 3, method=method, backend="gpu", **asked, **options)
        assert (found.distance.get() == expected.distance).all()
        assert (found.predecessor.get() == expected.predecessor).all()


def frontier():
    search("frontier_node")
    search("frontier_edge", targets=[5, 6])
    search("frontier_node", frontier_bound="vertex")


def near_far():
    search("near_far")
    search("near_far", delta=3.0)
    search("self_tuning")
    search("self_tuning", set_point=200, targets=[5, 6])
    search("self_tuning", set_point=200, upper_bound=True, trace=True)


def paper_search():
    search("self_tuning", controller="paper", set_point=200)
    search("self_tuning", controller="paper", set_point=200, targets=[3, 8])


def steiner():
    random = np.random.default_rng(2)
    for dtype in ("int32", "float64"):
        edges = small_graph(dtype)
        cpu = mgraph.from_edges(edges, directed=False, drop_loops=True, backend="cpu")
        there = cpu.indptr[1:] > cpu.indptr[:-1]
        terminals = random.choice(np.flatnonzero(there), 6, replace=False)
        expected = mgraph.steiner_tree(cpu, terminals, method="star", backend="cpu")
        for search in ("auto", "node", "edge"):
            found = mgraph.steiner_tree(cpu, terminals, backend="gpu", search=search)
            assert (found.cost, found.searches) == (expected.cost, expected.searches)
        queries = [random.choice(np.flatnonzero(there), 4, replace=False) for _ in range(40)]
        for i, found in mgraph.steiner_trees(cpu, queries, method="star", backend="gpu"):
            assert (
                found.cost
                == mgraph.steiner_tree(cpu, queries[i], method="star", backend="cpu").cost
            )


def groups():
    random = np.random.default_rng(1)
    for dtype in ("int32", "float64"):
        graph = mgraph.from_edges(small_graph(dtype), directed=False, backend="gpu")
        queries = [[random.integers(0, 2000, 5) for _ in range(k)] for k in (2, 3, 3, 4)]
        found = dict(mgraph.group_steiner_trees(graph, queries, backend="gpu"))
        cpu = dict(mgraph.group_steiner_trees(graph, queries, backend="cpu"))
        assert [found[i].cost for i in range(4)] == [cpu[i].cost for i in range(4)]


def exchange():
    """Vertices of a large Steiner tree are exchanged."""
    from mgraph.steiner.improvement.vertex_exchange_gpu import VertexExchange
    from tests.steiner.improvement.problems import grid_problem

    problem = grid_problem(40, 200, 1)
    search = VertexExchange(problem.network, problem.weight, problem.grown(), problem.work)
    for _ in range(3):
        search.step()
    assert problem.check(search.tree) == search.cost


def breadth():
    for directed in (False, True):
        weighted = mgraph.from_edges(small_graph(), directed=directed, backend="cpu")
        graph = mgraph.Graph(weighted.indptr, weighted.indices, None, directed)
        options = {"method": "bfs", "predecessors": True}
        expected = sssp(graph, 3, backend="cpu", **options)
        found = sssp(graph.to_gpu(), 3, **options)
        assert (found.distance.get() == expected.distance).all()
        assert (found.predecessor.get() == expected.predecessor).all()


def components():
    graph = small_graph()
    rows = mgraph.from_edges(graph, 4000, directed=False, backend="cpu")
    for each in (rows, mgraph.from_edges(graph, 4000, directed=True, backend="cpu")):
        expected = mgraph.connected_components(each).labels
        assert (mgraph.connected_components(each.to_gpu()).labels.get() == expected).all()
        united = EdgeComponents(4000)
        edges = each.to_gpu().to_edges()
        united.add(edges.src, edges.dst)
        assert (united.labels().get() == expected).all()
        assert_ordered(component_sizes_gpu.count_sizes(expected), expected)


def forests():
    for dtype in ("int32", "float64"):
        cpu = mgraph.from_edges(small_graph(dtype), directed=False, backend="cpu")
        expected = mgraph.minimum_spanning_forest(cpu, backend="cpu").edge_id
        for method in GPU_METHODS:
            found = mgraph.minimum_spanning_forest(cpu, method=method, backend="gpu")
            assert (found.edge_id.get() == expected).all()
    by_vertex = {"choose": "vertex", "count": "vertex", "contract": "vertex"}
    for variants in (by_vertex, {"colours": "walk"}):
        how = {"method": "boruvka", "backend": "gpu", "variants": variants}
        assert (mgraph.minimum_spanning_forest(cpu, **how).edge_id.get() == expected).all()
    import cupy

    ends = (
        forest_of_edges(small_graph(), 2000),
        forest_of_edges(EdgeList(*map(cupy.asarray, small_graph())), 2000),
    )
    assert (ends[0].dst == ends[1].dst.get()).all()


def heap():
    """Each insertion, with many blocks, both ways to merge, and several heaps as one queue."""
    random = np.random.default_rng(3)
    words = np.dtype(np.uint32), np.dtype(np.uint32)
    for insert, node in (("top_down", 8), ("bottom_up", 64), ("paper_bottom_up", 64)):
        for merge, heaps in (("bitonic", 1), ("merge_path", 1), ("bitonic", 3)):
            ours = batch_heap_gpu.Heap(*words, node, insert, 512, merge=merge, heaps=heaps)
            for keys in (random.integers(0, 99, 3000, np.uint32), np.arange(900, 0, -1, np.uint32)):
                ours.push(ours.array(keys), ours.array(~keys))
            some = ours.pop(1111)
            ours.push(*some)
            left, values = ours.pop(3900)
            assert (values == ~left).all()
            if heaps == 1:
                assert (left[1:] >= left[:-1]).all()
        assert insert == "paper_bottom_up" or run_on_gpu(random, insert) == (None, None)


def heap_search():
    """A star, whose leaves wait in heaps, searched by four blocks."""
    usual = near_far_gpu.THREADS, near_far_gpu.multiprocessors
    near_far_gpu.THREADS, near_far_gpu.multiprocessors = 256, lambda: 4  # and keys of a node
    leaves = 20_000
    weights = np.random.default_rng(4).integers(1, 10**6, leaves).astype(np.int32)
    star = mgraph.EdgeList(np.zeros(leaves, np.int32), np.arange(1, leaves + 1), weights)
    searcher = near_far_gpu.Searcher(
        mgraph.from_edges(star, backend="gpu"), np.dtype("int32"), heaps=True
    )
    how = {"mean_weight": 500_000.0, "cutoff": 10**6, "set_point": 500}
    found = searcher.launch([np.array([0])], **how)
    assert (found.distance[0, 1:].get() == weights).all()
    assert searcher.heap_operations.sum() >= 8, searcher.heap_operations
    near_far_gpu.THREADS, near_far_gpu.multiprocessors = usual


def partitioned():
    """Ranks that take turns on one device; long rows are read in pieces."""
    edges, _ = mgraph.CopyModel(3000, 3, p=0.02, weights=(0, 40)).edges(backend="cpu")
    graph = mgraph.from_edges(edges, 3000, directed=False, backend="cpu")
    for sources, delta in ((7, None), ([2999, 3], 1e9)):
        test_delta_stepping.assert_same(graph, 2, sources, delta, on="gpu")
    test_components.assert_same(graph, 2, on="gpu")
    unweighted = mgraph.Graph(graph.indptr, graph.indices, None, directed=False)
    test_bfs.assert_same(unweighted, 2, [2999], on="gpu")
    test_forest.assert_same(edges, 3000, 2, backend="gpu")


def knapsacks():
    for kind in ("strongly_correlated", "even_odd_subset_sum"):
        one = experiments.pisinger_instance(kind, 100, 100, 500)
        expected = mgraph.knapsack(one.profits, one.weights, one.capacity).profit
        found = mgraph.knapsack(
            one.profits, one.weights, one.capacity, method="branch_and_bound", backend="gpu"
        )
        assert found.profit == expected
    small = experiments.pisinger_instance("strongly_correlated", 25, 100, 500)
    arguments = small.profits, small.weights, small.capacity
    found = mgraph.knapsack(*arguments, method="plain_branch_and_bound", backend="gpu")
    assert found.profit == mgraph.knapsack(*arguments).profit


CASES = {
    "edges": edges,
    "peers": peers,
    "copies": copies,
    "pages": pages,
    "graph": graph,
    "degrees": degrees,
    "rows": rows,
    "checksums": checksums,
    "frontier": frontier,
    "near_far": near_far,
    "paper_search": paper_search,
    "steiner": steiner,
    "groups": groups,
    "exchange": exchange,
    "components": components,
    "breadth": breadth,
    "forests": forests,
    "heap": heap,
    "heap_search": heap_search,
    "partitioned": partitioned,
    "knapsacks": knapsacks,
}


def main(names):
    poison()
    with cancellation.cancelled_when(lambda: False):  # kernels look whether they are to stop
        for name in names or CASES:
            CASES[name]()
            print(f"{name}: equal to the CPU", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
