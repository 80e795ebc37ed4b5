"""Parsers for files of unknown origin, which take JSON, names and numbers for nothing but that."""

import json
import re
from typing import Any

# Plain names in a folder: no separator, nothing hidden, no control characters, not too long.
_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_CHECKSUM = re.compile(r"[0-9a-f]{1,16}")
# What would move a terminal's cursor or start a line of its own, and what cannot be printed.
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def parse_json(text: bytes | str) -> Any:
    """What JSON text says. Raises ValueError for anything else, also for what nests too deeply."""
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def parse_json_object(text: bytes | str) -> dict[str, Any]:
    """The same, of an object in braces; anything else is a ValueError, too."""
    content = parse_json(text)
    if not isinstance(content, dict):
        raise ValueError("it is no JSON object")
    return content


def printable(text: str) -> str:
    """The text without control characters, for people to read."""
    return _CONTROL.sub("\ufffd", text)


def parse_file_name(value: Any) -> str:
    """A name that leads to a file of its folder and nowhere else, or ValueError."""
    if not isinstance(value, str) or not _NAME.fullmatch(value):
        raise ValueError(
            f"a file must be a plain name in the folder, as part-00000.parquet, not {value!r:.60}"
        )
    return value


def parse_int(name: str, value: Any, minimum: int, maximum: int) -> int:
    """A whole number within bounds, or ValueError; True is none."""
    if isinstance(value, bool) or not isinstance(value, int) or not minimum <= value <= maximum:
        raise ValueError(
            f"{name} must be a whole number from {minimum:,} to {maximum:,}, and is {_cut(value)}"
        )
    return value


def parse_checksum(value: Any) -> int:
    """The number in up to 16 hexadecimal digits, or ValueError."""
    if not isinstance(value, str) or not _CHECKSUM.fullmatch(value):
        raise ValueError(f"a checksum must be hexadecimal digits, and is {_cut(value)}")
    return int(value, 16)


def parse_text(name: str, value: Any) -> str:
    """The text as ``printable`` has it, or ValueError."""
    if not isinstance(value, str):
        raise ValueError(f"{name} must be text, and is {_cut(value)}")
    return printable(value)


def _cut(value: Any) -> str:
    if isinstance(value, int) and abs(value) >= 1 << 64:
        return f"one of {value.bit_length()} bits"
    return f"{value!r:.60}"
