"""Copies between device and pinned host memory that overlap with work on both sides."""

import ctypes
import functools
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mgraph import timings

Item = TypeVar("Item")
_PIECE_BYTES = 1 << 22  # of files that are copied to the device
# From so many bytes on, by compiled code, which need not be loaded for less, in pieces that two of
# all threads together stay in the processor's caches.
_LONG_BYTES, _SHORT_PIECE = 1 << 25, 1 << 21


class FileBytes(NamedTuple):
    """The bytes of a file that is open.

    read_into(begin, memory): fills a buffer; raises OSError if there are fewer. copy_pieces: what
    ``core.file_pieces`` has for this file, or None.
    """

    read_into: Callable[[int, Any], None]
    copy_pieces: Callable[..., bool] | None = None


class _Staging(threading.local):
    """The pinned memory, the stream and the device memory of a thread, by device."""

    def __init__(self) -> None:
        self.by_device: dict[int, tuple[np.ndarray, Any]] = {}
        self.device_memory: dict[int, Any] = {}


_staging = _Staging()


def as_cupy(array: Any) -> Any:
    """Return another library's array on a GPU as CuPy's, which shares its memory by DLPack."""
    if type(array).__module__.partition(".")[0] == "cupy" or not hasattr(array, "__dlpack__"):
        return array
    import cupy

    return cupy.from_dlpack(array)


def to_device(array: np.ndarray) -> Any:
    """Copy an array to the current device."""
    import cupy

    return cupy.asarray(array)


def stream_to_host(
    items: Sequence[Item], launch: Callable[..., int], arrays: Sequence[tuple[int, Any]]
) -> Iterator[list[Any]]:
    """Call ``launch`` for each item and yield the arrays that it wrote, as pinned NumPy arrays.

    launch(item, *device_arrays): starts kernels on the current stream and returns how many leading
    elements of the arrays they write. arrays: the length and dtype of each.

    Item k + 1 is computed while the caller works on item k, whose arrays are overwritten when item
    k + 1 is requested. There is one set of arrays on each side, since pinned memory takes longer to
    allocate than a copy, and each call has its own stream, so that several threads keep one device
    busy.
    """
    import cupy
    import cupyx

    if not items:
        return
    stream = cupy.cuda.Stream(non_blocking=True)
    # Allocated from the current stream's pool, and freed after ``stream`` is synchronised: memory
    # from a pool of the new stream's own would be lost together with the stream.
    device = [cupy.empty(*array) for array in arrays]
    stream.wait_event(cupy.cuda.get_current_stream().record())  # the memory's last user
    host = [cupyx.empty_pinned(*array) for array in arrays]
    copied = cupy.cuda.Event(disable_timing=True)
    try:
        with stream:
            count = launch(items[0], *device)
        for following in [*items[1:], None]:
            written = [pinned[:count] for pinned in host]
            with stream:
                for source, target in zip(device, written, strict=True):
                    source[:count].get(stream=stream, out=target, blocking=False)
                copied.record(stream)
                if following is not None:
                    count = launch(following, *device)  # begins after the copies
            copied.synchronize()
            yield written
    finally:
        stream.synchronize()


def device_array(count: int, dtype: Any) -> Any:
    """Allocate an array on the current device, uninitialised, for the use of any stream.

    Waits for the current stream, since CuPy's pool gives what an unfinished kernel still uses.
    """
    import cupy

    array = cupy.empty(count, dtype)
    cupy.cuda.get_current_stream().synchronize()
    return array


def copy_to_device(targets: Sequence[Any], columns: Sequence[np.ndarray]) -> None:
    """Copy NumPy arrays into views of device arrays, converted to the targets' types.

    The copies go through this thread's pinned memory and stream, so that several threads copy at a
    time, at the bus's speed. The thread waits once, since every wait releases the interpreter lock.
    """
    if not targets[0].size:
        return
    starts = _offsets([target.nbytes for target in targets])
    pinned, stream = _pinned_memory(starts[-1])
    with timings.step(timings.COPYING):
        for target, values, start in zip(targets, columns, starts, strict=False):
            staged = pinned[start : start + target.nbytes].view(target.dtype)
            np.copyto(staged, values)
            target.set(staged, stream=stream)
        stream.synchronize()


def on_device(columns: Sequence[np.ndarray], launch: Callable[..., Any]) -> None:
    """Copy NumPy arrays to this thread's device memory, and call ``launch(*arrays)`` on its stream.

    Waits for the kernels that ``launch`` starts; the memory is used again by the next call.
    """
    starts = _offsets([column.nbytes for column in columns])
    if not starts[-1]:
        return
    pinned, stream = _pinned_memory(starts[-1])
    memory = _device_memory(starts[-1])
    arrays = []
    with timings.step(timings.COPYING), stream:
        for column, start in zip(columns, starts, strict=False):
            stop = start + column.nbytes
            np.copyto(pinned[start:stop].view(column.dtype), column)
            arrays.append(memory[start:stop].view(column.dtype))
        memory[: starts[-1]].set(pinned[: starts[-1]], stream=stream)
        launch(*arrays)
        stream.synchronize()


