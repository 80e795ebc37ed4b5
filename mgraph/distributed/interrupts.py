"""What ctrl-C does to the processes of a cluster that was started here.

A terminal sends it to all of them. The client ends them, so workers ignore it; and what Dask cannot
close, since it is half started, is started first.
"""

import contextlib
import signal
import threading
from collections.abc import Iterator
from typing import Any


def ignore_interrupts() -> None:
    """For workers of this machine: ctrl-C reaches every process, and the client ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Start a process that ctrl-C does not end, while it still imports: it inherits the mask."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextlib.contextmanager
def interrupted_later() -> Iterator[None]:
    """Hold ctrl-C back until the block is over, for what must not be left half done.

    That is what Dask starts, since it cannot close it half started, and imports: extension modules
    lose a KeyboardInterrupt. Where ctrl-C is ignored, or in a thread that does not get it, as is.
    """
    before = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or before in (signal.SIG_IGN, None):
        yield
        return
    held: list[int] = []

    def hold(number: int, frame: Any) -> None:
        if held:  # a second one comes through
            raise KeyboardInterrupt
        held.append(number)

    signal.signal(signal.SIGINT, hold)
    try:
        yield
    except Exception:  # perhaps of a worker that was interrupted, too
        if not held:
            raise
    finally:
        signal.signal(signal.SIGINT, before)
    if held:
        raise KeyboardInterrupt
