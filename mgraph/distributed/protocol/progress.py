"""The progress line of an operation: size, rate, time left. Without a terminal, one every 10 s."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from mgraph.core.formatting import pluralize

REFRESH_SECONDS = 0.25
LINE_SECONDS = 10.0


def quantity(value: float) -> str:
    """Format a number with three digits and an SI prefix: 1.23 G."""
    for factor, prefix in (
        (1e18, "E"),
        (1e15, "P"),
        (1e12, "T"),
        (1e9, "G"),
        (1e6, "M"),
        (1e3, "k"),
    ):
        if value >= 0.9995 * factor:  # with three digits that is 1
            return f"{value / factor:.3g} {prefix}"
    return f"{value:.3g}"


def duration(seconds: float) -> str:
    """Format hours, minutes and seconds: 1:02:03, or 0:07."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


class Progress:
    """A context that draws a progress line, ``verb 37% …``, which ``add`` moves forward.

    size, parts: the totals; ``unit`` is the unit of the size. stream: where the line is drawn;
    nothing is drawn to None or to a closed stream.
    """

    def __init__(
        self,
        verb: str,
        size: int,
        parts: int,
        stream: TextIO | None = sys.stderr,
        unit: str = "edges",
        partial_size: Callable[[], int] = lambda: 0,
        note: Callable[[], str] = lambda: "",
    ) -> None:
        """Nothing is drawn before the context is entered.

        partial_size: called before each drawing, the size that is done of unfinished parts. note:
        called after that, the text at the end of the line.
        """
        self._verb, self._size, self._parts = verb, size, parts
        self._stream, self._unit = None if stream is None or stream.closed else stream, unit
        self._done_size = self._done_parts = 0
        self._partial_size, self._note, self._shown_size = partial_size, note, 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._draw, daemon=True, name="mgraph-progress")

    def __enter__(self) -> "Progress":
        """Start drawing."""
        self._began = time.monotonic()
        if self._stream is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        """Stop drawing, and clear a terminal's line."""
        self._stopped.set()
        if self._stream is not None:
            self._thread.join()

    def add(self, size: int) -> None:
        """Count one more finished part, of this size."""
        self._done_size += size
        self._done_parts += 1

    def line(self) -> str:
        """Return the line as it is now."""
        parts = f"{self._done_parts}/{pluralize(self._parts, 'part')}"
        partial_size = 0
        with contextlib.suppress(Exception):  # the operation itself reports a lost cluster
            partial_size = self._partial_size()
        note = self._note()
        if not self._size:
            return f"{self._verb} {parts}{note}"
        seconds = max(time.monotonic() - self._began, 1e-9)
        # A late report, or a worker that is lost, does not move the line back.
        done = max(self._shown_size, min(self._done_size + partial_size, self._size))
        self._shown_size = done
        rate = done / seconds
        share = done / self._size
        remaining = f"{duration((self._size - done) / rate)} left" if rate else "starting"
        return (
            f"{self._verb} {share:4.0%}  {quantity(done)} of "
            f"{quantity(self._size)} {self._unit}, {parts}, "
            f"{quantity(rate)} {self._unit}/s, {remaining}{note}"
        )

    def _draw(self) -> None:
        stream = self._stream
        assert stream is not None
        is_terminal = stream.isatty()
        while not self._stopped.wait(REFRESH_SECONDS if is_terminal else LINE_SECONDS):
            stream.write(f"\r\x1b[K{self.line()}" if is_terminal else f"{self.line()}\n")
            stream.flush()
        if is_terminal:
            stream.write("\r\x1b[K")
            stream.flush()
