"""What this process has done and is doing, in a few numbers that others may look at while it works.

Counters only grow: "edges" handled, "bytes" written, "queries" answered. Levels are there while
something lasts: "set_point" and "parallelism" of the self-tuning searches that run, both in arcs an
iteration. A level belongs to the thread that set it, and ``read`` gives the sum over all threads.
"""

import contextlib
import threading
from collections.abc import Callable, Iterator

COUNTERS = ("edges", "bytes", "queries")
LEVELS = ("set_point", "parallelism")

_lock = threading.Lock()
_counters: dict[str, float] = dict.fromkeys(COUNTERS, 0)
_levels: dict[tuple[str, int], Callable[[], float]] = {}


def add(name: str, amount: float) -> None:
    """Add to a counter; it is there from its first use on."""
    with _lock:
        _counters[name] = _counters.get(name, 0) + amount


def set(name: str, value: float | Callable[[], float]) -> None:
    """Set this thread's share of a level: a number, or a function that tells it when asked."""
    tell = value if callable(value) else lambda: value
    with _lock:
        _levels[name, threading.get_ident()] = tell


def clear(name: str) -> None:
    """Take this thread's share of a level away; nothing happens where there is none."""
    with _lock:
        _levels.pop((name, threading.get_ident()), None)


@contextlib.contextmanager
def showing(**levels: float | Callable[[], float]) -> Iterator[None]:
    """Set levels for the length of a ``with`` block."""
    for name, value in levels.items():
        set(name, value)
    try:
        yield
    finally:
        for name in levels:
            clear(name)


def read() -> dict[str, float]:
    """All counters, and the levels that are set now."""
    with _lock:
        found = dict(_counters)
        for (name, _), tell in _levels.items():
            found[name] = found.get(name, 0) + tell()
    return found
