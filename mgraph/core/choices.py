"""Checks of names that must be one of a few, with the nearest right name for a misspelt one."""

import difflib
from collections.abc import Iterable
from typing import Any

from mgraph.errors import UsageError


def did_you_mean(name: Any, choices: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for a name close to one of the choices, else nothing."""
    if not isinstance(name, str):
        return ""
    nearest = difflib.get_close_matches(name, list(choices), n=1)
    return f"; did you mean {nearest[0]!r}?" if nearest else ""


def check_choice(parameter: str, value: Any, choices: Iterable[str]) -> None:
    """Raise UsageError for a value of a parameter that is not one of its choices."""
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        raise UsageError(
            f"{parameter} must be one of {', '.join(choices)} (got {value!r}"
            f"{did_you_mean(value, choices)}).",
            parameter=parameter,
        )
