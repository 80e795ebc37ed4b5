"""The decorator of the package's Numba functions: no GIL, and machine code kept on disk.

Numba's own cache recompiles a function when its file changes, but not when a file changes whose
functions it calls: after an edit there, or a ``git pull``, the old machine code would go on giving
old results. So here the folder that keeps a file's machine code is named by a hash of all sources
that the code is compiled from, and of nothing else: another environment with the same sources, or a
new installation of them, uses it, too.

The classes of the cache are Numba's own, of 0.61 to 0.68, where they have no documentation.
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
    """Is notified when Numba's compiler runs, which it does not for code that is on disk."""

    def on_start(self, event: Any) -> None:
        """Numba's hook."""
        compilation.COMPILING.enter()

    def on_end(self, event: Any) -> None:
        """Numba's hook."""
        compilation.COMPILING.leave()


event.register("numba:compile", _Listener())


def compiled(function: Callable[..., Any]) -> Any:
    """Apply ``numba.njit(nogil=True)``, and keep the machine code until one of its sources changes.

    The code is kept in NUMBA_CACHE_DIR if that is set, else among the user's caches
    (``~/.cache/mgraph``, or in ``XDG_CACHE_HOME``), or beside its source if those are not writable.
    Cancelled work does not wait for the compiler.
    """
    dispatcher = numba.njit(nogil=True)(function)
    dispatcher._cache = _Cache(function)
    compile = dispatcher.compile

    def prepare(types: Any) -> Any:
        with compilation.PREPARING.span():
            return compile(types)

    dispatcher.compile = lambda types: cancellation.run_detached(lambda: prepare(types))
    return dispatcher


def _digest(names: dict[str, Any]) -> str:
    """Hash a module's text, the modules whose functions it imports, and the numbers it imports."""
    file = names["__file__"]
    if file not in _digests:
        parts = [Path(file).read_text(encoding="utf-8")]
        for name, value in names.items():
            function = getattr(value, "py_func", value)  # of a function that Numba compiled
            if isinstance(value, int | float | np.generic):
                parts.append(f"{name} = {value!r}")
            elif isinstance(function, FunctionType) and _same_package(function.__globals__, names):
                parts.append(_digest(function.__globals__))
        _digests[file] = hashlib.sha256("\n".join(parts).encode()).hexdigest()
    return _digests[file]


def _same_package(imported: dict[str, Any], importing: dict[str, Any]) -> bool:
    """Return whether these are the globals of two different modules of one package."""
    packages = {names["__name__"].partition(".")[0] for names in (imported, importing)}
    return len(packages) == 1 and imported is not importing


class _Locator:
    """Numba's protocol for the folder of a function's machine code, and the hash of its sources."""

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
        with contextlib.suppress(OSError):  # code that cannot be kept can be used all the same
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
