"""Public names that are imported when they are first used.

A package's ``__init__.pyi`` lists its names as imports, for type checkers. The same list says where
each name is defined, so it is written once. (``lazy_loader`` does this for imports from the package
itself; these come from all of mgraph.)
"""

import ast
import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any


def read_public_names(package_file: str) -> dict[str, tuple[str, str]]:
    """Read each public name's module and name in it from the stub beside ``package_file``."""
    tree = ast.parse(Path(package_file).with_suffix(".pyi").read_text())
    return {
        alias.asname or alias.name: (statement.module or "", alias.name)
        for statement in tree.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }


def attach(package: str, package_file: str) -> tuple[Callable[[str], Any], list[str]]:
    """Return the ``__getattr__`` and the ``__all__`` of a package."""
    names = read_public_names(package_file)

    def load(name: str) -> Any:
        if name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, attribute = names[name]
        if module == "mgraph":
            return importlib.import_module(f"mgraph.{attribute}")
        return getattr(importlib.import_module(module), attribute)

    return load, sorted(names)
