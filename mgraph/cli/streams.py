"""Standard output and error of the command: output that cannot be written does not end the work.

A full disk, a reader that went away (``| head -1``) and a closed descriptor (``>&-``) are met where
bytes are handed to the operating system, so no verb handles them. The first failure is kept, what
comes later is dropped, and the work goes on: results are still written to files. When the command
has ended, ``final_status`` turns the failure into a sentence and a status. Nothing is left in a
buffer that the interpreter would fail to write once more while it shuts down (status 120).
"""

import contextlib
import io
import os
import select
import sys
from typing import Any

_NAMES = ("stdin", "stdout", "stderr")


class _Descriptor(io.FileIO):
    """A file descriptor that takes everything, and keeps the first error of writing to it."""

    error: OSError | None = None
    dropping = False

    def write(self, data: Any) -> int:
        """Write, or drop what cannot be written; waits, also where the descriptor would not."""
        if self.error is None and not self.dropping:
            try:
                while (written := super().write(data)) is None:
                    select.select([], [self], [])
                return written
            except OSError as error:
                self.error = error
        return memoryview(data).nbytes


_descriptors: dict[str, _Descriptor] = {}  # by the stream's name


def take_over() -> None:
    """Have standard output and error drop what cannot be written; may be called again.

    A descriptor that is closed becomes /dev/null, so that no file that is opened later, or by a
    process that is started, gets its number. A stream that another program has put in the place
    of the interpreter's own, such as a notebook's, stays.
    """
    for number, name in enumerate(_NAMES):
        closed = _open_if_closed(number)
        stream = getattr(sys, name)
        if name == "stdin" or not (closed or stream is getattr(sys, f"__{name}__")):
            continue
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.flush()
        raw = _descriptors[name] = _Descriptor(number, "w", closefd=False)
        text = io.TextIOWrapper(
            io.BufferedWriter(raw),
            encoding=getattr(stream, "encoding", None),
            errors=getattr(stream, "errors", "backslashreplace"),
            line_buffering=name == "stderr" or raw.isatty(),
            write_through=getattr(stream, "write_through", False),
        )
        setattr(sys, name, text)
        setattr(sys, f"__{name}__", text)


def _open_if_closed(number: int) -> bool:
    """Open /dev/null under a standard descriptor's number where that is closed."""
    try:
        os.fstat(number)
    except OSError:
        opened = os.open(os.devnull, os.O_RDWR)  # the smallest free number, which is this one
        if opened != number:
            os.dup2(opened, number)
            os.close(opened)
        os.set_inheritable(number, True)
        return True
    return False


def reader_is_gone() -> bool:
    """Return whether the reader of standard output went away."""
    return isinstance(_error("stdout"), BrokenPipeError | ConnectionResetError)  # pipe, socket


def drop_pending_output() -> None:
    """Drop output that would block: an interrupted command's reader may be paused."""
    for raw in _descriptors.values():
        if not select.select([], [raw], [], 0)[1]:
            raw.dropping = True


def final_status(status: int) -> int:
    """Flush all output, and return the exit status of a command that ended with ``status``.

    1 with a sentence on standard error if standard output could not be written. A reader that went
    away changes no status.
    """
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()
    error = _error("stdout")
    if error is None or reader_is_gone():
        return status
    print(f"mgraph: the output could not be written: {error.strerror}", file=sys.stderr, flush=True)
    return status or 1


def _error(name: str) -> OSError | None:
    descriptor = _descriptors.get(name)
    return None if descriptor is None else descriptor.error
