"""The decorator of the package's Numba functions: machine code, kept on disk, without the GIL.

Numba compiles a function anew when its own file changes, and not when a file changes that it calls
into: after an edit there, or a ``git pull``, the old machine code would go on giving old results.
So here the folder that keeps a file's machine code is named by all that it is made of, and by
nothing else: another environment with the same sources, or a new installation of them, uses it too.

The cache's classes are Numba's own, of 0.61 to 0.68, where they have no documentation.
"""

import contextlib
import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar

import numba
import numpy as np
from numba import config
from numba.core import caching, event

from mgraph import compilation
from mgraph.core import cancellation

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

    The code lies among the user's caches (``~/.cache/mgraph``, or in ``XDG_CACHE_HOME``), or beside
    its source where those cannot be written; where NUMBA_CACHE_DIR is set, there. Work that is
    stopped does not wait for the compiler.
    """
    made = numba.njit(nogil=True)(function)
    made._cache = _Cache(function)
    compile = made.compile

    def ready(types: Any) -> Any:
        with compilation.PREPARING.span():
            return compile(types)

    made.compile = lambda types: cancellation.run_detached(lambda: ready(types))
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


class _Locator:
    """Numba's protocol for where a function's machine code lies, and what it is made of."""

    def __init__(self, function: FunctionType, file: str) -> None:
        names = function.__globals__
        self._stamp = _digest(names)
        self._line = function.__code__.co_firstlineno
        self._folder = _folder(Path(file)) / f"{Path(file).stem}-{self._stamp[:16]}"

    @classmethod
    def from_function(cls, function: FunctionType, file: str) -> "_Locator":
        return cls(function, file)

    def ensure_cache_path(self) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(self._folder)

    def get_source_stamp(self) -> str:
        return self._stamp

    def get_disambiguator(self) -> str:
        return str(self._line)


class _CacheImpl(caching.CompileResultCacheImpl):
    _locator_classes: ClassVar = [_Locator]


class _Cache(caching.FunctionCache):
    _impl_class = _CacheImpl

    def load_overload(self, signature: Any, target: Any) -> Any:
        with contextlib.suppress(OSError):
            return super().load_overload(signature, target)

    def save_overload(self, signature: Any, data: Any) -> None:
        with contextlib.suppress(OSError):  # code that cannot be kept is good code all the same
            super().save_overload(signature, data)


def _folder(file: Path) -> Path:
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR)
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mgraph" / "numba"
    with contextlib.suppress(OSError):
        caches.mkdir(parents=True, exist_ok=True)
        if os.access(caches, os.W_OK):
            return caches
    return file.parent / "__pycache__"
