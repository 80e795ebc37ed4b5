"""Figures of the heap on a GPU, for heap/BENCHMARKS.md.

    python -m tests.benchmarks.heap_gpu sort [--keys 536870912]     all keys in, then all out
    python -m tests.benchmarks.heap_gpu mixed [--pairs 262144]      pairs of insertion and deletion
    python -m tests.benchmarks.heap_gpu relaxed [--keys …]          several heaps as one queue
    python -m tests.benchmarks.heap_gpu histories [--count 20000]   those not linearizable
    python -m tests.benchmarks.heap_gpu sequential [--keys …]       one core: std::priority_queue

int32 keys in device memory; 1,024 per node and 512 threads per block. Medians of wall-clock times,
once the device has finished; the keys that come out are checked. The synchronous heap's time in
`mixed` excludes filling it.
"""

import argparse
import subprocess
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np

from mgraph.experiments import heap_pair_seconds, heap_seconds, multi_heap_seconds
from mgraph.experiments.heap_timing import GPU_HEAPS, ORDERS
from mgraph.heap.batch_heap import INSERTIONS
from tests.heap.histories import run_on_gpu

HERE = Path(__file__).parent


def heap_options(arguments):
    return {
        "block_threads": arguments.threads,
        "blocks": arguments.blocks,
        "node": arguments.node,
        "repeats": arguments.repeats,
    }


def sort(arguments):
    for order in arguments.orders:
        for heap in arguments.heaps:
            push, pop = heap_seconds(heap, arguments.keys, order=order, **heap_options(arguments))
            print(f"{order:10} {heap:11} {arguments.keys:,} keys: in {push:.3f} s, out {pop:.3f} "
                  f"s, {push + pop:.3f} s", flush=True)  # fmt: skip


def mixed(arguments):
    for levels in arguments.levels:
        for heap in arguments.heaps:
            options = heap_options(arguments)
            seconds = heap_pair_seconds(heap, 1 << levels, arguments.pairs, **options)
            rate = 2 * arguments.pairs / seconds / 1e6
            print(f"2^{levels:<2} nodes {heap:11} {arguments.pairs:,} pairs: {seconds:.3f} s, "
                  f"{rate:.3f}e6 operations/s", flush=True)  # fmt: skip


def relaxed(arguments):
    for heaps in arguments.counts:
        seconds = multi_heap_seconds(
            heaps, arguments.keys, node=arguments.node, repeats=arguments.repeats
        )
        print(f"{heaps:3} heaps, {arguments.keys:,} keys: in {seconds.push:.3f} s, out "
              f"{seconds.pop:.3f} s, mean rank error {seconds.rank_error:,.0f} keys",
              flush=True)  # fmt: skip


def histories(arguments):
    """Random histories of inserting and deleting at a time, replayed one operation at a time."""
    for insert in INSERTIONS:
        rng = np.random.default_rng(4)
        kinds = Counter(run_on_gpu(rng, insert) for _ in range(arguments.count))
        broken = sum(heap is not None for heap, _ in kinds.elements())
        wrong = sum(history is not None for _, history in kinds.elements())
        print(f"{insert:15} {arguments.count:,} histories: {wrong} not linearizable, {broken} "
              "leave a heap without the heap property", flush=True)  # fmt: skip


def sequential(arguments):
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/priority_queue"
        source = HERE / "priority_queue.cpp"
        subprocess.run(["g++", "-O3", "-march=native", "-o", program, source], check=True)
        for order in arguments.orders:
            subprocess.run([program, str(arguments.keys), order], check=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "benchmark", choices=["sort", "mixed", "relaxed", "histories", "sequential"]
    )
    parser.add_argument("--keys", type=int, default=1 << 29)
    parser.add_argument("--pairs", type=int, default=1 << 18)
    parser.add_argument("--blocks", type=int, help="maximum, for the concurrent heap")
    parser.add_argument("--threads", type=int, default=512, help="per block")
    parser.add_argument("--node", type=int, default=1024, help="keys per node")
    parser.add_argument("--heaps", nargs="*", default=GPU_HEAPS)
    parser.add_argument("--orders", nargs="*", default=ORDERS)
    parser.add_argument("--levels", nargs="*", type=int, default=range(6, 19, 2))
    parser.add_argument("--counts", nargs="*", type=int, default=[1, 2, 4, 8, 16, 32, 64])
    parser.add_argument("--count", type=int, default=20_000, help="histories")
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    globals()[arguments.benchmark](arguments)


if __name__ == "__main__":
    main()
