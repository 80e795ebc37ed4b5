"""Text files with one list of vertices per line, such as the terminals of queries."""

import re
from pathlib import Path

from mgraph.errors import UsageError
from mgraph.io.address import local_path

_NAME = re.compile(r'"((?:[^"]|"")*)"|([^\s,]+)')


def read_name_lists(file: str, what: str) -> list[list[str]]:
    """Read the names of vertices of each line that has any, separated by white space or commas.

    A # begins a comment; a name in double quotes may have spaces and commas. what: names the
    content in the UsageError for a file that cannot be read.
    """
    path = local_path(file)
    try:
        lines = Path(path).read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read as a list of {what}: {error}") from None
    return [words for line in lines if (words := split_names(line, comments=True))]


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
