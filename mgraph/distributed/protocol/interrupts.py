"""What ctrl-C does to the processes of a cluster that was started here.

A terminal sends it to all of them. The client ends them, so workers ignore it.
"""

import contextlib
import signal
from collections.abc import Iterator


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
