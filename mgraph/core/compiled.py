"""The decorator of the package's Numba functions: machine code, kept on disk, without the GIL.

Numba compiles a function anew when its own file changes, and not when a file changes that it calls
into: after an edit there, or a ``git pull``, the old machine code would go on giving old results.
So here the folder that keeps a file's machine code is named by all that it is made of.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import config
from numba.core import event

from mgraph import compilation
from mgraph.core import stopping

_digests: dict[str, str] = {}  # by file


class _Listener(event.Listener):
    """Hears of Numba's compiler when it runs, which it does not for code that is on disk."""

    def on_start(self, event: Any) -> None:
        """Numba's hook."""
        compilation.COMPILING.enter()

    def on_end(self, event: Any) -> None:
        """Numba's hook."""
        compilation.COMPILING.leave()


event.register("numba:compile", _Listener())


def compiled(function: Callable[..., Any]) -> Any:
    """``numba.njit(nogil=True)``, its machine code kept until a source that it is made of changes.

    The code lies beside its source, or among the user's caches where that cannot be written; where
    NUMBA_CACHE_DIR is set, there. Work that is stopped does not wait for the compiler.
    """
    names = function.__globals__
    before, config.CACHE_DIR = config.CACHE_DIR, _folder(Path(names["__file__"]), _digest(names))
    try:
        made = numba.njit(cache=True, nogil=True)(function)
    finally:
        config.CACHE_DIR = before
    compile = made.compile

    def ready(types: Any) -> Any:
        with compilation.PREPARING.span():
            return compile(types)

    made.compile = lambda types: stopping.left_behind(lambda: ready(types))
    return made


def _digest(names: dict[str, Any]) -> str:
    """Of a module's text, of the modules whose functions it imports, and of imported numbers."""
    file = names["__file__"]
    if file not in _digests:
        parts = [Path(file).read_text(encoding="utf-8")]
        for name, value in names.items():
            function = getattr(value, "py_func", value)  # what Numba compiled
            if isinstance(value, int | float | np.generic):
                parts.append(f"{name} = {value!r}")
            elif isinstance(function, FunctionType) and _same_package(function.__globals__, names):
                parts.append(_digest(function.__globals__))
        _digests[file] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return _digests[file]


def _same_package(there: dict[str, Any], here: dict[str, Any]) -> bool:
    """Whether these are the names of two modules of one package."""
    packages = {names["__name__"].partition(".")[0] for names in (there, here)}
    return len(packages) == 1 and there is not here


def _folder(file: Path, digest: str) -> str:
    folder = file.parent / "__pycache__"
    if config.CACHE_DIR:
        folder = Path(config.CACHE_DIR)
    elif not os.access(folder if folder.exists() else file.parent, os.W_OK):
        folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mgraph"
    return str(folder / f"{file.stem}-{digest[:16]}")
