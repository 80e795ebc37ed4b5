"""Why the worker processes of a program may fail to start: each runs the program's file again.

A worker on this machine is a new Python process that first runs the program's file, under another
name than ``__main__``, to have the program's functions. That needs a file that can be read again.
A program that starts a cluster whenever it is run would also start one in the worker, which Python
refuses; so a program's work belongs under ``if __name__ == "__main__":``.
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
_GUARD_NAMES = {"__name__", "parent_process", "current_process"}  # by which programs know a worker


@contextlib.contextmanager
def hiding_unreadable_file() -> Iterator[None]:
    """Keep workers that start in the block from running the program's file if it cannot be read.

    A program from standard input or from a pipe has no file, nor has one whose file was removed.
    Its functions reach the workers without it, as those of ``python -c`` do.
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
    """Return whether another process finds a file at this path."""
    return os.path.isfile(file) and not os.path.abspath(file).startswith(("/dev/", "/proc/"))


def unguarded_start(certain: bool) -> str | None:
    """Return the sentence for a program that starts a cluster when it is imported, or None.

    certain: only if nothing in the program could keep a worker from doing the same.
    """
    frame = _main_frame()
    if frame is None:
        return None
    try:
        with open(frame.f_code.co_filename, "rb") as stream, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the parser's, about the program's own text
            tree = ast.parse(stream.read())
    except (OSError, SyntaxError, ValueError):
        return None
    enclosing = _enclosing_nodes(tree, frame.f_lineno)
    if any(isinstance(node, ast.If) and _names(node.test) & _GUARD_NAMES for node in enclosing):
        return None
    conditions = (ast.If, ast.While, ast.Match, ast.Try, ast.TryStar)
    is_conditional = any(isinstance(node, conditions) for node in enclosing)
    if certain and (is_conditional or _names(tree) & _GUARD_NAMES):
        return None
    return (
        f"{os.path.basename(frame.f_code.co_filename)} starts a cluster in line {frame.f_lineno}, "
        "and workers on this machine run that file again when they start: put the work under "
        f"{_GUARD}"
    )


def _names(tree: ast.AST) -> set[str]:
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return names | {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


def _enclosing_nodes(tree: ast.AST, line: int) -> list[ast.AST]:
    """Return the syntax nodes that contain a line, the outermost first."""
    nodes = []
    for node in ast.iter_child_nodes(tree):
        end = getattr(node, "end_lineno", None)
        if end is not None and node.lineno <= line <= end:  # type: ignore[attr-defined]
            nodes += [node, *_enclosing_nodes(node, line)]
    return nodes


def _main_frame() -> FrameType | None:
    """Return the frame that runs the program's file, or None if workers do not run the file."""
    main: Any = sys.modules["__main__"]
    spec, file = getattr(main, "__spec__", None), getattr(main, "__file__", None)
    if file is None or not _is_stored(file):
        return None
    if spec is not None and spec.name.rpartition(".")[2] == "__main__":  # workers skip it
        return None
    frames = [sys._getframe(), sys._current_frames().get(threading.main_thread().ident or 0)]
    for frame in frames:
        while frame is not None:
            code = frame.f_code
            is_module = code.co_name == "<module>" and frame.f_globals is vars(main)
            if is_module and os.path.abspath(code.co_filename) == os.path.abspath(file):
                return frame
            frame = frame.f_back
    return None
