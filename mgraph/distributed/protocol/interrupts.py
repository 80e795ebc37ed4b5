"""How ctrl-C reaches the processes of a cluster that this process started.

A terminal sends the signal to all of them. Workers ignore it, and the client ends them.
"""

import contextlib
import signal
from collections.abc import Iterator


def ignore_interrupts() -> None:
    """Ignore ctrl-C in a worker of this machine: the client ends the worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextlib.contextmanager
def interrupts_blocked() -> Iterator[None]:
    """Block ctrl-C in a process that is started in the block: the process inherits the mask.

    So the signal does not end it before it has imported what ignores the signal.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
