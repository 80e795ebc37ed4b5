"""How long heaps take: all keys in and out again, or pairs of an insertion and a deletion.

Source: section 5 of "Accelerating concurrent heap on GPUs", table 1 and figures 13 to 19.
"""

import statistics
import time
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import backend as backends
from mgraph.core.choices import check_choice
from mgraph.errors import DeviceError, UsageError
from mgraph.heap.batch_heap import MOST_KEYS_A_NODE, BatchHeap, check_shape

ON_GPU = ("bottom_up", "top_down", "synchronous")
HEAPS = (*ON_GPU, "batch", "sequential")
ORDERS = ("random", "ascending", "descending")
LARGEST = (1 << 31) - 2


class HeapSeconds(NamedTuple):
    """Seconds to put all keys in, and to take all out."""

    push: float
    pop: float


def heap_seconds(
    heap: str,
    keys: int,
    *,
    order: str = "random",
    full: float = 1.0,
    node: int = MOST_KEYS_A_NODE,
    block_threads: int = 512,
    blocks: int | None = None,
    repeats: int = 5,
) -> HeapSeconds:
    """Put int32 keys into an empty heap, batch after batch, then take all out: medians.

    heap: ``bottom_up`` or ``top_down``, the concurrent heap on a GPU by its insertion;
    ``synchronous``, on a GPU, whose push is 0 and whose pop is both; ``batch``, its twin on a CPU;
    ``sequential``, on one core, key by key, four children a node. keys: how many, a multiple of
    ``node``. order: random, ascending, descending. full: the share of batches that are full; the
    others have random sizes; for the concurrent heap. node, block_threads, blocks: see
    ``BatchHeap``. What comes out is checked. Raises UsageError, and DeviceError where a GPU is
    needed.
    """
    _check(heap, node, block_threads, blocks, repeats)
    check_choice("order", order, ORDERS)
    if keys < node or keys % node:
        raise UsageError(f"keys must be a multiple of node, {node:,}, and are {keys:,}")
    if not 0 <= full <= 1 or (full < 1 and heap not in ("bottom_up", "top_down")):
        raise UsageError(f"full is a share, of the concurrent heap's batches, and is {full}")
    given = np.random.default_rng(1).integers(0, LARGEST, keys, np.int32)
    expected = np.sort(given)
    if order != "random":
        given = expected[:: 1 if order == "ascending" else -1].copy()
    if heap in ON_GPU:
        from mgraph.experiments import heap_timing_gpu as gpu

        how: dict[str, Any] = {"node": node, "block_threads": block_threads, "blocks": blocks}
        sizes = _sizes(keys, node, full)
        times = [gpu.fill_and_drain(heap, given, expected, sizes, **how) for _ in range(repeats)]
    else:
        times = [_fill_and_drain(heap, given, expected, node) for _ in range(repeats)]
    return HeapSeconds(*(statistics.median(column) for column in zip(*times, strict=True)))


def heap_pair_seconds(
    heap: str,
    nodes: int,
    pairs: int,
    *,
    node: int = MOST_KEYS_A_NODE,
    block_threads: int = 512,
    blocks: int | None = None,
    repeats: int = 5,
) -> float:
    """Insert a full batch and delete one, ``pairs`` times, from a heap of ``nodes``: the median.

    On a GPU all pairs go on at once. See ``heap_seconds`` for the rest.
    """
    _check(heap, node, block_threads, blocks, repeats)
    if nodes < 1 or pairs < 1:
        raise UsageError(f"nodes and pairs must be 1 at least, and are {nodes:,} and {pairs:,}")
    random = np.random.default_rng(1)
    filling = random.integers(0, LARGEST, nodes * node, np.int32)
    keys = random.integers(0, LARGEST, pairs * node, np.int32)
    if heap in ON_GPU:
        from mgraph.experiments import heap_timing_gpu as gpu

        how: dict[str, Any] = {"node": node, "block_threads": block_threads, "blocks": blocks}
        return statistics.median(gpu.pairs(heap, filling, keys, **how) for _ in range(repeats))
    times = []
    for _ in range(repeats):
        ours = _new(heap, node)
        ours.push(filling)
        began = time.perf_counter()
        for batch in keys.reshape(-1, node):
            ours.push(batch)
            ours.pop(node)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _check(heap: str, node: int, block_threads: int, blocks: int | None, repeats: int) -> None:
    check_choice("heap", heap, HEAPS)
    check_shape(node, block_threads, blocks)
    if repeats < 1:
        raise UsageError(f"repeats must be 1 at least, and are {repeats}")
    if heap in ON_GPU and backends.resolve("auto") != "gpu":
        raise DeviceError(f"heap {heap} is one of a GPU, and there is none")


def _new(heap: str, node: int) -> Any:
    if heap == "batch":
        return BatchHeap("int32", node=node, backend="cpu")
    from mgraph.heap.sequential_heap_cpu import SequentialHeap

    return SequentialHeap()


def _fill_and_drain(heap: str, given: Any, expected: Any, node: int) -> tuple[float, float]:
    warm = _new(heap, node)  # compiles
    warm.push(given[:node])
    warm.pop(node)
    ours = _new(heap, node)
    began = time.perf_counter()
    ours.push(given)
    between = time.perf_counter()
    found = ours.pop(given.size)
    now = time.perf_counter()
    assert (found == expected).all()
    return between - began, now - between


def _sizes(keys: int, node: int, full: float) -> np.ndarray:
    """Batches of so many keys in all: a share of them full, the others of random sizes."""
    if full == 1:
        return np.full(keys // node, node, np.uint32)
    random = np.random.default_rng(2)
    sizes = np.zeros(0, np.int64)
    while sizes.sum() < keys:
        count = keys // node + 16
        drawn = np.where(random.random(count) < full, node, random.integers(1, node, count))
        sizes = np.concatenate([sizes, drawn])
    sizes = sizes[: np.searchsorted(sizes.cumsum(), keys) + 1]
    sizes[-1] -= sizes.sum() - keys
    return sizes.astype(np.uint32)
