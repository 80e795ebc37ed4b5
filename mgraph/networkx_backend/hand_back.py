"""What is left to NetworkX's own functions."""

from collections.abc import Callable
from typing import Any


class HandBack(Exception):
    """Something that NetworkX's own function is to do, for the reason given."""


def networkx_function(name: str) -> Callable[..., Any]:
    """Return NetworkX's own function of this name, which no backend replaces."""
    from networkx.utils import backends

    own: Callable[..., Any] = backends._registered_algorithms[name].orig_func
    return own
