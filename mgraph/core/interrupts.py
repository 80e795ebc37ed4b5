"""Handling of ctrl-C and of the signals that end a process."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def signals_as_interrupts() -> Iterator[list[int]]:
    """Treat SIGTERM and SIGHUP as ctrl-C in a block; yields the list of those received.

    Signals that are ignored or handled already keep their handlers. In any thread but the main one
    nothing is changed.
    """
    received: list[int] = []

    def interrupt(number: int, frame: Any) -> None:
        received.append(number)
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(signal.SIGINT, frame)
        else:  # ctrl-C is ignored, as in the background of a script
            raise KeyboardInterrupt

    numbers = []
    if threading.current_thread() is threading.main_thread():
        candidates = (signal.SIGTERM, signal.SIGHUP)
        numbers = [number for number in candidates if signal.getsignal(number) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def deferred_interrupts(on_interrupt: Callable[[], None] | None = None) -> Iterator[None]:
    """Defer ctrl-C until the end of a block that must not be left half done.

    Such blocks start parts of Dask, which cannot be closed half started, import extension modules,
    or run Numba's code: extension modules lose a KeyboardInterrupt, or crash. on_interrupt: called
    at once, so that the block ends sooner. A second ctrl-C is not deferred. If ctrl-C is ignored,
    or in any thread but the main one, nothing is changed.
    """
    previous = signal.getsignal(signal.SIGINT)
    is_main = threading.current_thread() is threading.main_thread()
    if not is_main or previous in (signal.SIG_IGN, None):
        yield
        return
    deferred: list[int] = []

    def defer(number: int, frame: Any) -> None:
        if deferred:
            raise KeyboardInterrupt
        deferred.append(number)
        if on_interrupt is not None:
            on_interrupt()

    signal.signal(signal.SIGINT, defer)
    try:
        yield
    except Exception:  # perhaps of a worker that was interrupted, too
        if not deferred:
            raise
    finally:
        signal.signal(signal.SIGINT, previous)
    if deferred:
        raise KeyboardInterrupt
