"""Shortest paths on a graph over workers of one core each, beside one of them.

    python -m tests.benchmarks.partitioned_cpu FOLDER N D WORKERS [--uniform]

Generates preferential attachment of N vertices and D edges per vertex with weights once, or edges
between random vertices. The same sources in turn: a graph over one worker, one over WORKERS, and
``mgraph.sssp`` on one core.
"""

import argparse
import os
import statistics
import time

import numpy as np

import mgraph
from mgraph import CopyModel

SOURCES = 3


def seconds_over(workers, folder, sources):
    """Return the median of the searches' seconds, the rounds, and the checksums of distances."""
    with (
        mgraph.connect(workers=workers, backend="cpu", dashboard="127.0.0.1:0") as cluster,
        mgraph.open_partitioned(folder, cluster=cluster) as graph,
    ):
        graph.sssp(sources[0], predecessors=True).release()  # compiles
        times, rounds, sums = [], 0, []
        for source in sources:
            paths = graph.sssp(source, predecessors=True)
            times.append(paths.seconds)
            rounds = paths.rounds
            sums.append(int(paths.distance().sum()))
            paths.release()
        built = max(rank.seconds for rank in graph.ranks)
    return statistics.median(times), rounds, sums, built


def write_uniform(folder, n, d):
    """Write a dataset of n·d edges between random vertices."""
    random = np.random.default_rng(1)
    src, dst = (random.integers(0, n, n * d, np.int32) for _ in range(2))
    weight = random.integers(1, 101, n * d, np.int32)
    edges = mgraph.EdgeList(src, dst, weight)
    mgraph.write_graph(mgraph.from_edges(edges, n, directed=False, backend="cpu"), folder)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    for number in ("n", "d", "workers"):
        parser.add_argument(number, type=int)
    parser.add_argument("--uniform", action="store_true")
    options = parser.parse_args(arguments)
    kind = "uniform" if options.uniform else "weighted"
    folder = os.path.join(options.folder, f"{kind}-{options.n}-{options.d}")
    if not os.path.exists(os.path.join(folder, "_manifest.json")):
        if options.uniform:
            write_uniform(folder, options.n, options.d)
        else:
            model = CopyModel(options.n, options.d, weights=(1, 100))
            mgraph.generate(folder, model, backend="cpu", progress=None)
    sources = np.random.default_rng(1).integers(0, options.n, SOURCES).tolist()
    one, rounds, sums, built = seconds_over(1, folder, sources)
    print(f"one worker: {one:.2f} s, {rounds} rounds; built in {built:.1f} s", flush=True)
    many, rounds, others, built = seconds_over(options.workers, folder, sources)
    assert others == sums
    print(
        f"{options.workers} workers: {many:.2f} s, {rounds} rounds, {one / many:.2f} times as "
        f"fast; built in {built:.1f} s",
        flush=True,
    )
    graph = mgraph.read_graph(folder, backend="cpu")
    mgraph.sssp(graph, sources[0], backend="cpu", predecessors=True)
    times, found = [], []
    for source in sources:
        began = time.perf_counter()
        paths = mgraph.sssp(graph, source, backend="cpu", predecessors=True)
        times.append(time.perf_counter() - began)
        found.append(int(paths.distance.sum()))
    assert found == sums
    alone = statistics.median(times)
    print(f"mgraph.sssp on one core: {alone:.2f} s, {alone / many:.2f} times as long", flush=True)


if __name__ == "__main__":
    main()
