"""Rounds and times of the frontier methods, by their bound and weights, for BENCHMARKS.md.

    python -m tests.benchmarks.frontier_rounds MAKER NAME … [--gpu]

MAKER is a file with the benchmark graphs. Each graph has its own weights, and then weights of 1,
with which a round settles a whole level. Medians of three, on one core, and on a GPU with --gpu.
"""

import argparse
import statistics
import time

import numpy as np

from mgraph import Graph
from mgraph.shortest_paths import frontier_cpu, sssp_cpu
from mgraph.shortest_paths.problem import check_request
from tests.benchmarks.makers import made

REPEATS = 3


def on_core(request, by_arc, by_vertex):
    csr = sssp_cpu.rows_of(request)
    minima = np.zeros(request.graph.n if by_vertex else 0, request.dtype)
    frontier_cpu.row_minima(csr[0], csr[2], minima)
    min_weight = request.dtype.type(request.graph.weight_range[0])
    times = []
    for _ in range(REPEATS):
        distance = np.full(request.graph.n, request.infinity, request.dtype)
        began = time.perf_counter()
        rounds = frontier_cpu.find_distances(
            *csr, distance, request.sources[0], request.targets, False, request.cutoff,
            request.infinity, min_weight, by_arc, minima,
        )  # fmt: skip
        times.append(time.perf_counter() - began)
    return rounds, statistics.median(times), distance


def on_gpu(request, by_arc, by_vertex):
    import cupy

    from mgraph.shortest_paths import frontier_gpu

    graph = request.graph.to_gpu()
    searcher = frontier_gpu.Searcher(graph, request.dtype, by_arc=by_arc, by_vertex_bound=by_vertex)
    distance, times = cupy.empty(graph.n, request.dtype), []
    for _ in range(REPEATS + 1):
        cupy.cuda.Device().synchronize()
        began = time.perf_counter()
        rounds = searcher.launch(
            request.sources[0], distance, targets=cupy.empty(0, np.int32), stop_at_first=False,
            cutoff=request.cutoff,
        )  # fmt: skip
        count = int(rounds[0])
        times.append(time.perf_counter() - began)
    return count, statistics.median(times[1:]), distance.get()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("maker")
    parser.add_argument("names", nargs="+")
    parser.add_argument("--gpu", action="store_true")
    options = parser.parse_args()
    for name in options.names:
        graph, source = made(options.maker, name, "cpu")
        unit = Graph(graph.indptr, graph.indices, np.ones(graph.num_arcs, np.int32), graph.directed)
        for weights, searched in (("own weights", graph), ("weights of 1", unit)):
            request = check_request(
                searched, source, joint=False, targets=None, stop_at="last", cutoff=None
            )
            expected = None
            for measure in (on_core, on_gpu)[: 1 + options.gpu]:
                for method, by_arc in (("node", False), ("edge", True)):
                    for bound in ("graph", "vertex"):
                        rounds, seconds, distance = measure(request, by_arc, bound == "vertex")
                        expected = distance if expected is None else expected
                        assert (distance == expected).all()
                        print(
                            f"{name}, {weights}, {measure.__name__}, frontier_{method}, bound by "
                            f"{bound}: {rounds} rounds, {1e3 * seconds:.3f} ms",
                            flush=True,
                        )


if __name__ == "__main__":
    main()
