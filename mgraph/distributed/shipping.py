"""The files of a workflow that is to be submitted: its script and what stands beside it."""

import os
from collections.abc import Sequence
from pathlib import Path

from mgraph.errors import UsageError

LARGEST_FILE = 64 << 20


def shipped(
    script: str | os.PathLike[str], companions: Sequence[str | os.PathLike[str]] = ()
) -> dict[str, bytes]:
    """A script, and modules and other files that it needs beside it, by name; the script first.

    Raises UsageError for what cannot be shipped.
    """
    files: dict[str, bytes] = {}
    for path in map(Path, [script, *companions]):
        if not path.exists():
            raise UsageError(f"there is no file {path} to ship to the cluster")
        if not path.is_file():
            raise UsageError(
                f"{path} is no file; ship a script, modules or other files, one by one"
            )
        if not path.name.isprintable():
            raise UsageError(f"{path.name!r} has letters that cannot be printed; rename it")
        if path.name in files:
            raise UsageError(
                f"two files are called {path.name}, and they would stand in one folder; rename one"
            )
        try:
            size = path.stat().st_size
            if size > LARGEST_FILE:
                raise UsageError(
                    f"{path} has {size >> 20:,} MiB, and what is shipped {LARGEST_FILE >> 20} at "
                    "most; put data where the workers can read it"
                )
            files[path.name] = path.read_bytes()
        except OSError as error:
            raise UsageError(f"{path} cannot be read: {error}") from None
    if not next(iter(files.values())).strip():
        raise UsageError(f"{script} is empty; it should be a Python script")
    return files
