"""Figures of connected components and breadth-first search on GPUs.

    python -m tests.benchmarks.components_gpu graphs MAKER NAME …   beside the forest of each graph
    python -m tests.benchmarks.components_gpu levels MAKER NAME …   bfs beside self_tuning
    python -m tests.benchmarks.components_gpu rmat SCALE            beside cuGraph, if it is there
    python -m tests.benchmarks.components_gpu dataset FOLDER N D GPUS   from Parquet to Parquet
    python -m tests.benchmarks.components_gpu table FOLDER SCALE GPUS   the same, of R-MAT edges

MAKER is a Python file with ``make(name, xp)``, as for ``msf_gpu``. Times are medians, warm, the
graph on the device, by device events from the call to the result; of a dataset by the host's clock.
"""

import argparse
import os
import shutil
import statistics
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import mgraph
from mgraph import CopyModel, EdgeList, Graph
from tests.benchmarks.makers import made
from tests.benchmarks.msf_gpu import milliseconds
from tests.benchmarks.partitioned_gpu import RmatEdges
from tests.benchmarks.tiny import add_option, apply

EDGES_PER_VERTEX = 16
SOURCES = 8  # of breadth-first searches of a graph


def graphs(options):
    for name in options.names:
        graph, _ = made(options.maker, name, "gpu")
        forest_ms, forest = milliseconds(lambda graph=graph: mgraph.minimum_spanning_forest(graph))
        time_ms, found = milliseconds(lambda graph=graph: mgraph.connected_components(graph))
        assert found.num_components == forest.components
        print(
            f"{name}: {time_ms:.3f} ms, {found.num_components:,} components; forest "
            f"{forest_ms:.2f} ms, {forest_ms / time_ms:.1f} times",
            flush=True,
        )


def levels(options):
    for name in options.names:
        weighted, source = made(options.maker, name, "gpu")
        graph = Graph.unchecked(
            weighted.indptr, weighted.indices, None, False, rows_ascend=True, symmetric=True
        )
        times = {}
        for method in ("bfs", "self_tuning"):
            for predecessors in (False, True):
                times[method, predecessors], paths = milliseconds(
                    lambda graph=graph, how=(method, predecessors), source=source: mgraph.sssp(
                        graph, source, method=how[0], predecessors=how[1]
                    )
                )
                if predecessors:
                    times[method, "result"] = paths
        first, second = (times[method, "result"] for method in ("bfs", "self_tuning"))
        assert (first.distance == second.distance).all()
        assert (first.predecessor == second.predecessor).all()
        depth = int(first.distance[first.distance < first.infinity].max())
        print(
            f"{name}: bfs {times['bfs', False]:.2f} ms, with predecessors "
            f"{times['bfs', True]:.2f}; self_tuning {times['self_tuning', False]:.2f} and "
            f"{times['self_tuning', True]:.2f}; {depth:,} levels",
            flush=True,
        )


def draw_rmat(scale):
    """Return the ends of R-MAT edges with Graph500's parameters, ids scrambled."""
    import cupy

    count, random = EDGES_PER_VERTEX << scale, cupy.random.default_rng(7)
    src, dst = cupy.zeros(count, np.int32), cupy.zeros(count, np.int32)
    for _ in range(scale):
        draw = random.random(count, np.float32)
        src = 2 * src + (draw >= 0.76)
        dst = 2 * dst + ((draw >= 0.57) & (draw < 0.76) | (draw >= 0.95))
    order = cupy.asarray(np.random.default_rng(8).permutation(1 << scale).astype(np.int32))
    return order[src].astype(np.int32), order[dst].astype(np.int32)


def check_tree(graph, paths, source):
    """Check Graph500's rules: levels differ by at most one along edges, and parents by one."""
    import cupy

    from mgraph.core.primitives_gpu import tails

    distance, parent = paths.distance, paths.predecessor
    tail = tails(graph.indptr, graph.num_arcs)
    reached = distance < paths.infinity
    for first in range(0, graph.num_arcs, 1 << 27):
        piece = slice(first, first + (1 << 27))
        u, v = tail[piece], graph.indices[piece]
        assert (reached[u] == reached[v]).all()
        assert (cupy.abs(distance[u] - distance[v]) <= 1).all()
    assert int(parent[source]) == -1
    assert int(distance[source]) == 0
    children = cupy.flatnonzero(reached & (distance > 0))
    assert (distance[parent[children]] + 1 == distance[children]).all()
    assert (parent[~reached] == -1).all()


def rmat(options):
    src, dst = draw_rmat(options.scale)
    sources, count = measure_rmat(src, dst, options.scale)
    try:
        import pylibcugraph
    except ImportError:
        return
    measure_cugraph(pylibcugraph, src, dst, options.scale, sources, count)


