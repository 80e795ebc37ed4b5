"""Memory of a GPU that other GPUs of the same host read, whichever processes they belong to."""

import os
from typing import Any

import numpy as np

from mgraph.errors import DeviceError

_ALREADY_ENABLED = 704  # cudaErrorPeerAccessAlreadyEnabled
# Memory of another size is mapped in small pages where another process opens it: two H200 read it
# at random at 0.05 instead of 6.6 billion words per second (29 November 2026).
_PAGE_BYTES = 2 << 20


def allocate(count: int, dtype: Any) -> Any:
    """Return an uninitialised CuPy array that ``export`` takes.

    It is not of CuPy's pool, whose blocks hold several arrays. Raises MemoryError.
    """
    import cupy

    size = -(-max(1, count) * np.dtype(dtype).itemsize // _PAGE_BYTES) * _PAGE_BYTES
    try:
        memory = cupy.cuda.Memory(size)
    except cupy.cuda.runtime.CUDARuntimeError as error:
        raise MemoryError(f"{size:,} bytes: {error}") from error
    return cupy.ndarray((count,), dtype, cupy.cuda.MemoryPointer(memory, 0))


def export(array: Any) -> bytes:
    """Return the handle by which another process opens an array of ``allocate``."""
    import cupy

    return bytes(cupy.cuda.runtime.ipcGetMemHandle(array.data.ptr))


class PeerArray:
    """Another rank's array, which kernels of the current device read while this is open."""

    def __init__(self, handle: bytes, process: int, device: int, address: int) -> None:
        """Open it. Raises DeviceError where the current device cannot reach that memory.

        process: of the owner. device, address: as the owner knows them.
        """
        from cupy.cuda import runtime

        self.address, self._opened = address, 0
        try:
            if process == os.getpid():
                _enable_access(device)
            else:
                self.address = self._opened = int(runtime.ipcOpenMemHandle(handle))
        except runtime.CUDARuntimeError as error:
            raise DeviceError(
                f"a GPU cannot read the memory of another one of this host ({error})"
            ) from error

    def close(self) -> None:
        """Let go of it; the owner keeps the memory."""
        from cupy.cuda import runtime

        opened, self._opened = self._opened, 0
        if opened:
            runtime.ipcCloseMemHandle(opened)


def _enable_access(device: int) -> None:
    """Let the current device read the memory of another one of this process."""
    from cupy.cuda import runtime

    if device == runtime.getDevice():
        return
    try:
        runtime.deviceEnablePeerAccess(device)
    except runtime.CUDARuntimeError as error:
        if error.status != _ALREADY_ENABLED:
            raise
