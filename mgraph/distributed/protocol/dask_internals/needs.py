"""What is needed of Dask's internals, by function."""

from collections.abc import Callable
from typing import Any, TypeVar

VERSIONS = "2026.7.1 to 2026.8.0"

# By function: the names that it needs, and the releases of Dask that it was written for.
NEEDS: dict[str, tuple[tuple[str, ...], str]] = {}
_Function = TypeVar("_Function", bound=Callable[..., Any])


def needs(*names: str, versions: str = VERSIONS) -> Callable[[_Function], _Function]:
    """Record paths from a ``client``, ``scheduler``, ``worker``, ``span`` or ``group`` (of tasks),
    or ``module:name``.
    """

    def register(function: _Function) -> _Function:
        NEEDS[function.__name__] = names, versions
        return function

    return register
