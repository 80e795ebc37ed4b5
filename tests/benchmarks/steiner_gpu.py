"""Figures of Steiner trees on GPUs, for steiner/BENCHMARKS.md.

    python -m tests.benchmarks.steiner_gpu single MAKER NAME … [--k 2,4] [--samples 10]
        [--searches auto,edge] [--at-once 512] [--kept FILE]  the reference on one core, and a GPU
        that solves one query at a time, or many at once
    python -m tests.benchmarks.steiner_gpu reference MAKER NAME … --kept FILE [--k 8] [--samples 1]
        the reference alone, where it takes minutes; ``single`` then finds it in FILE
    python -m tests.benchmarks.steiner_gpu many MAKER NAME [--k 8] [--samples 1000]
        queries per second for each number of queries at a time
    python -m tests.benchmarks.steiner_gpu scaling MAKER NAME FOLDER GPUS   queries over a cluster

MAKER is a Python file with ``make(name, xp)``, which returns indptr, indices and weights of an
undirected graph. Queries are drawn as the paper on STAR draws them. Times are the host's, from the
call to the tree, warm, the graph ready on either side: of a query the median of five on a GPU, and
a single one on a core, where it takes seconds.
"""

import argparse
import json
import pathlib
import statistics
import time

import numpy as np

import mgraph
from mgraph.steiner.sampling import sample
from tests.benchmarks.makers import made

GPU_REPEATS = 5
LONG = 10.0  # seconds for many queries at once, from which on they are not repeated


def timed(call):
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def query_seconds(graph, terminals, repeats, **options):
    """Return the median time of a query, and its tree."""
    runs = [
        timed(lambda: mgraph.steiner_tree(graph, terminals, method="star", **options))
        for _ in range(repeats)
    ]
    return statistics.median(seconds for seconds, _ in runs), runs[0][1]


def all_seconds(graph, queries, repeats=GPU_REPEATS, **options):
    """Return the median time of all queries at once, and their trees."""

    def solve():
        return dict(mgraph.steiner_trees(graph, queries, method="star", **options))

    runs = [timed(solve) for _ in range(repeats)]
    return statistics.median(seconds for seconds, _ in runs), runs[0][1]


def reference(name, graph, k, queries, kept=None):
    """Return the reference's seconds and costs, from the file ``kept`` or measured and kept."""
    key = f"{name} {k} {len(queries)}"
    file = pathlib.Path(kept) if kept else None
    known = json.loads(file.read_text()) if file and file.exists() else {}
    if key not in known:
        mgraph.steiner_tree(graph, queries[0][:2], method="star", backend="cpu")
        runs = [query_seconds(graph, query, 1, backend="cpu") for query in queries]
        known[key] = [seconds for seconds, _ in runs], [tree.cost for _, tree in runs]
        if file:
            file.write_text(json.dumps(known))
    return known[key]


