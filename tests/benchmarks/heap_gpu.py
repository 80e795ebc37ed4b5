"""Figures of the heap on a GPU, as they stand in heap/BENCHMARKS.md.

    python -m tests.benchmarks.heap_gpu sort [--keys 536870912]     all in, then all out
    python -m tests.benchmarks.heap_gpu mixed [--pairs 262144]      an insertion, a deletion, …
    python -m tests.benchmarks.heap_gpu sequential [--keys …]       one core: std::priority_queue

int32 keys in device memory; 1,024 a node and 512 threads a block. Medians by the clock, after the
device is done; what comes out is checked. The synchronous heap's time in `mixed` is that beyond
filling it.
"""

import argparse
import subprocess
import tempfile
from pathlib import Path

from mgraph.experiments import heap_pair_seconds, heap_seconds
from mgraph.experiments.heap_timing import ON_GPU, ORDERS

HERE = Path(__file__).parent


def how(arguments):
    return {
        "block_threads": arguments.threads,
        "blocks": arguments.blocks,
        "node": arguments.node,
        "repeats": arguments.repeats,
    }


def sort(arguments):
    for order in arguments.orders:
        for heap in arguments.heaps:
            push, pop = heap_seconds(heap, arguments.keys, order=order, **how(arguments))
            print(f"{order:10} {heap:11} {arguments.keys:,} keys: in {push:.3f} s, out {pop:.3f} "
                  f"s, {push + pop:.3f} s", flush=True)  # fmt: skip


def mixed(arguments):
    for levels in arguments.levels:
        for heap in arguments.heaps:
            seconds = heap_pair_seconds(heap, 1 << levels, arguments.pairs, **how(arguments))
            rate = 2 * arguments.pairs / seconds / 1e6
            print(f"2^{levels:<2} nodes {heap:11} {arguments.pairs:,} pairs: {seconds:.3f} s, "
                  f"{rate:.3f}e6 operations/s", flush=True)  # fmt: skip


def sequential(arguments):
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/priority_queue"
        source = HERE / "priority_queue.cpp"
        subprocess.run(["g++", "-O3", "-march=native", "-o", program, source], check=True)
        subprocess.run([program, str(arguments.keys)], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["sort", "mixed", "sequential"])
    parser.add_argument("--keys", type=int, default=1 << 29)
    parser.add_argument("--pairs", type=int, default=1 << 18)
    parser.add_argument("--blocks", type=int, help="at most, of the concurrent heap")
    parser.add_argument("--threads", type=int, default=512, help="a block")
    parser.add_argument("--node", type=int, default=1024, help="keys")
    parser.add_argument("--heaps", nargs="*", default=ON_GPU)
    parser.add_argument("--orders", nargs="*", default=ORDERS)
    parser.add_argument("--levels", nargs="*", type=int, default=range(6, 19, 2))
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    globals()[arguments.what](arguments)


if __name__ == "__main__":
    main()
