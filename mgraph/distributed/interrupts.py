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
def interrupts_handled(handler: Any) -> Iterator[None]:
    """Handle ctrl-C so; as before where it is ignored, or in a thread that does not get it."""
    before = signal.getsignal(signal.SIGINT)
    in_main = threading.current_thread() is threading.main_thread()
    if not in_main or before in (signal.SIG_IGN, None):
        yield
        return
    signal.signal(signal.SIGINT, handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextlib.contextmanager
def interrupted_later() -> Iterator[None]:
    """Hold ctrl-C back until the block is over: Dask cannot close what is half started."""
    held: list[int] = []

    def hold(number: int, frame: Any) -> None:
        if held:  # a second one comes through
            raise KeyboardInterrupt
        held.append(number)

    with interrupts_handled(hold):
        try:
            yield
        except Exception:  # perhaps of a worker that was interrupted, too
            if not held:
                raise
    if held:
        raise KeyboardInterrupt
