"""Figures of spanning forests on GPUs, for spanning_trees/BENCHMARKS.md.

    python -m tests.benchmarks.msf_gpu forest MAKER NAME …      filter_boruvka, against ECL-MST
    python -m tests.benchmarks.msf_gpu boruvka MAKER NAME …     the paper's, against prim on a core
    python -m tests.benchmarks.msf_gpu hard MAKER               chains, stars, cliques, ties
    python -m tests.benchmarks.msf_gpu dataset FOLDER N D GPUS  a forest from Parquet to Parquet
    python -m tests.benchmarks.msf_gpu backends MAKER NAME …    a graph in host memory, by backend
    python -m tests.benchmarks.msf_gpu wide                     more than 2^32 arcs

MAKER is a Python file with ``make(name, xp)``, which returns indptr, indices and weights of an
undirected graph. Times are medians, warm, the graph on the device: by device events from the call
to the arrays of the forest (or by the host's clock: prim, dataset).
"""

import argparse
import os
import shutil
import statistics
import time

import numpy as np

import mgraph
from mgraph import CopyModel, EdgeList, Graph
from mgraph.spanning_trees import filter_boruvka_gpu
from tests.benchmarks.makers import made
from tests.benchmarks.tiny import add_option, apply, small

REPEATS = 7
SHAPES = (("path", 10**7), ("shuffled path", 10**7), ("star", 10**7), ("clique", 8192))
ANCHORS = {  # ECL-MST's milliseconds, the forest's weight and edges
    "grid-4096": (23.3, 4491633040, 16_777_215),
    "rmat-22": (21.1, 53806173, 2_395_374),
    "pa-23": (46.2, 77396318, 8_388_607),
    "road-NE": (0.97, 637724491, 1_524_452),
}


def milliseconds(call, repeats=REPEATS):
    """Return the median by device events after a warm-up run, and the last result."""
    import cupy

    times = []
    for _ in range(repeats + 1):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        cupy.cuda.Device().synchronize()
        begin.record()
        result = call()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end))
    return statistics.median(times[1:]), result


def forest(options):
    for name in options.names:
        graph, _ = made(options.maker, name, "gpu")
        began = time.perf_counter()
        first = mgraph.minimum_spanning_forest(graph)
        first_seconds = time.perf_counter() - began
        time_ms, result = milliseconds(lambda graph=graph: mgraph.minimum_spanning_forest(graph))
        edges, _ = milliseconds(
            lambda graph=graph: filter_boruvka_gpu.mark_forest(
                graph.indptr, graph.indices, graph.weights
            )
        )
        anchor, weight, count = ANCHORS.get(name, (float("nan"), None, None))
        right = (result.total_weight, len(result)) == (weight, count) if weight else None
        assert (first.edge_id == result.edge_id).all()
        print(
            f"{name}: {time_ms:.2f} ms, {edges:.2f} of it to the bits; ECL-MST {anchor} ms, "
            f"{anchor / time_ms:.1f} times; weight {result.total_weight}, {len(result)} edges, "
            f"as the anchor: {right}; first call {first_seconds:.2f} s",
            flush=True,
        )


def boruvka(options):
    for name in options.names:
        graph, _ = made(options.maker, name, "gpu")
        time_ms, result = milliseconds(
            lambda graph=graph: mgraph.minimum_spanning_forest(graph, method="boruvka")
        )
        on_cpu = graph.to_cpu()
        mgraph.minimum_spanning_forest(made(options.maker, "rmat-10", "cpu")[0], method="prim")
        began = time.perf_counter()
        prim = mgraph.minimum_spanning_forest(on_cpu, method="prim", backend="cpu")
        seconds = time.perf_counter() - began
        assert (result.edge_id.get() == prim.edge_id).all()
        print(
            f"{name}: boruvka {time_ms:.1f} ms, prim on one core {seconds:.2f} s, "
            f"{1000 * seconds / time_ms:.0f} times",
            flush=True,
        )


def shape(kind, n):
    """Return the ends of the edges of a path, a shuffled path, a star, or a clique."""
    if kind == "clique":
        return np.tril_indices(n, -1)
    place = np.arange(n - 1)
    if kind == "star":
        return place + 1, 0 * place
    order = np.random.default_rng(1).permutation(n) if "shuffled" in kind else np.arange(n)
    return order[:-1], order[1:]


