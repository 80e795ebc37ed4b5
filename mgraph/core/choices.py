"""Names that are chosen among a few: checked, and the nearest right one for a misspelt one."""

import difflib
from collections.abc import Iterable
from typing import Any

from mgraph.errors import UsageError


def did_you_mean(name: Any, choices: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for a name that is nearly one of these, else nothing."""
    near = difflib.get_close_matches(name, list(choices), n=1) if isinstance(name, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def check_choice(parameter: str, value: Any, choices: Iterable[str]) -> None:
    """Raise UsageError for a value of a parameter that is none of its choices."""
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        raise UsageError(
            f"{parameter} must be one of {', '.join(choices)} (got {value!r}"
            f"{did_you_mean(value, choices)})."
        )
