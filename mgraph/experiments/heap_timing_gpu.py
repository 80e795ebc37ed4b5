"""The GPU's side of ``heap_timing``: by the clock, after the device is done."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mgraph.heap import synchronous_heap_gpu
from mgraph.heap.batch_heap_gpu import Heap

_WORD = np.dtype(np.uint32)


def _timed(action: Callable[..., Any], *arguments: Any) -> float:
    import cupy

    cupy.cuda.Device().synchronize()
    began = time.perf_counter()
    action(*arguments)
    cupy.cuda.Device().synchronize()
    return time.perf_counter() - began


def _heap(heap: str, node: int, block_threads: int, blocks: int | None) -> Heap:
    return Heap(_WORD, None, node, heap == "bottom_up", block_threads, blocks)


def _sorted_batches(keys: Any, node: int) -> Any:
    import cupy

    return cupy.sort(keys.reshape(-1, node), axis=1)


def fill_and_drain(
    heap: str,
    given: np.ndarray,
    expected: np.ndarray,
    sizes: np.ndarray,
    *,
    node: int,
    block_threads: int,
    blocks: int | None,
) -> tuple[float, float]:
    """Seconds to insert all keys in batches of ``sizes``, and to delete all."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    keys = cupy.asarray(given).view(_WORD)
    if heap == "synchronous":
        operations = cupy.zeros(2 * sizes.size, _WORD)
        operations[: sizes.size] = 1
        words = cupy.zeros(2 * keys.size, _WORD)
        words[: keys.size] = _sorted_batches(keys, node).ravel()
        seconds = _timed(synchronous_heap_gpu.run, operations, words, node, block_threads)
        found, times = words[keys.size :], (0.0, seconds)
    else:
        ours = _heap(heap, node, block_threads, blocks)
        ours.make_room(keys.size)
        if (sizes == node).all():
            pushed = _timed(ours.push, keys, None)
        else:
            spread = cupy.zeros((sizes.size, node), _WORD)
            ends = cupy.asarray(sizes)
            spread[cupy.arange(node) < ends[:, None]] = keys
            pushed = _timed(ours.operate, ends, spread)
        out: list[Any] = []
        popped = _timed(lambda: out.append(ours.pop(keys.size)[0]))
        found, times = out[0], (pushed, popped)
    assert bool((found == cupy.asarray(expected).view(_WORD)).all())
    return times


def pairs(
    heap: str,
    filling: np.ndarray,
    keys: np.ndarray,
    *,
    node: int,
    block_threads: int,
    blocks: int | None,
) -> float:
    """Seconds of as many insertions of a batch, each with a deletion, as ``keys`` has batches."""
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    first = cupy.asarray(filling).view(_WORD)
    sizes = cupy.zeros(2 * (keys.size // node), _WORD)
    sizes[::2] = node
    words = cupy.zeros((sizes.size, node), _WORD)
    words[::2] = _sorted_batches(cupy.asarray(keys).view(_WORD), node)
    if heap == "synchronous":  # which begins empty: without the time to fill it
        before = cupy.full(first.size // node, node, _WORD)
        filled = _sorted_batches(first, node)
        both = cupy.concatenate([before, sizes]), cupy.concatenate([filled, words]).ravel()
        alone = _timed(synchronous_heap_gpu.run, before, filled.ravel(), node, block_threads)
        return _timed(synchronous_heap_gpu.run, *both, node, block_threads) - alone
    ours = _heap(heap, node, block_threads, blocks)
    ours.push(first, None)
    ours.make_room(first.size + keys.size)
    return _timed(ours.operate, sizes, words)
