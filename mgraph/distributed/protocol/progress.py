"""The progress of an operation: share, size, rate and time left.

On a terminal and in a notebook it is a bar of tqdm's; elsewhere, one line every 10 s.
"""

import contextlib
import shutil
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TextIO

from mgraph.core.formatting import format_duration, format_quantity, pluralize

REFRESH_SECONDS = 0.25
LINE_SECONDS = 10.0


class Progress:
    """A context that shows the progress of an operation, which ``add`` moves forward.

    size, parts: the totals; ``unit`` is the unit of the size. stream: where it is shown; nothing is
    shown on None or on a closed stream.
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
        """Return the progress as it is now, as one line."""
        share, text = self._measure()
        return f"{self._verb} {share:4.0%}  {text}" if self._size else f"{self._verb} {text}"

    def _measure(self) -> tuple[float, str]:
        """Return the share that is done, and the rest of the line."""
        parts = f"{self._done_parts}/{pluralize(self._parts, 'part')}"
        partial_size = 0
        with contextlib.suppress(Exception):  # the operation itself reports a lost cluster
            partial_size = self._partial_size()
        note = self._note()
        if not self._size:
            return self._done_parts / max(self._parts, 1), f"{parts}{note}"
        seconds = max(time.monotonic() - self._began, 1e-9)
        # A late report, or a worker that is lost, does not move the bar back.
        done = max(self._shown_size, min(self._done_size + partial_size, self._size))
        self._shown_size = done
        rate = done / seconds
        remaining = f"{format_duration((self._size - done) / rate)} left" if rate else "starting"
        return done / self._size, (
            f"{format_quantity(done)} of {format_quantity(self._size)} {self._unit}, {parts}, "
            f"{format_quantity(rate)} {self._unit}/s, {remaining}{note}"
        )

    def _draw(self) -> None:
        assert self._stream is not None
        bar = _start_bar(self._verb, self._stream)
        if bar is None:
            while not self._stopped.wait(LINE_SECONDS):
                self._stream.write(f"{self.line()}\n")
                self._stream.flush()
            return
        while not self._stopped.wait(REFRESH_SECONDS):
            bar.n, text = self._measure()
            bar.set_description_str(text)
        bar.close()


def _start_bar(verb: str, stream: TextIO) -> Any:
    """Return a bar of tqdm's from 0 to 1, or None where there is no terminal and no notebook."""
    from tqdm import auto, autonotebook, std

    is_notebook = autonotebook.tqdm is not std.tqdm
    if not is_notebook and not stream.isatty():
        return None
    bar = "{bar}" if is_notebook else "{bar:20}"
    columns, lines = shutil.get_terminal_size()  # 80 by 24 where a terminal does not know its size
    return auto.tqdm(
        total=1.0, file=stream, leave=False, ncols=None if is_notebook else columns, nrows=lines,
        bar_format=f"{verb} {{percentage:3.0f}}%|{bar}| {{desc}}",
    )  # fmt: skip
