"""How kernels learn that their work is cancelled: from a flag in pinned host memory.

The thread that watches for compiled code's flag sets this one as well; the kernel reads it over the
bus (``stop_watch.cuh``), whatever the streams are doing. Nothing is launched or copied for it.
"""

from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.cuda.source import Source

_compiled: set[Any] = set()


def cancel_flag() -> np.uint64:
    """The address of a word that is not 0 once kernels are to end; 0 if they cannot be cancelled.

    What a cancelled kernel has written is incomplete: call ``finish`` before it is used.
    """
    token = cancellation.current_token()
    if not token.is_cancellable:
        return np.uint64(0)
    with token.device_flag_lock:
        if token.device_flag is None:
            token.device_flag = _pinned()
            token.mirror_to(token.device_flag)
            token.flag()  # starts the watcher
    return np.uint64(token.device_flag.ctypes.data)


def _pinned() -> Any:
    import cupyx

    return cupyx.empty_pinned(1, np.uint32)


def kernel(source: Source, name: str, **defines: object) -> Any:
    """``source.kernel``, for a kernel that compiles for seconds when a machine first uses it.

    The compiler cannot be cancelled, so cancelled work leaves it running and does not wait.
    """
    import cupy

    key = (source.package, source.file, name, *sorted(defines.items()))
    if key in _compiled:
        return source.kernel(name, **defines)
    device = cupy.cuda.Device()

    def compile_kernel() -> Any:
        with device:
            return source.kernel(name, **defines)

    compiled = cancellation.run_detached(compile_kernel)
    _compiled.add(key)
    return compiled


def finish() -> None:
    """Wait for the current stream if its kernels can be cancelled, and raise if they were."""
    if not cancellation.current_token().is_cancellable:
        return
    import cupy

    cupy.cuda.get_current_stream().synchronize()
    cancellation.raise_if_cancelled()
