"""Times of heaps: all keys pushed and then popped, or pairs of an insertion and a deletion.

Source: section 5 of "Accelerating concurrent heap on GPUs", table 1 and figures 13 to 19.
"""

import functools
import statistics
import time
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import backend as backends
from mgraph.core.choices import check_choice
from mgraph.errors import DeviceError, UsageError
from mgraph.heap.batch_heap import MAX_NODE_KEYS, BatchHeap, check_dimensions

CONCURRENT_HEAPS = ("bottom_up", "top_down", "paper_bottom_up", "merge_path")
GPU_HEAPS = (*CONCURRENT_HEAPS, "synchronous")
HEAPS = (*GPU_HEAPS, "batch", "sequential")
ORDERS = ("random", "ascending", "descending")
MAX_KEY = (1 << 31) - 2


class HeapSeconds(NamedTuple):
    """Seconds to push all keys, and to pop all."""

    push: float
    pop: float


def heap_seconds(
    heap: str,
    keys: int,
    *,
    order: str = "random",
    full: float = 1.0,
    node: int = MAX_NODE_KEYS,
    block_threads: int = 512,
    blocks: int | None = None,
    repeats: int = 5,
) -> HeapSeconds:
    """Time pushing int32 keys to an empty heap, batch after batch, and popping all of them.

    Parameters
    ----------
    heap : str
        ``bottom_up``, ``top_down`` or ``paper_bottom_up``: the concurrent heap on a GPU, by its
        insertion. ``merge_path``: ``bottom_up``, with nodes merged by merge path. ``synchronous``:
        on a GPU, whose ``push`` is 0 and whose ``pop`` is both. ``batch``: the concurrent heap's
        twin on a CPU. ``sequential``: on one core, key by key, four children per node.
    keys : int
        The number of keys, a multiple of ``node``.
    order : {"random", "ascending", "descending"}, default "random"
        The order in which they are pushed.
    full : float, default 1.0
        The fraction of batches that are full; the others have random sizes. For the concurrent
        heap only.
    node, block_threads, blocks : int
        As for ``mgraph.BatchHeap``.
    repeats : int, default 5
        The number of runs.

    Returns
    -------
    HeapSeconds
        The medians. The keys that are popped are checked.

    Raises
    ------
    UsageError
        If a parameter is not as above.
    DeviceError
        If the heap needs a GPU and there is none.
    """
    _check(heap, node, block_threads, blocks, repeats)
    check_choice("order", order, ORDERS)
    if keys < node or keys % node:
        raise UsageError(f"keys must be a multiple of node, {node:,} (got {keys:,})")
    if not 0 <= full <= 1:
        raise UsageError(f"full must be a fraction from 0 to 1 (got {full})")
    if full < 1 and heap not in CONCURRENT_HEAPS:
        raise UsageError(f"full must be 1 for heap {heap}, which takes full batches (got {full})")
    pushed, expected = _draw_keys(keys, order)
    if heap in GPU_HEAPS:
        from mgraph.experiments import heap_timing_gpu as gpu

        shape: dict[str, Any] = {"node": node, "block_threads": block_threads, "blocks": blocks}
        sizes = _batch_sizes(keys, node, full)
        times = [gpu.push_and_pop(heap, pushed, expected, sizes, **shape) for _ in range(repeats)]
    else:
        times = [_push_and_pop(heap, pushed, expected, node) for _ in range(repeats)]
    return HeapSeconds(*(statistics.median(column) for column in zip(*times, strict=True)))


class MultiHeapSeconds(NamedTuple):
    """Seconds to push all keys, and to pop all; the mean rank error of a key that is popped."""

    push: float
    pop: float
    rank_error: float


def multi_heap_seconds(
    heaps: int, keys: int, *, node: int = MAX_NODE_KEYS, repeats: int = 5
) -> MultiHeapSeconds:
    """Time pushing random keys to several heaps used as one queue on a GPU, and popping all.

    Parameters
    ----------
    heaps : int
        The number of heaps; an insertion goes to the next one, a deletion to the better of two.
    keys, node, repeats : int
        As for ``heap_seconds``.

    Returns
    -------
    MultiHeapSeconds
        The medians. The rank error of a key is the number of smaller keys that are popped after it;
        its mean is estimated from 2^18 keys.

    Raises
    ------
    UsageError
        If a parameter is not as above.
    DeviceError
        If there is no GPU.
    """
    _check("bottom_up", node, 512, None, repeats)
    if heaps < 1 or keys < node:
        raise UsageError(
            f"heaps must be at least 1, and keys at least node, {node:,} "
            f"(got {heaps:,} and {keys:,})"
        )
    from scipy.stats import kendalltau

    from mgraph.experiments import heap_timing_gpu as gpu

    times, errors = [], []
    for run in range(repeats):
        sample = min(keys, 1 << 18)
        places = np.sort(np.random.default_rng(run).choice(keys, sample, replace=False))
        *seconds, popped = gpu.push_and_pop_any(heaps, keys, places, node)
        order = kendalltau(np.arange(sample), popped).statistic  # 1: none out of order
        times.append(seconds)
        errors.append((1 - order) / 4 * (sample - 1) * keys / sample)
    push, pop = (statistics.median(column) for column in zip(*times, strict=True))
    return MultiHeapSeconds(push, pop, statistics.median(errors))


