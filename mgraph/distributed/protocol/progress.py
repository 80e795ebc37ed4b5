"""The terminal's progress line: size, rate, time left; without a terminal, a line now and then."""

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
    """A number with three digits and an SI prefix: 1.23 G."""
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
    """Hours, minutes and seconds: 1:02:03, or 0:07."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


class Progress:
    """A context in which ``add`` moves one line along: ``verb 37 % …``.

    size, parts: the totals, of which the size is in ``unit``. stream: where it is drawn; None, or
    one that was closed since, draws nothing.
    """

    def __init__(
        self,
        verb: str,
        size: int,
        parts: int,
        stream: TextIO | None = sys.stderr,
        unit: str = "edges",
        under_way: Callable[[], int] = lambda: 0,
        note: Callable[[], str] = lambda: "",
    ) -> None:
        """Nothing is drawn before the context is entered.

        under_way: asked each time the line is drawn, what is done of parts that are not finished.
        note: asked after that, what stands at the line's end.
        """
        self._verb, self._size, self._parts = verb, size, parts
        self._stream, self._unit = None if stream is None or stream.closed else stream, unit
        self._done_size = self._done_parts = 0
        self._under_way, self._note, self._shown = under_way, note, 0
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._draw, daemon=True, name="mgraph-progress")

    def __enter__(self) -> "Progress":
        """Start drawing."""
        self._begun = time.monotonic()
        if self._stream is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        """Draw the last state and end the line."""
        self._stopped.set()
        if self._stream is not None:
            self._thread.join()

    def add(self, size: int) -> None:
        """One more part is finished, with this many edges or arcs."""
        self._done_size += size
        self._done_parts += 1

    def line(self) -> str:
        """The line as it stands now."""
        parts = f"{self._done_parts}/{pluralize(self._parts, 'part')}"
        part_done = 0
        with contextlib.suppress(Exception):  # what is lost with the cluster is told elsewhere
            part_done = self._under_way()
        note = self._note()
        if not self._size:
            return f"{self._verb} {parts}{note}"
        seconds = max(time.monotonic() - self._begun, 1e-9)
        done = max(self._shown, min(self._done_size + part_done, self._size))
        self._shown = done  # what is told late, or is lost with a worker, does not move it back
        rate = done / seconds
        share = done / self._size
        left = f"{duration((self._size - done) / rate)} left" if rate else "starting"
        return (
            f"{self._verb} {share:4.0%}  {quantity(done)} of "
            f"{quantity(self._size)} {self._unit}, {parts}, "
            f"{quantity(rate)} {self._unit}/s, {left}{note}"
        )

    def _draw(self) -> None:
        stream = self._stream
        assert stream is not None
        terminal = stream.isatty()
        while not self._stopped.wait(REFRESH_SECONDS if terminal else LINE_SECONDS):
            stream.write(f"\r\x1b[K{self.line()}" if terminal else f"{self.line()}\n")
            stream.flush()
        if terminal:
            stream.write("\r\x1b[K")
            stream.flush()
