"""The JSON records that mgraph keeps in files: their types, versions and unknown fields.

A record is a dataclass, and msgspec checks its fields as it is read. Its field ``unknown`` holds
what a newer mgraph has added: in the file, the field ``version`` is ``"major.minor"``, or a number
for a minor version of 0. A greater minor version has added fields: such a record is read, and its
unknown fields are written back when it is rewritten. A greater major version has changed what
fields mean: such a record is refused.
"""

import dataclasses
import re
from collections.abc import Collection, Mapping
from typing import Any, TypeVar

import msgspec

from mgraph.io.untrusted import printable_strings

MAX_DEPTH = 50  # of unknown fields, so that whatever was read can be written again
Record = TypeVar("Record", bound=Any)
_VERSION = re.compile(r"(\d{1,9})\.\d{1,9}")


def known_fields(record_type: Any) -> list[str]:
    """Return the names of a record's fields in its file."""
    return [each.name for each in dataclasses.fields(record_type) if each.name != "unknown"]


def read_record(
    content: Any, record_type: type[Record], version: int, *, printable: bool = True
) -> Record:
    """Return the record that JSON content holds; raise ValueError if a field is missing or wrong.

    version: the major version of the record, which the caller has checked. printable: strings have
    replacement characters for control characters, so that they can be shown.
    """
    if not isinstance(content, dict):
        raise ValueError("it is no JSON object")
    names = known_fields(record_type)
    known = {name: content[name] for name in names if name in content}
    if printable:
        known = printable_strings(known)
    known["unknown"] = unknown_fields(content, names, version)
    record: Record = msgspec.convert(known, record_type)
    return record


def record_json(record: Any) -> dict[str, Any]:
    """Return the content of which ``read_record`` makes the record."""
    known = {name: getattr(record, name) for name in known_fields(record)}
    return {**known, **record.unknown}


class OtherVersionError(ValueError):
    """A record of a version that this mgraph cannot read."""


def check_version(version: Any, major: int) -> None:
    """Raise OtherVersionError unless a record of this version can be read."""
    match = _VERSION.fullmatch(version) if isinstance(version, str) else None
    is_number = isinstance(version, int) and not isinstance(version, bool)
    if not (is_number and version == major) and not (match and int(match[1]) == major):
        raise OtherVersionError(f"its version is not {major}; a newer mgraph wrote it")


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
