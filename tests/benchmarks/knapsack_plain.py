"""The paper's branch and bound beside mgraph's, on its twelve instances, for BENCHMARKS.md.

    python -m tests.benchmarks.knapsack_plain [--seconds 10] [--number 100] [--only GPU]

The types, sizes and ranges are those of the paper's table 4; the number in a series of 1,000, from
which the capacity follows, is not in the paper. One core, and a GPU if there is one, the second of
two runs. A search that does not end in the given seconds is marked by >, with its best profit
compared to the optimum.
"""

import argparse

from mgraph import OutOfMemoryError, experiments, knapsack
from mgraph.core.backend import gpu_count

WAYS = {
    "plain": {"method": "plain_branch_and_bound", "backend": "cpu", "collect": False},
    "plain, collecting": {"method": "plain_branch_and_bound", "backend": "cpu"},
    "mgraph": {"method": "branch_and_bound", "backend": "cpu"},
    "dynamic program": {"method": "dynamic_program"},
    "GPU plain": {"method": "plain_branch_and_bound", "backend": "gpu", "collect": False},
    "GPU plain, collecting": {"method": "plain_branch_and_bound", "backend": "gpu"},
    "GPU mgraph": {"method": "branch_and_bound", "backend": "gpu"},
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--number", type=int, default=100)
    parser.add_argument("--only", default="", help="the ways whose names contain this")
    parser.add_argument("--tiny", action="store_true")
    options = parser.parse_args()
    for kind, items, limit, *_ in experiments.HEAP_PAPER_KNAPSACKS.values():
        items, limit = (20, 50) if options.tiny else (items, limit)
        instance = experiments.pisinger_instance(kind, items, limit, options.number)
        best = knapsack(instance.profits, instance.weights, instance.capacity).profit
        cells = []
        for name, way in WAYS.items():
            if options.only not in name or (way.get("backend") == "gpu" and not gpu_count()):
                continue
            arguments = instance.profits, instance.weights, instance.capacity
            try:
                for _ in range(2):
                    found = knapsack(*arguments, time_limit=options.seconds, **way)
                    if not found.optimal:
                        break
            except OutOfMemoryError:
                cells.append(f"{name}: more memory than there is")
                continue
            sign = "" if found.optimal else ">"
            missing = f", {best - found.profit:,} short" if found.profit < best else ""
            cells.append(f"{name} {sign}{found.seconds:.3f} s, {found.nodes:,} nodes{missing}")
        print(f"{kind} {items} {limit}: " + "; ".join(cells), flush=True)


if __name__ == "__main__":
    main()
