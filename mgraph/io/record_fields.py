"""Versions and unknown fields of the JSON records that mgraph keeps in files.

A record's field ``version`` is ``"major.minor"``, or a number for a minor version of 0. A greater
minor version has added fields: such a record is read, and its unknown fields are written back when
it is rewritten. A greater major version has changed what fields mean: such a record is refused.
"""

import re
from collections.abc import Collection, Mapping
from typing import Any

MAX_DEPTH = 50  # of unknown fields, so that whatever was read can be written again
_VERSION = re.compile(r"(\d{1,9})\.\d{1,9}")


def check_version(version: Any, major: int) -> None:
    """Raise ValueError unless a record of this version can be read."""
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    is_number = isinstance(version, int) and not isinstance(version, bool)
    if not (is_number and version == major) and not (match and int(match[1]) == major):
        raise ValueError(f"its version is not {major}; a newer mgraph wrote it")


def unknown_fields(
    content: Mapping[str, Any], known: Collection[str], version: int
) -> dict[str, Any]:
    """Return the fields that are not known, to be written back, and the version if it is another.

    version: the one that this mgraph writes. Raises ValueError for values that are nested deeper
    than ``MAX_DEPTH``.
    """
    unknown = {name: value for name, value in content.items() if name not in known}
    if unknown.get("version") == version:
        del unknown["version"]
    level, depth = list(unknown.values()), 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise ValueError("it is nested too deeply")
        level = [child for value in level for child in _children(value)]
    return unknown


def _children(value: Any) -> Collection[Any]:
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else ()
