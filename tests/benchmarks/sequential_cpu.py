"""Figures of the sequential generators, for generators/BENCHMARKS.md.

    python -m tests.benchmarks.sequential_cpu [--edges 100_000_000] [--only NAME]

Edges are kept in memory, on one core; medians of five after a warm-up. If NetworKit and igraph are
installed, their Barabási–Albert generators run as well, once, since they take long.
"""

import argparse
import os
import statistics
import time

os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.environ["OMP_NUM_THREADS"] = "1"

D = 8


def report(name, edges, seconds):
    rate = edges / seconds / 1e6
    print(f"{name:32s} {edges:>12,} edges {seconds:8.2f} s {rate:8.1f}e6/s", flush=True)


def generate(model):
    """Generate all endpoints in memory, for cuppa_hash also the sources."""
    import numpy as np

    from mgraph.generators import copy_hash_cpu, cuppa_hash_cpu, preferential_attachment

    if model.stores_endpoints:
        preferential_attachment.generate_endpoints(model, backend="cpu")
    elif model.method == "copy_hash":
        rows = (model.n - model.d) * model.d
        copy_hash_cpu.fill_endpoints(model, model.d, np.empty(rows, model.dtype))
    else:
        ends = (np.empty(model.num_edges, model.dtype) for _ in range(2))
        cuppa_hash_cpu.fill_range(model, range(model.n), *ends)


def ours(method, n):
    from mgraph import CopyModel

    times = []
    for size in (1000, *[n] * 6):  # the first compiles, the second touches the memory
        model = CopyModel(size, D, method=method)
        began = time.perf_counter()
        generate(model)
        times.append(time.perf_counter() - began)
    report(f"mgraph {method}", model.num_edges, statistics.median(times[2:]))


def networkit(n):
    import networkit

    networkit.setNumberOfThreads(1)
    began = time.perf_counter()
    graph = networkit.generators.BarabasiAlbertGenerator(D, n, D, True).generate()
    report("NetworKit, Batagelj-Brandes", graph.numberOfEdges(), time.perf_counter() - began)


def igraph(n):
    import igraph

    for implementation in ("bag", "psumtree"):
        began = time.perf_counter()
        graph = igraph.Graph.Barabasi(n, D, implementation=implementation)
        report(f"igraph, {implementation}", graph.ecount(), time.perf_counter() - began)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--edges", type=int, default=100_000_000)
    parser.add_argument("--only", help="one generator")
    arguments = parser.parse_args()
    n = arguments.edges // D
    for name in ("copy", "ba", "copy_hash", "cuppa_hash", "networkit", "igraph"):
        if arguments.only in (None, name):
            try:
                globals()[name](n) if name in globals() else ours(name, n)
            except ImportError as error:
                print(f"{name}: skipped, {error}")


if __name__ == "__main__":
    main()
