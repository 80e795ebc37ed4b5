"""The files of a workflow that is to be submitted: its script and what is shipped with it.

Also the modules that lie beside the script and are not shipped, for a hint when an import fails.
"""

import ast
import dataclasses
import inspect
import os
import re
import shlex
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mgraph.errors import UsageError

MAX_FILE_BYTES = 64 << 20  # of a file, and of all files of a folder
MAX_FOLDER_FILES = 10_000
MAX_MODULES = 500  # beside a script
_SOURCE_BYTES = 1 << 20  # of a module that is searched for imports
_EXCLUDED = ("__pycache__",)
_MISSING = re.compile(r"No module named '([\w.]+)'")


@dataclass(frozen=True)
class UnshippedModules:
    """Modules that lie beside a script and are not shipped with it.

    paths: their files or folders, as the user would write them, by the module's name. needed: the
    names of those that the script imports, directly or through other modules, in that order.
    """

    paths: dict[str, str] = field(default_factory=dict)
    needed: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the fields as ``missing_module_hint`` takes them."""
        return dataclasses.asdict(self)


def collect_files(
    script: str | os.PathLike[str], companions: Sequence[str | os.PathLike[str]] = ()
) -> dict[str, bytes]:
    """Read a script and its companions (modules, packages, other files); the script comes first.

    Returns the content by name; a file in a folder, such as a package, is named ``folder/name``.
    Raises UsageError for what cannot be shipped.
    """
    files: dict[str, bytes] = {}
    for path in map(Path, [script, *companions]):
        if not path.exists():
            raise UsageError(f"{path} does not exist; give a file or folder to ship")
        name = (path.name.strip(".") and path.name) or path.resolve().name  # of . and ..
        if name in {other.partition("/")[0] for other in files}:
            raise UsageError(
                f"two files are called {name}, and both would be written to one folder; rename one"
            )
        if path.is_dir() and files:
            files |= _read_folder(path, name)
        elif path.is_file():
            files[_check_printable(name)] = _read_file(path)
        else:
            raise UsageError(
                f"{path} is not a file; ship a script, and modules, packages or other files with it"
            )
    if not next(iter(files.values())).strip():
        raise UsageError(f"{script} is empty; give a Python script")
    return files


def _read_folder(path: Path, name: str) -> dict[str, bytes]:
    """Read all files of a folder, except hidden ones and those that Python has compiled."""
    files, size = {}, 0
    for folder, subfolders, names in os.walk(path, onerror=_raise_unreadable, followlinks=True):
        real = os.path.join(os.path.realpath(folder), "")
        subfolders[:] = sorted(
            subfolder
            for subfolder in subfolders
            if subfolder[0] != "." and subfolder not in _EXCLUDED
            # A link to a folder that contains it would be followed for ever.
            if not real.startswith(os.path.join(os.path.realpath(Path(folder, subfolder)), ""))
        )
        for file_name in sorted(names):
            file = Path(folder, file_name)
            if file_name[0] == "." or file_name.endswith(".pyc") or not file.is_file():
                continue
            inner_name = _check_printable(f"{name}/{file.relative_to(path).as_posix()}")
            files[inner_name] = _read_file(file)
            size += len(files[inner_name])
            if size > MAX_FILE_BYTES or len(files) > MAX_FOLDER_FILES:
                raise UsageError(
                    f"the folder {path} has more than {MAX_FILE_BYTES >> 20} MiB or "
                    f"{MAX_FOLDER_FILES:,} files; ship code, and put data where the workers can "
                    "read it"
                )
    if not files:
        raise UsageError(f"the folder {path} is empty; ship a package with its modules")
    return files


def _raise_unreadable(error: OSError) -> None:
    raise UsageError(f"{error.filename} cannot be read: {error}") from None


def _check_printable(name: str) -> str:
    if not name.isprintable():
        raise UsageError(f"{name!r} has letters that cannot be printed; rename it")
    return name


def _read_file(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise UsageError(
                f"{path} must have at most {MAX_FILE_BYTES >> 20} MiB to be shipped (it has "
                f"{size >> 20:,}); put data where the workers can read it"
            )
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


def find_unshipped(script: str | os.PathLike[str], files: dict[str, bytes]) -> UnshippedModules:
    """Find the modules beside a script that are not in ``files``, for ``missing_module_hint``."""
    folder = os.path.dirname(os.fspath(script))
    shipped = {name.partition("/")[0].partition(".")[0] for name in files}
    paths: dict[str, str] = {}
    try:
        with os.scandir(folder or ".") as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                module = _module_name(entry)
                if module and module not in shipped and len(paths) < MAX_MODULES:
                    paths[module] = os.path.join(folder, entry.name)
    except OSError:
        return UnshippedModules()
    needed: list[str] = []
    sources = [content for name, content in files.items() if name.endswith(".py")]
    while paths and sources:
        for name in sorted(_imported_names(sources.pop(0)) & paths.keys() - set(needed)):
            needed.append(name)
            sources.extend(_sources(Path(paths[name])))
    return UnshippedModules(paths, needed)


def _module_name(entry: os.DirEntry[str]) -> str | None:
    """Return the name under which a file or a folder can be imported, or None."""
    try:
        if entry.is_dir():
            is_package = any(name.endswith(".py") for name in os.listdir(entry.path))
            return entry.name if is_package and entry.name.isidentifier() else None
    except OSError:
        return None
    name = inspect.getmodulename(entry.name)
    return name if name and name.isidentifier() and not entry.name.endswith(".pyc") else None


def _sources(path: Path) -> Iterator[bytes]:
    """Yield the Python source of a module, or of the modules directly in a package."""
    files = sorted(path.glob("*.py")) if path.is_dir() else [path]
    for file in files:
        try:
            if file.suffix == ".py" and file.stat().st_size <= _SOURCE_BYTES:
                yield file.read_bytes()
        except OSError:
            continue


def _imported_names(source: bytes) -> set[str]:
    """Return the top-level names that a source imports anywhere."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the parser's, about the program's own text
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            names.add(node.module.partition(".")[0])
    return names


def missing_module_hint(error: BaseException, unshipped: Any) -> str | None:
    """Return what to ship if an import of a module beside the script failed, else None.

    error: raised by the script or by one of its tasks. unshipped: the JSON of UnshippedModules, as
    read from a file.
    """
    try:
        paths, needed = dict(unshipped["paths"]), list(unshipped["needed"])
    except (TypeError, KeyError, ValueError):
        return None
    for name in _missing_modules(error):
        if name in paths:
            modules = [name] + [other for other in needed if other != name and other in paths]
            options = " ".join(f"--with {shlex.quote(str(paths[module]))}" for module in modules)
            what = "it" if len(modules) == 1 else "it and the other modules that are needed"
            return (
                f"{paths[name]} lies beside the script and was not shipped with it; ship {what}: "
                f"{options}"
            )
    return None


def _missing_modules(error: BaseException) -> Iterator[str]:
    """Yield the top-level names of modules that could not be imported, in an error's chain."""
    chain: list[BaseException] = []
    level: Iterable[BaseException | None] = [error]
    while level:
        new = [one for one in level if one is not None and one not in chain]
        chain += new
        level = [cause for one in new for cause in (one.__cause__, one.__context__)]
    for one in chain:
        names = _MISSING.findall(str(one))  # in the text of Dask's errors, which keep no cause
        if isinstance(one, ImportError) and one.name:
            names.insert(0, one.name)
        yield from (name.partition(".")[0] for name in names)
