"""The decorators of the package's Numba functions: no GIL, and machine code kept on disk.

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
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any, ClassVar

import numba
import numpy as np
from numba import config
from numba.core import caching, event
from numba.core.registry import CPUDispatcher

from mgraph import compilation
from mgraph.core import cancellation, nested_compilation

# Numba takes about half a second to compile a function; an element takes Python microseconds.
INTERPRETED_SECONDS, INTERPRETED_ELEMENTS = 0.5, 1 << 18

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
    return _prepare(numba.njit(nogil=True)(function))


def compiled_without_counts(function: Callable[..., Any]) -> Any:
    """Apply ``compiled`` to a function that makes no arrays, but does not count references to any.

    A function counts those to the arrays that it takes, in and out, by atomic instructions of 5 ns
    each, which Numba leaves away only where nothing branches: more than a small function's work.
    Views and tuples of arrays can be used; to make an array is an error when it is compiled, in a
    function that it calls as well.
    """
    return _prepare(numba.njit(nogil=True, _nrt=False)(function))


def compiled_with_gil(function: Callable[..., Any]) -> Any:
    """Apply ``compiled`` to a function that calls functions of Python's own: it keeps the GIL."""
    return _prepare(numba.njit(function))


def compiled_when_hot(function: Callable[..., Any]) -> Any:
    """Apply ``compiled``, but let Python's interpreter run the function as long as that is cheaper.

    For functions that take time proportional to the arrays that they are given, which are mostly
    small, such as those of a tree: they are interpreted where all arrays together have less than
    ``INTERPRETED_ELEMENTS`` elements, until that has taken ``INTERPRETED_SECONDS``; a caller who
    knows better how much work it is calls ``function.with_work(elements, …)``. Machine code that is
    on disk is used at once. Within other compiled functions they are compiled as well.
    """
    return _prepare(_CompiledWhenHot(function, targetoptions={"nopython": True, "nogil": True}))


def compile_at_once() -> None:
    """Compile every function when it is first called from now on, in this process."""
    _CompiledWhenHot._is_hot = True


class _CompiledWhenHot(CPUDispatcher):
    """A dispatcher of Numba's that may call the Python function itself."""

    _is_hot = False
    _seconds = 0.0  # in the interpreter

    def __init__(self, function: Callable[..., Any], **options: Any) -> None:
        super().__init__(function, **options)
        self._not_kept: set[tuple[Any, ...]] = set()  # types without machine code on disk

    def __call__(self, *arguments: Any) -> Any:
        if _thread.is_interpreting:
            return self.py_func(*arguments)
        if self._is_hot:
            return super().__call__(*arguments)
        return self.with_work(_count_elements(arguments), *arguments)

    def with_work(self, elements: int, *arguments: Any) -> Any:
        """Call the function, which takes time proportional to ``elements``."""
        if _thread.is_interpreting:  # a function that calls this one, with NumPy's numbers
            return self.py_func(*arguments)
        if self._is_hot or elements >= INTERPRETED_ELEMENTS or self._has_machine_code(arguments):
            return super().__call__(*arguments)
        began, _thread.is_interpreting = time.perf_counter(), True
        try:
            return _to_python(self.py_func(*arguments))
        finally:
            _thread.is_interpreting = False
            self._seconds += time.perf_counter() - began
            self._is_hot = self._seconds > INTERPRETED_SECONDS

    def _has_machine_code(self, arguments: tuple[Any, ...]) -> bool:
        """Return whether machine code for such arguments is in memory or on disk."""
        types = tuple(map(self.typeof_pyval, arguments))
        if nested_compilation.has_machine_code(self, types):
            self._is_hot = True
        elif types not in self._not_kept:
            self._is_hot = self._cache.has(types, self.targetctx)
            self._not_kept.add(types)
        return self._is_hot


class _Thread(threading.local):
    is_interpreting = False


_thread = _Thread()


def _to_python(result: Any) -> Any:
    """Return Python's numbers instead of NumPy's, as machine code does."""
    if type(result) is tuple:
        return tuple(map(_to_python, result))
    return result.item() if isinstance(result, np.generic) else result


def _count_elements(arguments: tuple[Any, ...]) -> int:
    count = 0
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            count += argument.size
        elif isinstance(argument, tuple):
            count += _count_elements(argument)
    return count


def _prepare(dispatcher: Any) -> Any:
    """Have a dispatcher keep its code by its sources, and compile as the decorators say."""
    dispatcher._cache = _Cache(dispatcher.py_func)
    compile = dispatcher.compile

    def prepare(types: Any) -> Any:
        with compilation.PREPARING.span(), nested_compilation.outermost(dispatcher, types):
            return compile(types)

    dispatcher.compile = lambda types: cancellation.run_detached(lambda: prepare(types))
    return dispatcher


def _digest(names: dict[str, Any]) -> str:
    """Hash a module's text, the modules whose functions it imports, and the numbers it imports."""
    file = names["__file__"]
    if file not in _digests:
        parts = [Path(file).read_text(encoding="utf-8")]
        for name, value in names.items():
            function = getattr(value, "py_func", getattr(value, "_defn", value))  # Numba's
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
        self._py_file, self._stamp = file, _digest(names)
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


class _CacheFile(caching.IndexDataCacheFile):
    """A file for each set of types, named by it.

    Numba numbers the files, and says in another file, the index, what each is for. Two processes
    that save at once choose one number, and the code of one is found for the types of the other.
    """

    def _path(self, key: Any) -> str:
        named = repr((self._version, self._source_stamp, key))
        name = hashlib.sha256(named.encode()).hexdigest()[:16]
        return self._data_path(f"{self._index_name.removesuffix('.nbi')}.{name}.nbc")

    def has(self, key: Any) -> bool:
        """Return whether there is code, without reading it."""
        return os.path.exists(self._path(key))

    def save(self, key: Any, data: Any) -> None:
        """Keep the code for a function's types, and the types."""
        with self._open_for_write(self._path(key)) as file:
            file.write(self._dump((key, data)))

    def load(self, key: Any) -> Any:
        """Return what ``save`` kept, or None."""
        with contextlib.suppress(FileNotFoundError):
            kept, data = self._load_data(self._path(key))
            return data if kept == key else None
        return None


class _Cache(caching.FunctionCache):
    _impl_class = _CacheImpl

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        parts = self._cache_path, self._impl.filename_base, self._impl.locator.get_source_stamp()
        self._cache_file = _CacheFile(*parts)

    def load_overload(self, signature: Any, target: Any) -> Any:
        with contextlib.suppress(OSError):
            return super().load_overload(signature, target)

    def has(self, signature: Any, target: Any) -> bool:
        """Return whether there is code on disk, without reading it."""
        with contextlib.suppress(OSError):
            return self._cache_file.has(self._index_key(signature, target.codegen()))
        return False

    def save_overload(self, signature: Any, data: Any) -> None:
        if isinstance(data.entry_point, nested_compilation.WithoutMachineCode):
            return
        with contextlib.suppress(OSError):  # code that cannot be kept can be used all the same
            super().save_overload(signature, data)


def _folder(file: Path) -> Path:
    if config.CACHE_DIR:
        return Path(config.CACHE_DIR)
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mgraph" / "numba"
    with contextlib.suppress(OSError):
        caches.mkdir(parents=True, exist_ok=True)
        # Code that a warm-up left in a file system which is read-only now is read all the same.
        if os.access(caches, os.W_OK) or any(caches.iterdir()):
            return caches
    return file.parent / "__pycache__"
