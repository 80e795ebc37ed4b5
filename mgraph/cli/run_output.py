"""What a run has printed, on its way to standard output."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from mgraph.cli import streams


def print_output(chunks: Iterator[bytes]) -> bool:
    """Write a run's output and a final newline; return False once its reader is gone."""
    chunk = b"\n"
    for chunk in chunks:
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        if streams.reader_is_gone():
            return False
    if not chunk.endswith(b"\n"):
        click.echo(err=True)
    return True


def read_output(runs: Any, run: Any) -> Iterator[bytes]:
    """Yield what a run has printed so far."""
    start = 0
    while chunk := runs.output(run, start):
        yield chunk
        start += len(chunk)


def select_task_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the complete lines of the output that came from tasks."""
    from mgraph.distributed.submission.task_output import MARK

    remainder = b""
    for chunk in chunks:
        *lines, remainder = (remainder + chunk).split(b"\n")
        if task_lines := [line + b"\n" for line in lines if line.startswith(MARK)]:
            yield b"".join(task_lines)
        if not remainder.startswith(MARK):
            remainder = remainder[: len(MARK)]  # enough to see that it has no mark
    if remainder.startswith(MARK):
        yield remainder