def device_memory(size: int) -> tuple[Any, Any]:
    """Return this thread's memory on the current device, at least so many bytes, and its stream.

    Whoever uses them waits for the stream in the end; the next one in this thread overwrites them.
    """
    _, stream = _pinned_memory(0)
    return _device_memory(size), stream


def fill_device(ranges: Sequence[tuple[int, int, int]], file: FileBytes) -> bool:
    """Copy ranges of a file to the device, on this thread's stream, and do not wait in the end.

    ranges: the address of each, where it begins in the file, and its bytes. A piece is read while
    the one before is copied. Returns False if the system could not read or copy one. Raises
    OSError. Pinned memory: two pieces per thread, since it takes longer to allocate than to copy.
    """
    import cupy

    pinned, stream = _pinned_memory(2 * _PIECE_BYTES)
    to_device, address = 1, pinned.ctypes.data  # cudaMemcpyHostToDevice
    copied = [cupy.cuda.Event(disable_timing=True) for _ in range(2)]
    stream.synchronize()  # the pieces' last user
    if file.copy_pieces and sum(size for *_, size in ranges) >= _LONG_BYTES:
        buffers = [(address + side * _SHORT_PIECE, copied[side].ptr) for side in range(2)]
        table, places = np.array(ranges, np.int64), np.array(buffers, np.int64)
        return file.copy_pieces(table, places, _SHORT_PIECE, stream.ptr, _driver_calls())
    side = 0
    for target, first, size in ranges:
        for begin in range(0, size, _PIECE_BYTES):
            count, place = min(_PIECE_BYTES, size - begin), side * _PIECE_BYTES
            copied[side].synchronize()
            file.read_into(first + begin, pinned[place : place + count])
            cupy.cuda.runtime.memcpyAsync(
                target + begin, address + place, count, to_device, stream.ptr
            )
            copied[side].record(stream)
            side = 1 - side
    return True


@functools.cache
def _driver_calls() -> list[int | None]:
    """Return the addresses of the functions that ``core.file_pieces`` calls."""
    driver, system = ctypes.CDLL("libcuda.so.1"), ctypes.CDLL(None)
    functions = (
        system.pread, driver.cuMemcpyHtoDAsync_v2, driver.cuEventRecord, driver.cuEventSynchronize
    )  # fmt: skip
    return [ctypes.cast(function, ctypes.c_void_p).value for function in functions]


def _device_memory(size: int) -> Any:
    """Return this thread's memory on the current device, at least ``size`` bytes."""
    import cupy

    device = cupy.cuda.Device().id
    memory = _staging.device_memory.get(device)
    if memory is None or memory.size < size:
        memory = _staging.device_memory[device] = device_array(size, np.uint8)
    return memory


def _offsets(sizes: Sequence[int]) -> list[int]:
    """Return the aligned offsets of consecutive arrays of these sizes in bytes, and the end."""
    return [0, *accumulate(-(-size // 64) * 64 for size in sizes)]


def _pinned_memory(size: int) -> tuple[np.ndarray, Any]:
    """Return this thread's pinned memory, at least ``size`` bytes, and stream for the device."""
    import cupy
    import cupyx

    device = cupy.cuda.Device().id
    memory, stream = _staging.by_device.get(device, (None, None))
    if memory is None or memory.size < size:
        memory = cupyx.empty_pinned(max(size, 1), np.uint8)
        stream = stream or cupy.cuda.Stream(non_blocking=True)
        _staging.by_device[device] = memory, stream
    return memory, stream


def stage_on_host(arrays: Sequence[Any], *, are_written: bool = True) -> list[np.ndarray]:
    """Copy device arrays to this thread's pinned memory, which its next copy overwrites.

    NumPy arrays are returned as they are. are_written: whether the kernels that write the arrays
    have ended; if not, those on the current stream are waited for.
    """
    if all(isinstance(array, np.ndarray) for array in arrays):
        return list(arrays)
    import cupy

    starts = _offsets([array.nbytes for array in arrays])
    pinned, stream = _pinned_memory(starts[-1])
    if not are_written:
        stream.wait_event(cupy.cuda.get_current_stream().record())
    hosts = []
    for array, start in zip(arrays, starts, strict=False):
        hosts.append(pinned[start : start + array.nbytes].view(array.dtype))
        array.get(stream=stream, out=hosts[-1], blocking=False)
    copied = cupy.cuda.Event(block=True, disable_timing=True)  # other threads may use the core
    copied.record(stream)
    with timings.step(timings.COPYING):
        copied.synchronize()
    return hosts


def copy_to_host(array: Any) -> np.ndarray:
    """Copy a device array to new pinned memory, concurrently with later work of the device."""
    import cupy
    import cupyx

    written = cupy.cuda.Event(disable_timing=True)
    written.record()
    stream = cupy.cuda.Stream(non_blocking=True)
    stream.wait_event(written)
    host: np.ndarray = cupyx.empty_pinned(array.shape, array.dtype)
    with timings.step(timings.COPYING):
        array.get(stream=stream, out=host, blocking=False)
        stream.synchronize()
    return host