def compared(name, on_cpu, on_gpu, sizes, samples, searches, at_once=0, kept=None):
    """Print one row per size and search: the reference, one at a time, many at once.

    The reference and one at a time solve the same queries, which are the first of those at once.
    """
    print(
        "| graph | k | search | reference, ms | one at a time, ms | times | at once, ms | times |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for k in sizes:
        queries = sample(on_cpu, [(k, max(samples, at_once))], seed=1)
        first = queries[:samples]
        seconds, costs = reference(name, on_cpu, k, first, kept)
        mean = 1000 * statistics.mean(seconds)
        for search in searches:
            options = {"backend": "gpu", "search": search}
            mgraph.steiner_tree(on_gpu, first[0], method="star", **options)
            repeats = GPU_REPEATS if search == "auto" else 1
            runs = [query_seconds(on_gpu, query, repeats, **options) for query in first]
            each = 1000 * statistics.mean(seconds for seconds, _ in runs)
            assert costs == [tree.cost for _, tree in runs], (name, k, search)
            row = f"| {name} | {k} | {search} | {mean:.4g} | {each:.3g} | {mean / each:.3g} |"
            if search == "auto" and at_once:
                seconds, trees = all_seconds(on_gpu, queries, 1, **options)
                if seconds < LONG:
                    seconds, trees = all_seconds(on_gpu, queries, **options)
                assert costs == [trees[i].cost for i in range(samples)], (name, k, "at once")
                each = 1000 * seconds / len(queries)
                row += f" {each:.3g} | {mean / each:.4g} |"
            print(row, flush=True)


def single(options):
    for name in options.names:
        on_gpu, _ = made(options.maker, name, "gpu")
        searches = options.searches.split(",")
        on_cpu = on_gpu.to_cpu()
        compared(
            name, on_cpu, on_gpu, options.k, options.samples, searches, options.at_once,
            options.kept,
        )  # fmt: skip


def keep_reference(options):
    for name in options.names:
        graph, _ = made(options.maker, name, "cpu")
        for k in options.k:
            queries = sample(graph, [(k, options.samples)], seed=1)
            seconds, costs = reference(name, graph, k, queries, options.kept)
            print(f"{name}, k = {k}: {seconds} s, costs {costs}", flush=True)


def many(options):
    (name,) = options.names
    graph, _ = made(options.maker, name, "gpu")
    for k in options.k:
        queries = sample(graph, [(k, options.samples)], seed=1)
        mgraph.steiner_tree(graph, queries[0], backend="gpu")
        seconds, _ = timed(
            lambda queries=queries: [
                mgraph.steiner_tree(graph, query, backend="gpu") for query in queries[:100]
            ]
        )
        print(f"{name}, k = {k}, one at a time: {100 / seconds:.0f} queries/s", flush=True)
        for concurrency in (1, 16, 64, 132, 264, 528, 1024):
            batches = {"backend": "gpu", "concurrency": concurrency}
            list(mgraph.steiner_trees(graph, queries[: 2 * concurrency], method="star", **batches))
            seconds, _ = all_seconds(graph, queries, **batches)
            print(f"{concurrency} at a time: {options.samples / seconds:.0f} queries/s", flush=True)


def scaling(options):
    (name,) = options.names
    graph, _ = made(options.maker, name, "gpu")
    k, gpus = options.k[0], options.gpus
    mgraph.write_graph(graph.to_cpu(), f"{options.folder}/{name}")
    del graph
    base = None
    for workers in (1, 2, 4, 8):
        if workers > gpus:
            break
        rates = []
        with mgraph.connect(
            workers=workers, backend="gpu", threaded=True, dashboard=":0"
        ) as cluster:
            for _ in range(4):
                run = mgraph.steiner_many(
                    f"{options.folder}/{name}", sample=[(k, options.samples)], method="star",
                    cluster=cluster, progress=None,
                )  # fmt: skip
                rates.append(options.samples / run.solve_seconds)
        rate = statistics.median(rates[1:])
        base = base or rate
        print(
            f"{workers} GPUs: {rate:.0f} queries/s, {rate / base / workers:.1%} of linear",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(required=True)
    for verb in (single, keep_reference, many, scaling):
        command = verbs.add_parser("reference" if verb is keep_reference else verb.__name__)
        command.set_defaults(run=verb)
        command.add_argument("maker")
        command.add_argument("names", nargs="+" if verb in (single, keep_reference) else 1)
        if verb is scaling:
            command.add_argument("folder")
            command.add_argument("gpus", type=int)
        command.add_argument("--k", type=lambda text: [int(k) for k in text.split(",")],
                         default=[8] if verb in (many, scaling) else [2, 4, 8, 16])  # fmt: skip
        command.add_argument("--samples", type=int, default=1000 if verb in (many, scaling) else 10)
        command.add_argument("--searches", default="auto")
        command.add_argument("--at-once", type=int, default=512)
        command.add_argument("--kept", help="a file for the reference's times")
    options = parser.parse_args()
    options.run(options)


if __name__ == "__main__":
    np.seterr(all="ignore")
    main()
