"""Figures of knapsacks on a GPU and on one core, for knapsacks/BENCHMARKS.md.

    python -m tests.benchmarks.knapsack_gpu FILE … [--repeats 5] [--time-limit 60] [--keys bound]

Branch and bound on the GPU (medians, warm), without collecting and with it, and on one core of the
same machine (once if it takes long), and the dynamic program. Each profit is compared with the
dynamic program's optimum. "-" stands for a search that the time limit ended.
"""

import argparse
import statistics
import time

import mgraph
from mgraph import OutOfMemoryError

LONG = 10  # seconds, after which there are no further measurements


def measure(instance, repeats, **options):
    """Return the last result and the median seconds; (None, None) if memory ran out."""
    seconds: list[float] = []
    try:
        while len(seconds) < repeats + 1 and sum(seconds) < LONG:
            begun = time.perf_counter()
            result = mgraph.knapsack(
                instance.profits, instance.weights, instance.capacity, **options
            )
            seconds.append(time.perf_counter() - begun)
    except OutOfMemoryError:
        return None, None
    return result, statistics.median(seconds[1:] or seconds)


def print_row(file, arguments):
    instance = mgraph.KnapsackInstance.read(file)
    best, program = measure(instance, 1, method="dynamic_program")
    cells: list[str] = []
    times: dict[str, float | None] = {}
    for key in arguments.keys:
        for name, options in (
            ("gpu", {"backend": "gpu", "collect": False}),
            ("collected", {"backend": "gpu"}),
            ("cpu", {"backend": "cpu"}),
        ):
            options = {"time_limit": arguments.time_limit, "key": key, **options}
            result, seconds = measure(
                instance, arguments.repeats, method="branch_and_bound", **options
            )
            optimal = result is not None and result.optimal
            assert not optimal or best is None or result.profit == best.profit
            nodes = f"{result.nodes:,}" if result else "no memory"
            cells.append(f"{nodes} | {f'{seconds:.3f}' if optimal else '-'}")
            times[name] = seconds if optimal else None
    ratio = times["cpu"] / times["collected"] if times["cpu"] and times["collected"] else 0
    name = file.split("/")[-1]
    print(f"| {name} | {' | '.join(cells)} | {f'{ratio:.1f}' if ratio else '-'} | "
          f"{f'{program:.3f}' if program else '-'} |", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--time-limit", type=float, default=60)
    parser.add_argument("--keys", nargs="*", default=["bound"])
    arguments = parser.parse_args()
    mgraph.knapsack([1], [1], 1, method="branch_and_bound", backend="cpu")  # compiles
    for file in arguments.files:
        print_row(file, arguments)


if __name__ == "__main__":
    main()
