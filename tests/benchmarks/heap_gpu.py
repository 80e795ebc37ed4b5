"""Figures of the heap on a GPU, as they stand in heap/BENCHMARKS.md.

    python -m tests.benchmarks.heap_gpu sort [--keys 536870912]     all in, then all out
    python -m tests.benchmarks.heap_gpu mixed [--pairs 262144]      an insertion, a deletion, …

Random int32 keys in device memory; 1,024 a node and 512 threads a block. Medians of five by the
clock, after the device is done; what comes out is checked.
"""

import argparse
import statistics
import time

import numpy as np

from mgraph.heap import BatchHeap

WAYS = ("top_down", "bottom_up")
REPEATS = 5


def timed(action, *arguments):
    import cupy

    cupy.cuda.Device().synchronize()
    began = time.perf_counter()
    found = action(*arguments)
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - began, found


def sort(arguments):
    import cupy

    for kind in ("random", "ascending", "descending"):
        keys = cupy.random.default_rng(1).integers(0, 1 << 31, arguments.keys, np.int32)
        expected = cupy.sort(keys)
        if kind != "random":
            keys = expected[:: 1 if kind == "ascending" else -1].copy()
        for insert in WAYS:
            times = []
            for _ in range(arguments.repeats):
                heap = BatchHeap("int32", insert=insert, backend="gpu", blocks=arguments.blocks)
                heap._heap.make_room(keys.size)
                pushed, _ = timed(heap.push, keys)
                popped, found = timed(heap.pop, keys.size)
                assert bool((found == expected).all())
                times.append((pushed, popped))
                del heap, found
                cupy.get_default_memory_pool().free_all_blocks()
            pushed, popped = (statistics.median(column) for column in zip(*times, strict=True))
            print(f"{kind:10} {insert:9} {keys.size:>12,} keys: in {pushed:7.3f} s, out "
                  f"{popped:7.3f} s, {pushed + popped:7.3f} s", flush=True)  # fmt: skip


def mixed(arguments):
    import cupy

    node = 1024
    for levels in range(6, 19, 2):
        for insert in WAYS:
            times = []
            for _ in range(arguments.repeats):
                heap = BatchHeap("int32", insert=insert, backend="gpu", blocks=arguments.blocks)
                inside = heap._heap
                random = cupy.random.default_rng(1)
                heap.push(random.integers(0, 1 << 31, node << levels, np.int32))
                inside.make_room((node << levels) + node * arguments.pairs)
                sizes = cupy.zeros(2 * arguments.pairs, np.uint32)
                sizes[::2] = node
                keys = random.integers(0, 1 << 31, sizes.size * node, np.uint32)
                record = cupy.zeros((sizes.size, 6), np.uint64)
                taken, below = cupy.zeros(1, np.uint64), np.int32(insert == "bottom_up")
                launch = (
                    "batch_heap_history", sizes.size * node, sizes, np.uint64(sizes.size), keys, 0,
                    below, taken, record,
                )  # fmt: skip
                seconds, _ = timed(inside._launch, *launch)
                assert bool(record[:, 2].all())
                times.append(seconds)
                del heap, inside, keys, launch
            seconds = statistics.median(times)
            rate = sizes.size / seconds / 1e6
            print(f"2^{levels:<2} nodes {insert:9} {arguments.pairs:,} pairs: {seconds:.3f} s, "
                  f"{rate:.3f}e6 operations/s", flush=True)  # fmt: skip


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["sort", "mixed"])
    parser.add_argument("--keys", type=int, default=1 << 29)
    parser.add_argument("--pairs", type=int, default=1 << 18)
    parser.add_argument("--blocks", type=int)
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    globals()[arguments.what](arguments)


if __name__ == "__main__":
    main()
