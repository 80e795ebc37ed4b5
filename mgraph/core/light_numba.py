"""A start of Numba without SciPy's linear algebra, which takes an eighth of a short command's time.

Numba imports ``scipy.linalg`` to find out whether compiled code may call ``np.cov``. Commands of
mgraph never do, so they have it find that it may not. A program that imports mgraph is left alone.
"""

import sys
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

_MODULE, _BLAS = "numba.np.arraymath", "scipy.linalg.cython_blas"


class _Finder:
    """Finds ``numba.np.arraymath``, and leaves all other modules to Python's finders."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Python's hook."""
        if name != _MODULE:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None and _BLAS not in sys.modules:
            loader: Any = spec.loader
            execute = loader.exec_module

            def execute_without_blas(module: ModuleType) -> None:
                sys.modules[_BLAS] = None  # type: ignore[assignment]  # importing it fails
                try:
                    execute(module)
                finally:
                    del sys.modules[_BLAS]

            loader.exec_module = execute_without_blas
        return spec


def install() -> None:
    """Have Numba start without SciPy in this process, if it has not started yet."""
    if _MODULE not in sys.modules:
        sys.meta_path.insert(0, _Finder())
