"""Whether a thread's work is still wanted: who began it knows, and the algorithm asks.

The layer that distributes work says how to tell (``stopping_when``); an algorithm calls ``check``
between steps, which should take no longer than a second. Compiled code, which cannot call, reads
a word that is set from outside (``word``), returns early, and is followed by a ``check``; kernels
read one of the device (``stopping_gpu``). A thread that begins others hands on what it was told
(``handed_on``). Where nobody said how to tell, nothing stops, and no thread is started.
"""

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar

import numpy as np

LOOK_SECONDS = 0.1
PIECE = 1 << 22  # things that compiled code sees to between two checks, at some 100 ns each

_told: list[np.ndarray] = []  # words that are set stay so: a kernel may still be about to look

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


class Stopped(Exception):
    """Nobody wants the result any more. Whoever stopped the work knows why."""


class Work:
    """What a thread was told to do, and the threads that it began: called, whether it is to stop.

    Once it is, it stays so.
    """

    def __init__(self, stopped: Callable[[], bool] | None = None) -> None:
        """Take what tells; None: nothing does."""
        self._stopped, self._words = stopped, [np.zeros(1, np.uint8)]
        self._lock, self._over = threading.Lock(), threading.Event()
        self._watcher: threading.Thread | None = None
        self.making = threading.Lock()  # of what stopping_gpu keeps here, when a kernel asks for it
        self.device_word: Any = None

    def __call__(self) -> bool:
        """Whether the work is to stop."""
        if self._words[0][0]:
            return True
        if self._stopped is None or not self._stopped():
            return False
        self._tell()
        return True

    @property
    def stoppable(self) -> bool:
        """Whether anything can stop it."""
        return self._stopped is not None

    def _tell(self) -> None:
        with self._lock:
            for word in self._words:
                word[0] = 1
            _told.extend(self._words[1:])

    def word(self) -> np.ndarray:
        """A word that is watched from now on, until the work is over."""
        with self._lock:
            if self._watcher is None and self._stopped is not None and not self._over.is_set():
                name = "mgraph-stopping"
                self._watcher = threading.Thread(target=self._watch, daemon=True, name=name)
                self._watcher.start()
        return self._words[0]

    def also_set(self, word: np.ndarray) -> None:
        """Set the first element of another array, too, when the work is to stop."""
        with self._lock:
            self._words.append(word)
            word[0] = self._words[0][0]
            if word[0]:
                _told.append(word)

    def _watch(self) -> None:
        while not self() and not self._over.wait(LOOK_SECONDS):
            pass

    def end(self) -> None:
        """It is done: nobody asks any more."""
        with self._lock:
            self._over.set()
            watcher = self._watcher
        if watcher is not None:
            watcher.join()


_WANTED = Work()


class _Thread(threading.local):
    work = _WANTED


_thread = _Thread()


def current() -> Work:
    """What tells whether this thread's work is to stop, for another thread to ask."""
    return _thread.work


@contextlib.contextmanager
def stopping_when(stopped: Callable[[], bool]) -> Iterator[None]:
    """For the length of a block, this thread's work is to stop as soon as ``stopped()``.

    stopped: asked by other threads, too, ten times a second; or another thread's ``current()``.
    """
    work = stopped if isinstance(stopped, Work) else Work(stopped)
    before, _thread.work = _thread.work, work
    try:
        yield
    finally:
        _thread.work = before
        if work is not stopped:
            work.end()


def handed_on(function: Callable[P, R], work: Work | None = None) -> Callable[P, R]:
    """The function, for another thread: there it stops when what this thread does is to stop.

    It is not even begun where that is so already. work: what it stops with, if not with that.
    """
    work = work or current()

    def begun(*args: P.args, **kwargs: P.kwargs) -> R:
        with stopping_when(work):
            check()
            return function(*args, **kwargs)

    return begun


def map_in_threads(function: Callable[[T], R], items: Iterable[T], threads: int) -> list[R]:
    """``function(item)`` for each item in so many threads, which stop when this thread does.

    That is at their next ``check`` when an item fails or this thread is interrupted, too.
    """
    outer, is_over = current(), threading.Event()
    work = Work(lambda: is_over.is_set() or outer())
    try:
        with ThreadPoolExecutor(threads) as pool:
            try:
                return list(pool.map(handed_on(function, work), items))
            except BaseException:
                is_over.set()
                raise
    finally:
        work.end()


@contextlib.contextmanager
def holding(lock: "threading.Lock | threading.Semaphore") -> Iterator[None]:
    """Hold a lock, or a place of a semaphore, for a block; cancelled work does not wait for it."""
    while not lock.acquire(timeout=LOOK_SECONDS):
        check()
    try:
        check()
        yield
    finally:
        lock.release()


def left_behind(function: Callable[[], R]) -> R:
    """What a function returns that nothing stops; only wanted work waits for it.

    It goes on to its end in a thread of its own, also when nobody waits any more.
    """
    if not current().stoppable:
        return function()
    check()
    found: Future[R] = Future()
    over = threading.Event()

    def run() -> None:
        try:
            found.set_result(function())
        except BaseException as error:
            found.set_exception(error)
        over.set()

    threading.Thread(target=run, daemon=True, name="mgraph-left-behind").start()
    while not over.wait(LOOK_SECONDS):
        check()
    return found.result()


def check() -> None:
    """Raise Stopped where this thread's work is no longer wanted; costs less than a microsecond."""
    if _thread.work():
        raise Stopped


def word() -> np.ndarray:
    """A (1,) uint8 array, 0 while this thread's work is wanted and then 1: for compiled code.

    Code that runs without the interpreter's lock reads it now and then and returns early; call
    ``check`` after it, since what it returned is of no use then.
    """
    return _thread.work.word()


def pieces(count: int, length: int = PIECE) -> Iterator[slice]:
    """Slices of ``length`` that make up ``count`` things, with a ``check`` before each."""
    for begin in range(0, count, length):
        check()
        yield slice(begin, min(begin + length, count))
