"""What worker processes import of the program that starts them, and why that may end them.

A worker on this machine is a new Python process that first runs the program's file again, under
another name than ``__main__``, so that it has its functions. That needs a file that can be read
again; and a program that starts a cluster whenever it is run would start one in the worker, which
Python refuses. So work belongs under ``if __name__ == "__main__":``.
"""

import ast
import contextlib
import os
import sys
import threading
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any

_GUARD = 'if __name__ == "__main__":'
_OWN_GUARDS = {"__name__", "parent_process", "current_process"}  # how programs tell a worker


@contextlib.contextmanager
def readable_again() -> Iterator[None]:
    """In this block workers do not look for the program's file where there is none to read.

    A program from standard input has none, nor one from a pipe, nor one that was removed. Its
    functions reach the workers without it, as those of ``python -c`` do.
    """
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if file is None or getattr(main, "__spec__", None) is not None or _is_stored(file):
        yield
        return
    del main.__file__
    try:
        yield
    finally:
        main.__file__ = file


def _is_stored(file: str) -> bool:
    """Whether another process finds a file at this path."""
    return os.path.isfile(file) and not os.path.abspath(file).startswith(("/dev/", "/proc/"))


def why_workers_fail(certain: bool) -> str | None:
    """The sentence for a program that starts a cluster wherever it is imported, if it is one.

    certain: only where nothing in the program could keep a worker from doing the same.
    """
    frame = _main_frame()
    if frame is None:
        return None
    try:
        with open(frame.f_code.co_filename, "rb") as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its strings, for its author
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return None
    around = _around(tree, frame.f_lineno)
    if any(isinstance(node, ast.If) and _names(node.test) & _OWN_GUARDS for node in around):
        return None
    conditions = (ast.If, ast.While, ast.Match, ast.Try, ast.TryStar)
    if certain and (any(isinstance(node, conditions) for node in around) or _told_apart(tree)):
        return None
    return (
        f"{os.path.basename(frame.f_code.co_filename)} starts a cluster in line {frame.f_lineno}, "
        "and workers on this machine run that file again when they start: put the work under "
        f"{_GUARD}"
    )


def _told_apart(tree: ast.Module) -> bool:
    """Whether a program asks anywhere whether it is run or imported."""
    return bool(_names(tree) & _OWN_GUARDS)


def _names(tree: ast.AST) -> set[str]:
    found = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _around(tree: ast.AST, line: int) -> list[ast.AST]:
    """The statements that a line stands in, the outermost first."""
    found = []
    for node in ast.iter_child_nodes(tree):
        end = getattr(node, "end_lineno", None)
        if end is not None and node.lineno <= line <= end:  # type: ignore[attr-defined]
            found += [node, *_around(node, line)]
    return found


def _main_frame() -> FrameType | None:
    """Where the program's file is being run, if workers run it, too."""
    main: Any = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if file is None or not _is_stored(file):
        return None
    if spec is not None and spec.name.rpartition(".")[2] == "__main__":  # they leave it out
        return None
    frames = [sys._getframe(), sys._current_frames().get(threading.main_thread().ident or 0)]
    for frame in frames:
        while frame is not None:
            code = frame.f_code
            whole = code.co_name == "<module>" and frame.f_globals is vars(main)
            if whole and os.path.abspath(code.co_filename) == os.path.abspath(file):
                return frame
            frame = frame.f_back
    return None
