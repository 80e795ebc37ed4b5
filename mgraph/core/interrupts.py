"""What ctrl-C does to what it must not break off, and other words to end do as ctrl-C."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any


@contextlib.contextmanager
def ended_as_by_ctrl_c() -> Iterator[list[int]]:
    """In this block a SIGTERM or SIGHUP does what ctrl-C does; gives a list of those that came.

    But for those that are ignored or handled already, and in a thread that does not get them.
    """
    came: list[int] = []

    def end(number: int, frame: Any) -> None:
        came.append(number)
        handler = signal.getsignal(signal.SIGINT)
        if callable(handler):
            handler(signal.SIGINT, frame)
        else:  # ctrl-C is ignored, as in the background of a script
            raise KeyboardInterrupt

    numbers = []
    if threading.current_thread() is threading.main_thread():
        words = (signal.SIGTERM, signal.SIGHUP)
        numbers = [number for number in words if signal.getsignal(number) == signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, end)
    try:
        yield came
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


@contextlib.contextmanager
def interrupted_later(then: Callable[[], None] | None = None) -> Iterator[None]:
    """Hold ctrl-C back until the block is over, for what must not be left half done.

    That is what Dask starts, since it cannot close it half started, and imports and Numba's code:
    extension modules lose a KeyboardInterrupt, or crash. then: called at once, so that the block
    ends sooner. Where ctrl-C is ignored, or in a thread that does not get it, as is.
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
        if then is not None:
            then()

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
