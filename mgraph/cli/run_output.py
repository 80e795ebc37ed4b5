"""What a run has printed, on its way to standard output."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any

import click

from mgraph.cli import streams


def shown(chunks: Iterator[bytes]) -> bool:
    """Write what a run prints, and a line's end after it; False once its reader is gone."""
    chunk = b"\n"
    for chunk in chunks:
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
        if streams.reader_is_gone():
            return False
    if not chunk.endswith(b"\n"):
        click.echo(err=True)
    return True


def printed(runs: Any, run: Any) -> Iterator[bytes]:
    """What a run has printed so far."""
    start = 0
    while chunk := runs.output(run, start):
        yield chunk
        start += len(chunk)


def lines_of_tasks(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The whole lines among these pieces of output that came from tasks."""
    from mgraph.distributed.submission.task_output import MARK

    rest = b""
    for chunk in chunks:
        *lines, rest = (rest + chunk).split(b"\n")
        if found := [line + b"\n" for line in lines if line.startswith(MARK)]:
            yield b"".join(found)
        if not rest.startswith(MARK):
            rest = rest[: len(MARK)]  # enough to see that it is none
    if rest.startswith(MARK):
        yield rest
