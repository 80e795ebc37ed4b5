"""Figures of the heap on a GPU, as they stand in heap/BENCHMARKS.md.

    python -m tests.benchmarks.heap_gpu sort [--keys 536870912]     all in, then all out
    python -m tests.benchmarks.heap_gpu mixed [--pairs 262144]      an insertion, a deletion, …

int32 keys in device memory; 1,024 a node and 512 threads a block. Both heaps are timed, and the
synchronous one, whose time in `mixed` is that beyond filling it. Medians of five by the clock,
after the device is done; what comes out is checked.
"""

import argparse
import statistics
import time

import numpy as np

from mgraph.heap import BatchHeap, synchronous_heap_gpu

NODE = 1024
WAYS = ("top_down", "bottom_up")
REPEATS = 5


def timed(action, *arguments):
    import cupy

    cupy.cuda.Device().synchronize()
    began = time.perf_counter()
    found = action(*arguments)
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - began, found


def told(what, seconds, operations=0):
    rate = f", {operations / seconds / 1e6:.3f}e6 operations/s" if operations else ""
    print(f"{what}: {seconds:.3f} s{rate}", flush=True)


def sort(arguments):
    import cupy

    for kind in arguments.kinds:
        keys = cupy.random.default_rng(1).integers(0, 1 << 31, arguments.keys, np.int32)
        expected = cupy.sort(keys)
        if kind != "random":
            keys = expected[:: 1 if kind == "ascending" else -1].copy()
        for insert in WAYS:
            pushes, pops = [], []
            for _ in range(arguments.repeats):
                heap = BatchHeap("int32", insert=insert, backend="gpu", blocks=arguments.blocks)
                heap._heap.make_room(keys.size)
                pushes.append(timed(heap.push, keys)[0])
                seconds, found = timed(heap.pop, keys.size)
                pops.append(seconds)
                assert bool((found == expected).all())
                del heap, found
                cupy.get_default_memory_pool().free_all_blocks()
            pushed, popped = statistics.median(pushes), statistics.median(pops)
            what = f"{kind:10} {insert:11} {keys.size:>12,} keys"
            told(f"{what}: in {pushed:.3f} s, out {popped:.3f} s", pushed + popped)
        words = cupy.sort(keys.view(np.uint32).reshape(-1, NODE), axis=1).ravel()
        sizes = cupy.zeros(2 * keys.size // NODE, np.uint32)
        sizes[: keys.size // NODE] = 1
        seconds, found = synchronous(sizes, words, arguments.repeats)
        assert bool((found[keys.size :] == expected.view(np.uint32)).all())
        told(f"{kind:10} synchronous {keys.size:>12,} keys", seconds)


def synchronous(sizes, keys, repeats):
    """The median time of the synchronous heap, and what it leaves in place of the keys."""
    import cupy

    times = []
    for _ in range(repeats):
        both = cupy.zeros(sizes.size * NODE, np.uint32)
        both.reshape(-1, NODE)[sizes > 0] = keys.reshape(-1, NODE)
        times.append(timed(synchronous_heap_gpu.run, sizes, both, NODE)[0])
    return statistics.median(times), both


def mixed(arguments):
    import cupy

    random = cupy.random.default_rng(1)
    sizes = cupy.zeros(2 * arguments.pairs, np.uint32)
    sizes[::2] = NODE
    for levels in arguments.levels:
        filling = random.integers(0, 1 << 31, NODE << levels, np.int32)
        keys = random.integers(0, 1 << 31, sizes.size * NODE, np.uint32)
        for insert in WAYS:
            times = []
            for _ in range(arguments.repeats):
                heap = BatchHeap("int32", insert=insert, backend="gpu", blocks=arguments.blocks)
                heap.push(filling)
                inside = heap._heap
                inside.make_room(NODE * (arguments.pairs + (1 << levels)))
                record = cupy.zeros((sizes.size, 6), np.uint64)
                arrays = np.int32(insert == "bottom_up"), cupy.zeros(1, np.uint64), record
                seconds, _ = timed(
                    inside._launch, "batch_heap_history", sizes.size * NODE, sizes,
                    np.uint64(sizes.size), keys.copy(), 0, *arrays,
                )  # fmt: skip
                assert bool(record[:, 2].all())
                times.append(seconds)
                del heap, inside
            told(f"2^{levels:<2} nodes {insert:11}", statistics.median(times), sizes.size)
        first = cupy.sort(filling.view(np.uint32).reshape(-1, NODE), axis=1).ravel()
        more = cupy.sort(keys.reshape(-1, 2, NODE)[:, 0], axis=1).ravel()
        full = cupy.full(1 << levels, NODE, np.uint32)
        alone, _ = synchronous(full, first, arguments.repeats)
        both, _ = synchronous(
            cupy.concatenate([full, sizes]), cupy.concatenate([first, more]), arguments.repeats
        )
        told(f"2^{levels:<2} nodes synchronous", both - alone, sizes.size)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["sort", "mixed"])
    parser.add_argument("--keys", type=int, default=1 << 29)
    parser.add_argument("--pairs", type=int, default=1 << 18)
    parser.add_argument("--blocks", type=int, help="at most, of the concurrent heap")
    parser.add_argument("--kinds", nargs="*", default=["random", "ascending", "descending"])
    parser.add_argument("--levels", nargs="*", type=int, default=range(6, 19, 2))
    parser.add_argument("--repeats", type=int, default=REPEATS)
    arguments = parser.parse_args()
    globals()[arguments.what](arguments)


if __name__ == "__main__":
    main()
