"""Parsers for files of unknown origin: JSON, names and numbers, checked before they are used."""

import json
import re
from collections.abc import Mapping
from typing import Any

# Plain names in a folder: no separator, nothing hidden, no control characters, not too long.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_CHECKSUM = re.compile(r"[0-9a-f]{1,16}")
# Characters that move a terminal's cursor or begin a line, and those that cannot be printed.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def parse_json(text: bytes | str) -> Any:
    """Parse JSON text; raise ValueError for anything else and for content nested too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_json_object(text: bytes | str) -> dict[str, Any]:
    """Parse a JSON object in braces; raise ValueError for anything else."""
    content = parse_json(text)
    if not isinstance(content, dict):
        raise ValueError("it is no JSON object")
    return content


def printable(text: str) -> str:
    """Return the text with a replacement character for each control character."""
    return _CONTROL.sub("\ufffd", text)


def parse_file_name(value: Any) -> str:
    """Return the name of a file that lies in its folder and nowhere else, or raise ValueError."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(
            f"a file must be a plain name in the folder, as part-00000.parquet, not {value!r:.60}"
        )
    return value


def printable_strings(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the mapping with all its names and strings ``printable``, but for nested ones."""
    return {
        printable(name): printable(value) if isinstance(value, str) else value
        for name, value in content.items()
    }


def parse_int(name: str, value: Any, minimum: int, maximum: int) -> int:
    """Return a whole number within bounds, or raise ValueError, also for a boolean."""
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        raise ValueError(
            f"{name} must be a whole number from {minimum:,} to {maximum:,} (got {_shorten(value)})"
        )
    return value


def parse_checksum(value: Any) -> int:
    """Return the number that up to 16 hexadecimal digits write, or raise ValueError."""
    if not isinstance(value, str) or not _CHECKSUM.fullmatch(value):
        raise ValueError(f"a checksum must be hexadecimal digits (got {_shorten(value)})")
    return int(value, 16)


def parse_text(name: str, value: Any) -> str:
    """Return the ``printable`` text, or raise ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text (got {_shorten(value)})")
    return printable(value)


def _shorten(value: Any) -> str:
    if isinstance(value, int) and abs(value) >= 1 << 64:
        return f"one of {value.bit_length()} bits"
    return f"{value!r:.60}"
