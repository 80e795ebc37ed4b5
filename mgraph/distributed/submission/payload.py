"""The files of a workflow that is to be submitted: its script, what is shipped with it, and what
lies beside it and was left behind.
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

LARGEST_FILE = 64 << 20
MOST_FILES = 10_000  # of a folder
MOST_NAMES = 500  # of modules that lie beside a script
_PASSED_OVER = ("__pycache__",)
_MISSING = re.compile(r"No module named '([\w.]+)'")


@dataclass(frozen=True)
class LeftBehind:
    """Modules that lie beside a script and were not shipped with it.

    paths: their files or folders, as the user would write them, by the module's name. needed: of
    these, the names that the script imports, or what it imports does, in that order.
    """

    paths: dict[str, str] = field(default_factory=dict)
    needed: list[str] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """As ``hint`` takes it."""
        return dataclasses.asdict(self)


def shipped(
    script: str | os.PathLike[str], companions: Sequence[str | os.PathLike[str]] = ()
) -> dict[str, bytes]:
    """A script, and modules, packages and other files that it needs, by name; the script first.

    What is in a folder, as of a package, is named ``folder/name``. Raises UsageError for what
    cannot be shipped.
    """
    files: dict[str, bytes] = {}
    for path in map(Path, [script, *companions]):
        if not path.exists():
            raise UsageError(f"there is no file {path} to ship to the cluster")
        name = (path.name.strip(".") and path.name) or path.resolve().name  # of . and ..
        if name in {there.partition("/")[0] for there in files}:
            raise UsageError(
                f"two files are called {name}, and they would stand in one folder; rename one"
            )
        if path.is_dir() and files:
            files |= _folder(path, name)
        elif path.is_file():
            files[_printable(name)] = _content(path)
        else:
            raise UsageError(f"{path} is no file; ship a script, and modules, packages or files")
    if not next(iter(files.values())).strip():
        raise UsageError(f"{script} is empty; it should be a Python script")
    return files


def _folder(path: Path, name: str) -> dict[str, bytes]:
    """Everything in a folder, but for what is hidden and what Python has compiled."""
    found, size = {}, 0
    for folder, inner, names in os.walk(path, onerror=_refuse, followlinks=True):
        above = os.path.join(os.path.realpath(folder), "")
        inner[:] = sorted(
            one
            for one in inner
            if one[0] != "." and one not in _PASSED_OVER
            # A link to a folder that it stands in would be followed for ever.
            if not above.startswith(os.path.join(os.path.realpath(Path(folder, one)), ""))
        )
        for one in sorted(names):
            file = Path(folder, one)
            if one[0] == "." or one.endswith(".pyc") or not file.is_file():
                continue
            inside = _printable(f"{name}/{file.relative_to(path).as_posix()}")
            found[inside] = _content(file)
            size += len(found[inside])
            if size > LARGEST_FILE or len(found) > MOST_FILES:
                raise UsageError(
                    f"the folder {path} has more than {LARGEST_FILE >> 20} MiB or {MOST_FILES:,} "
                    "files; ship code, and put data where the workers can read it"
                )
    if not found:
        raise UsageError(f"the folder {path} is empty; ship a package, with its modules")
    return found


def _refuse(error: OSError) -> None:
    raise UsageError(f"{error.filename} cannot be read: {error}") from None


def _printable(name: str) -> str:
    if not name.isprintable():
        raise UsageError(f"{name!r} has letters that cannot be printed; rename it")
    return name


def _content(path: Path) -> bytes:
    try:
        size = path.stat().st_size
        if size > LARGEST_FILE:
            raise UsageError(
                f"{path} has {size >> 20:,} MiB, and what is shipped {LARGEST_FILE >> 20} at "
                "most; put data where the workers can read it"
            )
        return path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error}") from None


def left_behind(script: str | os.PathLike[str], files: dict[str, bytes]) -> LeftBehind:
    """What lies beside a script that ``files`` does not have, for ``hint``."""
    folder = os.path.dirname(os.fspath(script))
    here = {name.partition("/")[0].partition(".")[0] for name in files}
    paths: dict[str, str] = {}
    try:
        with os.scandir(folder or ".") as entries:
            for entry in sorted(entries, key=lambda entry: entry.name):
                module = _module_of(entry)
                if module and module not in here and len(paths) < MOST_NAMES:
                    paths[module] = os.path.join(folder, entry.name)
    except OSError:
        return LeftBehind()
    needed: list[str] = []
    sources = [content for name, content in files.items() if name.endswith(".py")]
    while paths and sources:
        for name in sorted(_imported(sources.pop(0)) & paths.keys() - set(needed)):
            needed.append(name)
            sources.extend(_sources(Path(paths[name])))
    return LeftBehind(paths, needed)


def _module_of(entry: os.DirEntry[str]) -> str | None:
    """The name under which a file or a folder can be imported, or None."""
    try:
        if entry.is_dir():
            is_package = any(name.endswith(".py") for name in os.listdir(entry.path))
            return entry.name if is_package and entry.name.isidentifier() else None
    except OSError:
        return None
    name = inspect.getmodulename(entry.name)
    return name if name and name.isidentifier() and not entry.name.endswith(".pyc") else None


def _sources(path: Path) -> Iterator[bytes]:
    """The Python source of a module, or of a package's own modules."""
    files = sorted(path.glob("*.py")) if path.is_dir() else [path]
    for file in files:
        try:
            if file.suffix == ".py" and file.stat().st_size <= LARGEST_FILE >> 6:
                yield file.read_bytes()
        except OSError:
            continue


def _imported(source: bytes) -> set[str]:
    """The names that a source imports anywhere, without what is inside them."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of its strings, for its author
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {name.name.partition(".")[0] for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
            found.add(node.module.partition(".")[0])
    return found


def hint(error: BaseException, behind: Any) -> str | None:
    """What to do about an import that failed of what lies beside the script; None for others.

    error: of the script or of one of its tasks. behind: ``LeftBehind.to_json``, from a file.
    """
    try:
        paths, needed = dict(behind["paths"]), list(behind["needed"])
    except (TypeError, KeyError, ValueError):
        return None
    for name in _missing(error):
        if name in paths:
            ship = [name] + [one for one in needed if one != name and one in paths]
            options = " ".join(f"--with {shlex.quote(str(paths[one]))}" for one in ship)
            it = "it" if len(ship) == 1 else "it and what else is needed"
            return (
                f"{paths[name]} lies beside the script and was not shipped with it; ship {it}: "
                f"{options}"
            )
    return None


def _missing(error: BaseException) -> Iterator[str]:
    """The top-level names of modules of which imports failed, in an error and what led to it."""
    chain: list[BaseException] = []
    waiting: Iterable[BaseException | None] = [error]
    while waiting:
        found = [one for one in waiting if one is not None and one not in chain]
        chain += found
        waiting = [led for one in found for led in (one.__cause__, one.__context__)]
    for one in chain:
        names = _MISSING.findall(str(one))  # of Dask's errors, which keep no cause
        if isinstance(one, ImportError) and one.name:
            names.insert(0, one.name)
        yield from (name.partition(".")[0] for name in names)
