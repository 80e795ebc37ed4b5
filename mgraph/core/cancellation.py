"""Cooperative cancellation: a thread's work can be cancelled, and the algorithm asks whether it is.

Whoever starts the work installs a test with ``cancelled_when``; an algorithm calls
``raise_if_cancelled`` between steps of at most about a second. Compiled code, which cannot call
Python, reads a flag in memory (``cancel_flag``) and returns early; the caller then calls
``raise_if_cancelled``. Kernels read a flag that the device can see (``cancellation_gpu``). A thread
that starts other threads passes its token on (``with_token``). Without an installed test nothing is
ever cancelled, and no watcher thread is started.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

import numpy as np

POLL_SECONDS = 0.1
CHUNK = 1 << 22  # elements that compiled code handles between two checks, at some 100 ns each

# Flags that were raised are kept for the life of the process: a kernel may still read them.
_raised_flags: list[np.ndarray] = []

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Cancelled(Exception):
    """The work was cancelled. Whoever cancelled it knows why."""


class CancelToken:
    """Whether the work of one or several threads is cancelled. Once cancelled, it stays so."""

    def __init__(self, is_cancelled: Callable[[], bool] | None = None) -> None:
        """Take the test to poll; None: the work cannot be cancelled."""
        self._is_cancelled, self._flags = is_cancelled, [np.zeros(1, np.uint8)]
        self._lock, self._over = threading.Lock(), threading.Event()
        self._watcher: threading.Thread | None = None
        # The device's flag, which cancellation_gpu makes when a kernel first needs it.
        self.device_flag_lock = threading.Lock()
        self.device_flag: Any = None

    def __call__(self) -> bool:
        """Whether the work is cancelled."""
        if self._flags[0][0]:
            return True
        if self._is_cancelled is None or not self._is_cancelled():
            return False
        self._raise_flags()
        return True

    @property
    def is_cancellable(self) -> bool:
        """Whether there is a test that could cancel the work."""
        return self._is_cancelled is not None

    def _raise_flags(self) -> None:
        with self._lock:
            for flag in self._flags:
                flag[0] = 1
            _raised_flags.extend(self._flags[1:])

    def flag(self) -> np.ndarray:
        """The (1,) uint8 flag; a thread polls the test and raises it, until the work is over."""
        with self._lock:
            if self._watcher is None and self.is_cancellable and not self._over.is_set():
                name = "mgraph-cancellation"
                self._watcher = threading.Thread(target=self._watch, daemon=True, name=name)
                self._watcher.start()
        return self._flags[0]

    def mirror_to(self, flag: np.ndarray) -> None:
        """Also set the first element of ``flag`` when the work is cancelled."""
        with self._lock:
            self._flags.append(flag)
            flag[0] = self._flags[0][0]
            if flag[0]:
                _raised_flags.append(flag)

    def _watch(self) -> None:
        while not self() and not self._over.wait(POLL_SECONDS):
            pass

    def close(self) -> None:
        """End the watcher thread: the work is over."""
        with self._lock:
            self._over.set()
            watcher = self._watcher
        if watcher is not None:
            watcher.join()


_NEVER = CancelToken()


class _Thread(threading.local):
    token = _NEVER


_thread = _Thread()


def current_token() -> CancelToken:
    """The token of this thread's work, which other threads may poll, too."""
    return _thread.token


@contextlib.contextmanager
def cancelled_when(is_cancelled: Callable[[], bool]) -> Iterator[None]:
    """Cancel this thread's work of the block as soon as ``is_cancelled()``.

    is_cancelled: polled by other threads as well, ten times per second; or another thread's token.
    """
    token = is_cancelled if isinstance(is_cancelled, CancelToken) else CancelToken(is_cancelled)
    outer, _thread.token = _thread.token, token
    try:
        yield
    finally:
        _thread.token = outer
        if token is not is_cancelled:
            token.close()


def with_token(function: Callable[P, R], token: CancelToken | None = None) -> Callable[P, R]:
    """Wrap a function for another thread, so that it is cancelled together with this thread's work.

    Work that is cancelled already does not start. token: in place of this thread's.
    """
    shared = token or current_token()

    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        with cancelled_when(shared):
            raise_if_cancelled()
            return function(*args, **kwargs)

    return wrapped


def map_in_threads(function: Callable[[T], R], items: Iterable[T], threads: int) -> list[R]:
    """``function(item)`` for each item, on that many threads, cancelled together with this one.

    When an item fails, or this thread is interrupted, the others end at their next check.
    """
    outer, is_over = current_token(), threading.Event()
    token = CancelToken(lambda: is_over.is_set() or outer())
    try:
        with ThreadPoolExecutor(threads) as pool:
            try:
                return list(pool.map(with_token(function, token), items))
            except BaseException:
                is_over.set()
                raise
    finally:
        token.close()


@contextlib.contextmanager
def acquiring(lock: "threading.Lock | threading.Semaphore") -> Iterator[None]:
    """Hold a lock or a semaphore for the block; cancelled work stops waiting for it."""
    while not lock.acquire(timeout=POLL_SECONDS):
        raise_if_cancelled()
    try:
        raise_if_cancelled()
        yield
    finally:
        lock.release()


def run_detached(function: Callable[[], R]) -> R:
    """Run a function that cannot be cancelled; cancelled work stops waiting for its result.

    The function runs to its end in a thread of its own, whether or not its result is awaited.
    """
    if not current_token().is_cancellable:
        return function()
    raise_if_cancelled()
    result: Future[R] = Future()
    over = threading.Event()

    def run() -> None:
        try:
            result.set_result(function())
        except BaseException as error:
            result.set_exception(error)
        over.set()

    threading.Thread(target=run, daemon=True, name="mgraph-detached").start()
    while not over.wait(POLL_SECONDS):
        raise_if_cancelled()
    return result.result()


def raise_if_cancelled() -> None:
    """Raise Cancelled if this thread's work is cancelled; costs less than a microsecond."""
    if _thread.token():
        raise Cancelled


def cancel_flag() -> np.ndarray:
    """A (1,) uint8 array, 0 until this thread's work is cancelled and 1 from then on.

    For compiled code, which reads it now and then without the interpreter's lock and returns early.
    Call ``raise_if_cancelled`` afterwards: what such code returned is incomplete.
    """
    return _thread.token.flag()


def chunks(count: int, length: int = CHUNK) -> Iterator[slice]:
    """Slices of ``length`` that cover ``count`` elements, with a check before each."""
    for begin in range(0, count, length):
        raise_if_cancelled()
        yield slice(begin, min(begin + length, count))
