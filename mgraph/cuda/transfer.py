"""Copies between the device and pinned host memory that overlap with the work on both sides."""

import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

Item = TypeVar("Item")


class _Staging(threading.local):
    """A thread's pinned memory and stream, by device."""

    def __init__(self) -> None:
        self.of_device: dict[int, tuple[np.ndarray, Any]] = {}


_staging = _Staging()


def to_device(array: np.ndarray) -> Any:
    """A copy on the current device."""
    import cupy

    return cupy.asarray(array)


def copied_to_host(
    items: Sequence[Item], launch: Callable[..., int], arrays: Sequence[tuple[int, Any]]
) -> Iterator[list[Any]]:
    """Run ``launch`` for each item and yield what it wrote, as pinned NumPy arrays.

    launch(item, *device_arrays): starts kernels on the current stream and returns how many leading
    elements of the arrays they write. arrays: the length and dtype of each.

    There are two sets of arrays: item k + 1 is computed and copied while the caller works on item
    k, on a stream of their own, so that several threads keep one device busy. What is yielded is
    overwritten when the iterator is asked for the item after the next.
    """
    import cupy
    import cupyx

    stream = cupy.cuda.Stream(non_blocking=True)
    # Taken from the default stream's pool, and given back when ``stream`` has come to rest: a pool
    # of the new stream's own would be lost with it.
    device = [[cupy.empty(*array) for array in arrays] for _ in range(2)]
    host = [[cupyx.empty_pinned(*array) for array in arrays] for _ in range(2)]
    ready = [cupy.cuda.Event(disable_timing=True) for _ in range(2)]
    written: list[list[Any]] = [[], []]

    def start(k: int) -> None:
        side = k % 2
        with stream:
            count = launch(items[k], *device[side])
            written[side] = [pinned[:count] for pinned in host[side]]
            for source, target in zip(device[side], written[side], strict=True):
                source[:count].get(stream=stream, out=target, blocking=False)
            ready[side].record(stream)

    try:
        if items:
            start(0)
        for k in range(len(items)):
            if k + 1 < len(items):
                start(k + 1)
            ready[k % 2].synchronize()
            yield written[k % 2]
    finally:
        stream.synchronize()


def device_array(count: int, dtype: Any) -> Any:
    """An array on the current device, uninitialised."""
    import cupy

    return cupy.empty(count, dtype)


def copy_to_device(targets: Sequence[Any], columns: Sequence[np.ndarray]) -> None:
    """Copy NumPy arrays into views of a device's arrays, through this thread's pinned memory.

    They become the targets' types. So several threads copy at once, at the bus's speed; each has
    its own stream, and waits once, since every wait hands the interpreter round.
    """
    if not targets[0].size:
        return
    starts = _places([target.nbytes for target in targets])
    pinned, stream = _staged(starts[-1])
    for target, values, start in zip(targets, columns, starts, strict=False):
        staged = pinned[start : start + target.nbytes].view(target.dtype)
        np.copyto(staged, values)
        target.set(staged, stream=stream)
    stream.synchronize()


def _places(sizes: Sequence[int]) -> list[int]:
    """Where arrays of so many bytes begin, one behind another, aligned; and where the last ends."""
    return [0, *accumulate(-(-size // 64) * 64 for size in sizes)]


def _staged(count: int) -> tuple[np.ndarray, Any]:
    """This thread's pinned memory for the current device, of so many bytes, and its stream."""
    import cupy
    import cupyx

    device = cupy.cuda.Device().id
    memory, stream = _staging.of_device.get(device, (None, None))
    if memory is None or memory.size < count:
        memory = cupyx.empty_pinned(max(count, 1), np.uint8)
        stream = stream or cupy.cuda.Stream(non_blocking=True)
        _staging.of_device[device] = memory, stream
    return memory, stream


def on_host(arrays: Sequence[Any]) -> list[np.ndarray]:
    """A device's arrays in this thread's pinned memory, which its next copy overwrites.

    They must be written already: nothing is waited for. NumPy's come back as they are.
    """
    if all(isinstance(array, np.ndarray) for array in arrays):
        return list(arrays)
    import cupy

    starts = _places([array.nbytes for array in arrays])
    pinned, stream = _staged(starts[-1])
    hosts = []
    for array, start in zip(arrays, starts, strict=False):
        hosts.append(pinned[start : start + array.nbytes].view(array.dtype))
        array.get(stream=stream, out=hosts[-1], blocking=False)
    copied = cupy.cuda.Event(block=True, disable_timing=True)  # the core is for other threads
    copied.record(stream)
    copied.synchronize()
    return hosts


def copy_to_host(array: Any) -> np.ndarray:
    """A device's array in pinned host memory, copied beside what the device computes meanwhile."""
    import cupy
    import cupyx

    written = cupy.cuda.Event(disable_timing=True)
    written.record()
    stream = cupy.cuda.Stream(non_blocking=True)
    stream.wait_event(written)
    host: np.ndarray = cupyx.empty_pinned(array.shape, array.dtype)
    array.get(stream=stream, out=host, blocking=False)
    stream.synchronize()
    return host
