"""Copies ranges of a file somewhere else, piece by piece, without the interpreter.

A thread that returns to the interpreter for each piece waits there for all others: with 16 threads
that read from memory, 32 % of the time, and with 32 threads 55 %. So here the loop is compiled, and
calls the operating system's and the device's functions by their addresses.
"""

from collections.abc import Sequence

import numpy as np

from mgraph.core import cancellation
from mgraph.core.c_functions import call
from mgraph.core.compiled import compiled


def copy_pieces(
    file: int,
    ranges: np.ndarray,
    buffers: np.ndarray,
    piece: int,
    stream: int,
    calls: Sequence[int],
) -> bool:
    """Copy ranges of a file through buffers in turn; return whether nothing has failed.

    file: its descriptor. ranges: ``(k, 3)`` int64, the target's address, the first byte and the
    number of bytes of each. buffers: ``(b, 2)`` int64, each one's address, of ``piece`` bytes, and
    its event, which is recorded behind the copies from it. calls: addresses of C functions: the
    system's pread; and three that return an int, 0 if nothing has failed: copy(target, address,
    size, stream), which begins a copy, record(event, stream) and wait(event). Does not wait for the
    last copies. Raises Cancelled.
    """
    is_done = _copy_pieces(
        file, ranges, buffers, piece, stream, np.array(calls, np.int64), cancellation.cancel_flag()
    )
    cancellation.raise_if_cancelled()
    return bool(is_done)


@compiled
def _copy_pieces(file, ranges, buffers, piece, stream, calls, cancel_flag):
    pread, copy, record, wait = calls
    used = 0
    for target, first, size in ranges:
        done = 0
        while done < size and not cancel_flag[0]:
            address, event = buffers[used % len(buffers)]
            count, used = min(piece, size - done), used + 1
            if np.int32(call(wait, event, 0, 0, 0)):
                return False
            read = 0
            while read < count:
                more = call(pread, file, address + read, count - read, first + done + read)
                if more <= 0:
                    return False
                read += more
            if np.int32(call(copy, target + done, address, count, stream)):
                return False
            if np.int32(call(record, event, stream, 0, 0)):
                return False
            done += count
    return True
