"""Handling of ctrl-C and of the signals that end a process."""

import contextlib
import signal
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any

MAX_WAIT_SECONDS = 10.0  # after which an interrupt no longer waits for code that would lose it
_RETRY_SECONDS = 0.02
# The files of code that loses what is raised in the midst of it: importlib and callbacks of weak
# references.
_LOSING_FILES = (
    "<frozen importlib._bootstrap>",
    weakref.finalize.__call__.__code__.co_filename,
    weakref.WeakSet.__init__.__code__.co_filename,
)


@contextlib.contextmanager
def signals_as_interrupts() -> Iterator[list[int]]:
    """Treat SIGTERM and SIGHUP as ctrl-C in a block; yields the list of signals received.

    A KeyboardInterrupt waits for the end of an import and of a finalizer: raised in the midst of
    one, it is lost. Signals that are ignored or handled already keep their handlers. In any thread
    but the main one nothing is changed.
    """
    received: list[int] = []
    began = 0.0

    def interrupt(number: int, frame: Any) -> None:
        nonlocal began
        if not received:
            began = time.monotonic()
        received.append(number)
        current = signal.getsignal(signal.SIGINT)
        if callable(current) and current is not interrupt:
            current(signal.SIGINT, frame)  # deferred_interrupts
        elif _would_be_lost(frame) and time.monotonic() - began < MAX_WAIT_SECONDS:
            _send_later(number)
        else:
            raise KeyboardInterrupt

    previous: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        defaults = {
            signal.SIGINT: signal.default_int_handler,
            signal.SIGTERM: signal.SIG_DFL,
            signal.SIGHUP: signal.SIG_DFL,
        }
        previous = {
            number: handler
            for number, handler in defaults.items()
            if signal.getsignal(number) == handler
        }
    for number in previous:
        signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for number, handler in previous.items():
            signal.signal(number, handler)


def _would_be_lost(frame: Any) -> bool:
    """Return whether a frame is part of an import or of a finalizer."""
    while frame is not None:
        if frame.f_code.co_filename in _LOSING_FILES or frame.f_code.co_name == "__del__":
            return True
        frame = frame.f_back
    return False


def _send_later(number: int) -> None:
    """Send this thread a signal in a moment."""
    arguments = threading.get_ident(), number
    timer = threading.Timer(_RETRY_SECONDS, signal.pthread_kill, arguments)
    timer.daemon = True
    timer.start()


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