def heap_pair_seconds(
    heap: str,
    nodes: int,
    pairs: int,
    *,
    node: int = MAX_NODE_KEYS,
    block_threads: int = 512,
    blocks: int | None = None,
    repeats: int = 5,
) -> float:
    """Time pairs of an insertion and a deletion of a full batch, in a heap that is not empty.

    Parameters
    ----------
    heap, node, block_threads, blocks, repeats
        As for ``heap_seconds``. On a GPU all pairs run concurrently.
    nodes : int
        The number of nodes that are full before the pairs.
    pairs : int
        The number of pairs.

    Returns
    -------
    float
        The median of the seconds.

    Raises
    ------
    UsageError
        If a parameter is not as above.
    DeviceError
        If the heap needs a GPU and there is none.
    """
    _check(heap, node, block_threads, blocks, repeats)
    if nodes < 1 or pairs < 1:
        raise UsageError(f"nodes and pairs must be at least 1 (got {nodes:,} and {pairs:,})")
    initial, keys = _draw_pairs(nodes * node, pairs * node)
    if heap in GPU_HEAPS:
        from mgraph.experiments import heap_timing_gpu as gpu

        shape: dict[str, Any] = {"node": node, "block_threads": block_threads, "blocks": blocks}
        times = [gpu.run_pairs(heap, initial, keys, **shape) for _ in range(repeats)]
        return statistics.median(times)
    times = []
    for _ in range(repeats):
        timed_heap = _make_cpu_heap(heap, node)
        timed_heap.push(initial)
        began = time.perf_counter()
        for batch in keys.reshape(-1, node):
            timed_heap.push(batch)
            timed_heap.pop(node)
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def _check(heap: str, node: int, block_threads: int, blocks: int | None, repeats: int) -> None:
    check_choice("heap", heap, HEAPS)
    check_dimensions(node, block_threads, blocks)
    if repeats < 1:
        raise UsageError(f"repeats must be at least 1 (got {repeats})")
    if heap in GPU_HEAPS and backends.resolve("auto") != "gpu":
        raise DeviceError(f"heap {heap} needs a GPU, and there is none")


@functools.lru_cache(maxsize=1)
def _draw_keys(keys: int, order: str) -> tuple[np.ndarray, np.ndarray]:
    """Draw keys in the order in which they are pushed, and in ascending order."""
    pushed = np.random.default_rng(1).integers(0, MAX_KEY, keys, np.int32)
    expected = np.sort(pushed)
    if order != "random":
        pushed = expected[:: 1 if order == "ascending" else -1].copy()
    return pushed, expected


@functools.lru_cache(maxsize=1)
def _draw_pairs(initial: int, keys: int) -> tuple[np.ndarray, np.ndarray]:
    """Draw the keys of a heap, and those of the insertions."""
    random = np.random.default_rng(1)
    first = random.integers(0, MAX_KEY, initial, np.int32)
    return first, random.integers(0, MAX_KEY, keys, np.int32)


def _make_cpu_heap(heap: str, node: int) -> Any:
    if heap == "batch":
        return BatchHeap("int32", node=node, backend="cpu")
    from mgraph.heap.sequential_heap_cpu import SequentialHeap

    return SequentialHeap()


def _push_and_pop(heap: str, pushed: Any, expected: Any, node: int) -> tuple[float, float]:
    """Return the seconds to push all keys and to pop all, after a run that compiles."""
    warm_up = _make_cpu_heap(heap, node)
    warm_up.push(pushed[:node])
    warm_up.pop(node)
    timed_heap = _make_cpu_heap(heap, node)
    began = time.perf_counter()
    timed_heap.push(pushed)
    middle = time.perf_counter()
    popped = timed_heap.pop(pushed.size)
    ended = time.perf_counter()
    assert (popped == expected).all()
    return middle - began, ended - middle


def _batch_sizes(keys: int, node: int, full: float) -> np.ndarray:
    """Draw batch sizes with ``keys`` keys in all: a fraction of them full, the others random."""
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
