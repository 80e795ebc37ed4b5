"""The GPU's side of ``heap_timing``: wall-clock times until the device has finished."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mgraph.heap import synchronous_heap_gpu
from mgraph.heap.batch_heap_gpu import Heap

_WORD = np.dtype(np.uint32)


def _measure_seconds(action: Callable[..., Any], *arguments: Any) -> float:
    import cupy

    cupy.cuda.Device().synchronize()
    began = time.perf_counter()
    action(*arguments)
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - began


def _make_heap(heap: str, node: int, block_threads: int, blocks: int | None) -> Heap:
    insert, merge = ("bottom_up", heap) if heap == "merge_path" else (heap, "bitonic")
    return Heap(_WORD, None, node, insert, block_threads, blocks, merge=merge)


def _sort_batches(keys: Any, node: int) -> Any:
    import cupy

    return cupy.sort(keys.reshape(-1, node), axis=1)


def push_and_pop(
    heap: str,
    pushed: np.ndarray,
    expected: np.ndarray,
    sizes: np.ndarray,
    *,
    node: int,
    block_threads: int,
    blocks: int | None,
) -> tuple[float, float]:
    """Return the seconds to insert all keys in batches of ``sizes``, and to delete all."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    keys = cupy.asarray(pushed).view(_WORD)
    if heap == "synchronous":
        operations = cupy.zeros(2 * sizes.size, _WORD)
        operations[: sizes.size] = 1
        words = cupy.zeros(2 * keys.size, _WORD)
        words[: keys.size] = _sort_batches(keys, node).ravel()
        seconds = _measure_seconds(synchronous_heap_gpu.run, operations, words, node, block_threads)
        popped, times = words[keys.size :], (0.0, seconds)
    else:
        timed_heap = _make_heap(heap, node, block_threads, blocks)
        timed_heap.reserve(keys.size)
        if (sizes == node).all():
            push_seconds = _measure_seconds(timed_heap.push, keys, None)
        else:
            batches = cupy.zeros((sizes.size, node), _WORD)
            device_sizes = cupy.asarray(sizes)
            batches[cupy.arange(node) < device_sizes[:, None]] = keys
            push_seconds = _measure_seconds(timed_heap.operate, device_sizes, batches)
        results: list[Any] = []
        pop_seconds = _measure_seconds(lambda: results.append(timed_heap.pop(keys.size)[0]))
        popped, times = results[0], (push_seconds, pop_seconds)
    assert bool((popped == cupy.asarray(expected).view(_WORD)).all())
    return times


def push_and_pop_any(
    heaps: int, count: int, places: np.ndarray, node: int
) -> tuple[float, float, np.ndarray]:
    """Return the seconds to insert keys into several heaps and to delete all, and some of these.

    The keys are the numbers below ``count`` in random order. places: which to return, in the order
    in which the keys were deleted.
    """
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    keys = cupy.random.RandomState(1).permutation(count).astype(_WORD)
    timed_heap = Heap(_WORD, None, node, "bottom_up", 512, heaps=heaps)
    timed_heap.reserve(count)
    push_seconds = _measure_seconds(timed_heap.push, keys, None)
    results: list[Any] = []
    pop_seconds = _measure_seconds(lambda: results.append(timed_heap.pop(count)[0]))
    assert bool((cupy.sort(results[0]) == cupy.arange(count)).all())
    return push_seconds, pop_seconds, cupy.asnumpy(results[0][cupy.asarray(places)])


def run_pairs(
    heap: str,
    initial: np.ndarray,
    keys: np.ndarray,
    *,
    node: int,
    block_threads: int,
    blocks: int | None,
) -> float:
    """Return the seconds for one insertion and one deletion per batch of ``keys``."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    initial_words = cupy.asarray(initial).view(_WORD)
    sizes = cupy.zeros(2 * (keys.size // node), _WORD)
    sizes[::2] = node
    words = cupy.zeros((sizes.size, node), _WORD)
    words[::2] = _sort_batches(cupy.asarray(keys).view(_WORD), node)
    if heap == "synchronous":  # it starts empty: the time to fill it is measured and subtracted
        fill_sizes = cupy.full(initial_words.size // node, node, _WORD)
        fill_words = _sort_batches(initial_words, node)
        all_sizes = cupy.concatenate([fill_sizes, sizes])
        all_words = cupy.concatenate([fill_words, words]).ravel()
        run = synchronous_heap_gpu.run
        fill_seconds = _measure_seconds(run, fill_sizes, fill_words.ravel(), node, block_threads)
        return _measure_seconds(run, all_sizes, all_words, node, block_threads) - fill_seconds
    timed_heap = _make_heap(heap, node, block_threads, blocks)
    timed_heap.push(initial_words, None)
    timed_heap.reserve(initial_words.size + keys.size)
    return _measure_seconds(timed_heap.operate, sizes, words)
