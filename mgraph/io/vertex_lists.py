"""Text files with one list of vertices per line, such as the terminals of queries, or one value."""

import re
from pathlib import Path
from typing import Any

import numpy as np

from mgraph.errors import UsageError
from mgraph.io.address import local_path

# The words of a line of queries: a name in quotes, the end of a group, a comment, another name.
_WORD = re.compile(r'"((?:[^"]|"")*)"|(;)|(#)|([^\s,;#]+)')
_NAME = re.compile(r'"((?:[^"]|"")*)"|([^\s,]+)')


def read_name_lists(file: str, what: str) -> list[list[str]]:
    """Read the names of vertices of each line that has any, separated by white space or commas.

    A # begins a comment; a name in double quotes may have spaces and commas. what: names the
    content in the UsageError for a file that cannot be read.
    """
    lines = read_lines(file, what)
    return [words for line in lines if (words := split_names(line, comments=True))]


def read_lines(file: str, what: str) -> list[str]:
    """Read a text file; what: names its content in the UsageError if that cannot be done."""
    path = local_path(file)
    try:
        return Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read as a list of {what}: {error}") from None


def read_queries(file: str) -> tuple[list[Any], bool]:
    """Read the terminals of each line that has any, or its groups, and whether it is groups.

    A ; ends a group. If any line has one, all queries are of groups, lists of lists of names; in a
    line without one each name is a group.
    """
    lines = [line for line in map(_split_groups, read_lines(file, "queries")) if any(line[0])]
    if not any(has_groups for _, has_groups in lines):
        return [groups[0] for groups, _ in lines], False
    return [
        groups if has_groups else [[name] for name in groups[0]] for groups, has_groups in lines
    ], True


def _split_groups(line: str) -> tuple[list[list[str]], bool]:
    """Return the names of a line, in a list per group, and whether it has a ; at all."""
    groups: list[list[str]] = [[]]
    for quoted, semicolon, comment, plain in _WORD.findall(line):
        if comment:
            break
        if semicolon:
            groups.append([])
        else:
            groups[-1].append(plain or quoted.replace('""', '"'))
    has_groups = len(groups) > 1
    return groups[:-1] if has_groups and not groups[-1] else groups, has_groups


def split_names(text: str, comments: bool = False) -> list[str]:
    """Return the names in a text, separated by white space or commas; quotes keep these in a name.

    comments: whether a # outside of quotes begins a comment.
    """
    names = []
    for quoted, plain in _NAME.findall(text):
        if comments and plain.startswith("#"):
            break
        before, mark, _ = plain.partition("#") if comments else (plain, "", "")
        names.append(quoted.replace('""', '"') if not plain else before)
        if mark:
            break
    return names


def read_vertex_lists(file: str, what: str) -> list[list[int]]:
    """Read the vertices of each line that has any; see ``read_name_lists``."""
    lines = read_name_lists(file, what)
    bad = [word for line in lines for word in line if not re.fullmatch("[0-9]{1,18}", word)]
    if bad:
        raise UsageError(
            f"{file} must hold vertices, whole numbers from 0, and holds {bad[0][:40]!r}"
        )
    return [[int(word) for word in line] for line in lines]


def read_vertex_values(file: str) -> tuple[list[str], Any]:
    """Read the vertex and the number of each line: names, and values as int64 or float64."""
    lines = read_name_lists(file, "vertices and values")
    for line in lines:
        if len(line) != 2 or _to_number(line[1]) is None:
            text = " ".join(line)
            raise UsageError(f"{file} must have a vertex and a number per line (got {text!r:.60})")
    values = np.array([_to_number(value) for _, value in lines])
    return [name for name, _ in lines], values if lines else np.zeros(0, np.int64)


def _to_number(text: str) -> int | float | None:
    try:
        return int(text) if re.fullmatch(r"[+-]?\d{1,18}", text) else float(text)
    except ValueError:
        return None