def hard(options):
    import cupy

    def span(graph, weights):
        same = Graph.unchecked(graph.indptr, graph.indices, weights, False)
        return milliseconds(lambda: mgraph.minimum_spanning_forest(same))[0]

    for kind, n in SHAPES:
        n = small(n, 50)
        src, dst = shape(kind, n)
        ends = (cupy.asarray(end.astype(np.int32)) for end in (src, dst))
        place = cupy.arange(src.size, dtype=np.int32)
        graph = mgraph.from_edges(EdgeList(*ends, place), n, directed=False, backend="gpu")
        place = graph.weights
        random = cupy.asarray(np.random.default_rng(2).integers(1, 1000, src.size), np.int32)[place]
        alternating = cupy.where(place % 2 == 1, src.size - place, -1).astype(np.int32)
        print(
            f"{kind} of {n:,}: random {span(graph, random):.2f} ms, equal "
            f"{span(graph, cupy.ones_like(place)):.2f}, rising {span(graph, place):.2f}, falling "
            f"{span(graph, src.size - place):.2f}, pairs and falling "
            f"{span(graph, alternating):.2f}",
            flush=True,
        )
    graph, _ = made(options.maker, "rmat-22", "gpu")
    print(
        f"rmat-22: as made {span(graph, graph.weights):.2f} ms, equal "
        f"{span(graph, cupy.ones_like(graph.weights)):.2f}"
    )


def dataset(options):
    graph, out = os.path.join(options.folder, "graph"), os.path.join(options.folder, "forest")
    with mgraph.connect(workers=options.gpus, backend="gpu", dashboard="127.0.0.1:0") as cluster:
        if not os.path.exists(os.path.join(graph, "_manifest.json")):
            model = CopyModel(options.n, options.d, weights=(1, 1000))
            mgraph.generate(graph, model, cluster=cluster, progress=None)
        seconds = []
        for _ in range(6):
            shutil.rmtree(out, ignore_errors=True)
            run = mgraph.spanning_forest_dataset(graph, out, cluster=cluster, progress=None)
            seconds.append(run.seconds)
        print(
            f"n {options.n:,}, d {options.d}, {options.gpus} GPUs: "
            f"{statistics.median(seconds[1:]):.2f} s (first {seconds[0]:.2f}), {run.made} forests, "
            f"weight {run.total_weight}, checksum {run.manifest.checksum:016x}",
            flush=True,
        )


def backends(options):
    for name in options.names:
        graph, _ = made(options.maker, name, "cpu")
        times = {}
        for backend in ("cpu", "gpu"):
            seconds = []
            for _ in range(REPEATS + 1):
                began = time.perf_counter()
                mgraph.minimum_spanning_forest(graph, backend=backend).to_cpu()
                seconds.append(time.perf_counter() - began)
            times[backend] = 1000 * statistics.median(seconds[1:])
        print(
            f"{name}: {graph.num_arcs:,} arcs, cpu {times['cpu']:.2f} ms, gpu {times['gpu']:.2f}",
            flush=True,
        )


def wide(_):
    """Span a ring in which each vertex is joined to the 65 next: 2^25 vertices, 4.36·10^9 arcs."""
    import cupy

    n, reach = small(1 << 25), 65
    steps = cupy.concatenate([cupy.arange(-reach, 0), cupy.arange(1, reach + 1)])
    indptr = cupy.arange(n + 1, dtype=np.int64) * steps.size
    indices = cupy.empty(n * steps.size, np.int32)
    for first in range(0, n, 1 << 20):
        rows = (cupy.arange(first, min(first + (1 << 20), n))[:, None] + steps) % n
        rows.sort(axis=1)
        indices[first * steps.size : (first + len(rows)) * steps.size] = rows.ravel()
    graph = Graph.unchecked(indptr, indices, None, False)
    time_ms, result = milliseconds(lambda: mgraph.minimum_spanning_forest(graph), 2)
    assert len(result) == n - 1
    print(f"{graph}: {time_ms:.0f} ms, {result}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    for verb in (forest, boruvka, backends):
        command = verbs.add_parser(verb.__name__)
        command.add_argument("maker")
        command.add_argument("names", nargs="+")
        command.set_defaults(run=verb)
    command = verbs.add_parser("hard")
    command.add_argument("maker")
    command.set_defaults(run=hard)
    command = verbs.add_parser("dataset")
    command.add_argument("folder")
    for number in ("n", "d", "gpus"):
        command.add_argument(number, type=int)
    command.set_defaults(run=dataset)
    verbs.add_parser("wide").set_defaults(run=wide)
    add_option(parser)
    options = apply(parser.parse_args())
    options.run(options)


if __name__ == "__main__":
    main()
