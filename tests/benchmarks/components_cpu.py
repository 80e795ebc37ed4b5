"""Connected components on cores: a dataset over workers, reading alone, and SciPy.

    python -m tests.benchmarks.components_cpu FOLDER N D WORKERS

Generates preferential attachment of N vertices and D edges per vertex once. Each worker has one
core. SciPy gets the graph in memory: its time is that of the call alone.
"""

import argparse
import os
import statistics
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import mgraph
from mgraph import CopyModel

REPEATS = 3


def seconds(call):
    """Return the median of some calls' seconds, and the last result."""
    times = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        result = call()
        times.append(time.perf_counter() - began)
    return statistics.median(times), result


def read_all(dataset, threads):
    """Read every block of a dataset, without weights."""

    def read(job):
        part, group = job
        return sum(len(block) for block in part.blocks(group))

    parts = [part.without_weights() for part in dataset]
    jobs = [(part, group) for part in parts for group in range(len(part.row_groups().rows))]
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(read, jobs))


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder")
    for number in ("n", "d", "workers"):
        parser.add_argument(number, type=int)
    options = parser.parse_args(arguments)
    folder = os.path.join(options.folder, f"graph-{options.n}-{options.d}")
    with mgraph.connect(workers=options.workers, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        if not os.path.exists(os.path.join(folder, "_manifest.json")):
            model = CopyModel(options.n, options.d)
            mgraph.generate(folder, model, cluster=cluster, progress=None)
        dataset = mgraph.open_dataset(folder)
        reading, rows = seconds(lambda: read_all(dataset, options.workers))
        mgraph.components_dataset(folder, cluster=cluster, progress=None)  # compiles
        over_cluster, run = seconds(
            lambda: mgraph.components_dataset(folder, cluster=cluster, progress=None)
        )
    print(
        f"{rows:,} edges, {options.workers} workers: {over_cluster:.2f} s, reading alone "
        f"{reading:.2f} s, {over_cluster / reading:.1f} times; {run}",
        flush=True,
    )
    if rows > 2e8:
        return  # too large for SciPy beside it
    from scipy.sparse.csgraph import connected_components

    graph = mgraph.read_graph(folder, backend="cpu")
    in_memory, found = seconds(lambda: mgraph.connected_components(graph, backend="cpu"))
    matrix = graph.to_sparse()
    began = time.perf_counter()
    count, labels = connected_components(matrix, directed=False)
    scipy_seconds = time.perf_counter() - began
    assert count == found.num_components == run.num_components
    assert np.unique(labels).size == count
    print(f"in memory {in_memory:.3f} s, SciPy {scipy_seconds:.2f} s", flush=True)


if __name__ == "__main__":
    main()
