"""How kernels learn that nobody wants their work any more: by a word in pinned host memory.

It is set by the thread that watches for compiled code's word, and read by the kernel over the bus
(``stop_watch.cuh``), whatever streams are doing. Nothing is launched or copied for it.
"""

from typing import Any

import numpy as np

from mgraph.core import stopping
from mgraph.cuda.source import Source

_compiled: set[Any] = set()


def word() -> np.uint64:
    """Where kernels read a word that is not 0 once they are to end; 0 where nothing stops them.

    What a kernel has made by then is of no use: call ``finished`` before it is looked at.
    """
    work = stopping.current()
    if not work.stoppable:
        return np.uint64(0)
    with work.making:
        if work.device_word is None:
            work.device_word = _pinned()
            work.also_set(work.device_word)
            work.word()  # begins to watch
    return np.uint64(work.device_word.ctypes.data)


def _pinned() -> Any:
    import cupyx

    return cupyx.empty_pinned(1, np.uint32)


def kernel(source: Source, name: str, **defines: object) -> Any:
    """``source.kernel``, of one that compiles for seconds when a machine first uses it.

    Only wanted work waits for the compiler, which itself cannot be stopped.
    """
    import cupy

    what = (source.package, source.file, name, *sorted(defines.items()))
    if what in _compiled:
        return source.kernel(name, **defines)
    device = cupy.cuda.Device()

    def compiled() -> Any:
        with device:
            return source.kernel(name, **defines)

    found = stopping.left_behind(compiled)
    _compiled.add(what)
    return found


def finished() -> None:
    """Wait for the current stream, where something might stop its kernels, and ``check``."""
    if not stopping.current().stoppable:
        return
    import cupy

    cupy.cuda.get_current_stream().synchronize()
    stopping.check()
