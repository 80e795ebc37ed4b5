"""Shortest paths with a heap and without, as in the paper's table 3, for BENCHMARKS.md.

    python -m tests.benchmarks.heap_search_gpu MAKER NAME … [--thresholds 10000]

MAKER and NAME as tests.benchmarks.sssp_gpu has them. Milliseconds of a search, distances in device
memory: medians of seven by device events, warm; vertices expanded and arcs, by the trace. near_far
takes its default step, and the fastest of fifteen; the frontier takes an unbounded step.
"""

import argparse

from mgraph.shortest_paths.near_far_gpu import THREADS, Searcher
from mgraph.shortest_paths.trace import FIELDS
from tests.benchmarks.makers import made
from tests.benchmarks.sssp_gpu import FACTORS, Bench

X1, X2 = FIELDS.index("x1"), FIELDS.index("x2")
NO_STEP = {"delta": 1e9}


def report(name, bench, **options):
    """Print the time and the work of a search; return the checksum of its distances."""
    launched = bench.run(trace_rows=50_000, **options)
    iterations = int(launched.iterations[0])
    rows = launched.trace[1 : iterations + 1].get()
    vertices, arcs = rows[:, X1].sum() / 1e6, rows[:, X2].sum() / 1e6
    print(f"  {name:22} {bench.milliseconds(**options):9.2f} ms, {vertices:8.2f}e6 vertices, "
          f"{arcs:8.1f}e6 arcs, {iterations:,} iterations", end="")  # fmt: skip
    if bench.searcher.heaps:
        operations = int(bench.searcher.heap_operations.sum())
        print(f", {operations:,} operations on heaps of {THREADS:,}", end="")
    print(flush=True)
    return bench.checksum()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("maker")
    parser.add_argument("names", nargs="+")
    parser.add_argument("--thresholds", nargs="*", type=int, default=[10_000])
    arguments = parser.parse_args()
    import cupy

    for name in arguments.names:
        bench = Bench(*made(arguments.maker, name, "gpu"))
        print(f"{name}: {bench.graph}", flush=True)
        swept = {factor: bench.milliseconds(3, delta=factor * bench.unit) for factor in FACTORS}
        best = min(swept, key=swept.get)
        sums = {
            report("frontier", bench, **NO_STEP),
            report("near_far, default", bench, delta=bench.unit),
            report(f"near_far, {best:g} times it", bench, delta=best * bench.unit),
        }
        plain, heaps = bench.searcher, Searcher(bench.graph, bench.length, heaps=True)
        degree = bench.graph.num_arcs / bench.graph.n
        for many in (None, *arguments.thresholds):
            aim = {"set_point": many * degree if many else None}
            bench.searcher = plain
            sums.add(report(f"self_tuning, {many or 'default'}", bench, **aim))
            bench.searcher = heaps
            sums.add(report(f"heap, {many or 'default'}", bench, **aim))
        assert len(sums) == 1, sums
        del bench, plain, heaps
        cupy.get_default_memory_pool().free_all_blocks()


if __name__ == "__main__":
    main()
