"""Shortest paths with a heap and without, as in the paper's table 3: for BENCHMARKS.md.

    python -m tests.benchmarks.heap_search_gpu MAKER NAME … [--thresholds 10000 100000]

MAKER and NAME as tests.benchmarks.sssp_gpu has them. Milliseconds of a search, distances in device
memory: medians of seven by device events, warm; vertices expanded, by the trace. near_far takes its
default step, and the fastest of fifteen.
"""

import argparse
import statistics

import numpy as np

from mgraph.shortest_paths import heap_search_gpu
from mgraph.shortest_paths.problem import infinity_of
from mgraph.shortest_paths.trace import FIELDS
from tests.benchmarks.makers import made
from tests.benchmarks.sssp_gpu import FACTORS, REPEATS, Bench

X1, X2 = FIELDS.index("x1"), FIELDS.index("x2")
NEVER = 1 << 32


def milliseconds(run):
    import cupy

    times = []
    for _ in range(REPEATS + 1):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        run()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end))
    return statistics.median(times[1:])


def near_far(bench, factor):
    """Milliseconds, vertices expanded, arcs, iterations."""
    how = {"delta": factor * bench.unit}
    found = bench.run(trace_rows=50_000, **how)
    count = int(found.iterations[0])
    done = found.trace[1 : count + 1].get()
    return bench.milliseconds(**how), done[:, X1].sum(), done[:, X2].sum(), count


def with_heap(bench, threshold):
    """The same."""
    import cupy

    searcher = heap_search_gpu.Searcher(bench.graph, bench.length, threshold)
    asked = {
        "targets": cupy.zeros(0, np.int32),
        "first_target": False,
        "cutoff": infinity_of(bench.length) - 1,
    }
    row = bench.distance[0]
    iterations, trace = searcher.run(bench.sources[0], row, trace_rows=1 << 17, **asked)
    done = heap_search_gpu.rows_of(trace, iterations)
    took = milliseconds(lambda: searcher.run(bench.sources[0], row, **asked))
    return took, done[:, X1].sum(), done[:, X2].sum(), len(done)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("maker")
    parser.add_argument("names", nargs="+")
    parser.add_argument("--thresholds", nargs="*", type=int, default=[10_000, 100_000])
    arguments = parser.parse_args()
    import cupy

    for name in arguments.names:
        bench = Bench(*made(arguments.maker, name, "gpu"))
        print(f"{name}: {bench.graph}", flush=True)
        sums = set()

        def told(what, found, sums=sums, bench=bench):
            took, vertices, arcs, iterations = found
            sums.add(bench.checksum())
            print(f"  {what:18} {took:9.2f} ms, {vertices / 1e6:8.2f}e6 vertices, "
                  f"{arcs / 1e6:8.1f}e6 arcs, {iterations:,} iterations", flush=True)  # fmt: skip

        told("near_far, default", near_far(bench, 1))
        swept = {factor: bench.milliseconds(3, delta=factor * bench.unit) for factor in FACTORS}
        best = min(swept, key=swept.get)
        told(f"near_far, {best:g} x", near_far(bench, best))
        for threshold in (NEVER, *arguments.thresholds):
            what = "frontier alone" if threshold == NEVER else f"heap, {threshold:,}"
            told(what, with_heap(bench, threshold))
        assert len(sums) == 1, sums
        del bench
        cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