def measure_rmat(src, dst, scale):
    """Measure mgraph; return the sources of the searches, and the number of components."""
    edges = EdgeList(src.copy(), dst.copy())
    graph = mgraph.from_edges(
        edges, 1 << scale, directed=False, drop_loops=False, merge=False, backend="gpu"
    )
    candidates = np.flatnonzero((graph.indptr[1:] - graph.indptr[:-1]).get())
    sources = np.random.default_rng(1).choice(candidates, SOURCES, replace=False).tolist()
    time_ms, found = milliseconds(lambda: mgraph.connected_components(graph))
    count = found.num_components
    print(
        f"rmat-{scale}, {graph.num_arcs:,} arcs: components {time_ms:.2f} ms, {count:,}", flush=True
    )
    times = []
    for source in sources:
        time_ms, paths = milliseconds(
            lambda source=source: mgraph.sssp(graph, source, predecessors=True)
        )
        assert paths.method == "bfs"
        check_tree(graph, paths, source)
        times.append(time_ms)
    shown = " ".join(f"{time:.2f}" for time in times)
    print(f"bfs with predecessors: {statistics.median(times):.2f} ms ({shown})", flush=True)
    return sources, count


def measure_cugraph(cu, src, dst, scale, sources, expected):
    import cupy

    both = cupy.concatenate([src, dst]), cupy.concatenate([dst, src])
    handle = cu.ResourceHandle()
    properties = cu.GraphProperties(is_symmetric=True, is_multigraph=True)
    graph = cu.SGGraph(
        handle, properties, *both, weight_array=None, store_transposed=False, renumber=True,
        do_expensive_check=False,
    )  # fmt: skip
    time_ms, (vertices, labels) = milliseconds(
        lambda: cu.weakly_connected_components(handle, graph, None, None, None, None, False), 3
    )
    count = int(cupy.unique(labels).size) + (1 << scale) - int(vertices.size)
    print(f"cuGraph: components {time_ms:.1f} ms, {count:,} (mgraph {expected:,})")
    times = []
    for source in sources:
        start = cupy.asarray([source], np.int32)
        time_ms, _ = milliseconds(
            lambda start=start: cu.bfs(handle, graph, start, True, -1, True, False), 3
        )
        times.append(time_ms)
    print(f"cuGraph: bfs {statistics.median(times):.2f} ms", flush=True)


def dataset(options):
    graph = os.path.join(options.folder, f"graph-{options.n}-{options.d}")
    out = os.path.join(options.folder, "components")
    if not os.path.exists(os.path.join(graph, "_manifest.json")):
        cluster = mgraph.ClusterSpec(workers=options.gpus)
        model = CopyModel(options.n, options.d)
        mgraph.generate(graph, model, cluster=cluster, backend="gpu", progress=None)
    measure_dataset(graph, out, options.gpus, f"n {options.n:,}, d {options.d}")


def table(options):
    """Components of R-MAT edges in any order, in files as mgraph's, but not sorted."""
    edges = os.path.join(options.folder, f"rmat-{options.scale}")
    out = os.path.join(options.folder, "components")
    if not os.path.exists(edges):
        write_rmat(edges, options.scale)
    measure_dataset(edges, out, options.gpus, f"rmat-{options.scale}")


def write_rmat(folder, scale):
    import pyarrow as pa
    import pyarrow.parquet as pq

    source = RmatEdges(scale, 0, 1, False)
    os.makedirs(folder)
    schema = pa.schema([pa.field(name, pa.int32(), nullable=False) for name in ("src", "dst")])

    def write(index, ends):
        columns = pa.table(dict(zip(("src", "dst"), ends, strict=True)), schema)
        path = os.path.join(folder, f"{index:04}.parquet")
        pq.write_table(columns, path, compression="lz4", use_dictionary=False)

    with ThreadPoolExecutor() as pool:
        written = []
        for index in range(len(source.sizes)):
            block = source.block(index)
            written.append(pool.submit(write, index, [block.src.get(), block.dst.get()]))
        for each in written:
            each.result()


def measure_dataset(graph, out, gpus, name):
    with mgraph.connect(workers=gpus, backend="gpu", dashboard="127.0.0.1:0") as cluster:
        seconds = []
        for _ in range(4):
            shutil.rmtree(out, ignore_errors=True)
            run = mgraph.components_dataset(graph, out, cluster=cluster, progress=None)
            seconds.append(run.seconds)
        print(
            f"{name}, {gpus} GPUs: {statistics.median(seconds[1:]):.2f} s (first "
            f"{seconds[0]:.2f}), {run}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    for verb in (graphs, levels):
        command = verbs.add_parser(verb.__name__)
        command.add_argument("maker")
        command.add_argument("names", nargs="+")
        command.set_defaults(run=verb)
    command = verbs.add_parser("rmat")
    command.add_argument("scale", type=int)
    command.set_defaults(run=rmat)
    command = verbs.add_parser("table")
    command.add_argument("folder")
    command.add_argument("scale", type=int)
    command.add_argument("gpus", type=int)
    command.set_defaults(run=table)
    command = verbs.add_parser("dataset")
    command.add_argument("folder")
    for number in ("n", "d", "gpus"):
        command.add_argument(number, type=int)
    command.set_defaults(run=dataset)
    add_option(parser)
    options = apply(parser.parse_args())
    options.run(options)


if __name__ == "__main__":
    main()
