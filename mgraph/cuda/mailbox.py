"""Inputs and outputs of short launches, copied to the device and back in one copy each."""

from typing import Any

import numpy as np

_ALIGNMENT = 16  # of each array, in bytes


class Mailbox:
    """Pinned memory and device memory of the same layout, reused by one launch after another."""

    def __init__(self) -> None:
        """Allocate nothing yet."""
        self._host: Any = np.empty(0, np.uint8)
        self._device: Any = None
        self._addresses = 0, 0  # of the pinned and of the device memory

    def lay_out(self, *parts: tuple[int, Any]) -> list[np.ndarray]:
        """Return pinned arrays to be filled, one per (number of elements, type)."""
        import cupy
        import cupyx

        self._starts = [0]
        for count, dtype in parts:
            size = count * np.dtype(dtype).itemsize
            self._starts.append(self._starts[-1] + -(-size // _ALIGNMENT) * _ALIGNMENT)
        if self._host.size < self._starts[-1]:
            size = 2 * self._starts[-1]
            self._host = cupyx.empty_pinned(size, np.uint8)
            self._device = cupy.empty(size, np.uint8)
            self._addresses = self._host.ctypes.data, self._device.data.ptr
        return [
            self._host[start : start + count * np.dtype(dtype).itemsize].view(dtype)
            for start, (count, dtype) in zip(self._starts, parts, strict=False)
        ]

    def address(self, part: int) -> np.uint64:
        """Return the device address of an array."""
        return np.uint64(self._addresses[1] + self._starts[part])

    def send(self, parts: int) -> None:
        """Copy the first ``parts`` arrays to the device, on the current stream."""
        self._copy(0, self._starts[parts], to_device=True)

    def fetch(self, first: int, stop: int) -> None:
        """Start to copy the arrays from ``first`` to ``stop - 1`` back, on the current stream."""
        self._copy(self._starts[first], self._starts[stop], to_device=False)

    def _copy(self, start: int, stop: int, *, to_device: bool) -> None:
        import cupy
        from cupy.cuda import runtime

        host, device = (address + start for address in self._addresses)
        kind = runtime.memcpyHostToDevice if to_device else runtime.memcpyDeviceToHost
        target, source = (device, host) if to_device else (host, device)
        stream = cupy.cuda.get_current_stream().ptr
        runtime.memcpyAsync(target, source, stop - start, kind, stream)
