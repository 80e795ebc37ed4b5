"""Parameters that take one of a few names: their types, the check, and the nearest right name."""

import difflib
from collections.abc import Iterable
from typing import Any, Literal

from mgraph.errors import UsageError

Backend = Literal["auto", "cpu", "gpu"]
Device = Literal["cpu", "gpu"]  # a backend that was chosen
Compression = Literal["none", "lz4", "zstd"]
CopyMethod = Literal["cuppa_hash", "cuppa", "copy", "copy_hash", "ba"]
Start = Literal["paper", "ba"]
SsspMethod = Literal[
    "auto", "bfs", "dijkstra", "near_far", "self_tuning", "frontier_node", "frontier_edge", "heap"
]
SsspController = Literal["mgraph", "paper"]
SsspFrontierBound = Literal["graph", "vertex"]
SteinerMethod = Literal[
    "auto", "star", "local_search", "dreyfus_wagner", "takahashi_matsuyama", "mehlhorn"
]
SteinerSearch = Literal["auto", "dijkstra", "node", "edge"]
ForestMethod = Literal["auto", "filter_boruvka", "filter_kruskal", "boruvka", "prim", "prim_naive"]
KnapsackMethod = Literal[
    "auto", "dynamic_program", "branch_and_bound", "plain_branch_and_bound"
]  # fmt: skip
KnapsackKey = Literal["bound", "profit"]
Ids = Literal["original", "number"]
Partition = Literal["auto", "always", "never"]


def did_you_mean(name: Any, choices: Iterable[str]) -> str:
    """``; did you mean 'x'?`` for a name that is nearly one of the choices, else nothing."""
    near = difflib.get_close_matches(name, list(choices), n=1) if isinstance(name, str) else []
    return f"; did you mean {near[0]!r}?" if near else ""


def check_choice(parameter: str, value: Any, choices: Iterable[str]) -> None:
    """Raise UsageError if the value of a parameter is none of its choices."""
    choices = tuple(choices)
    if not isinstance(value, str) or value not in choices:
        raise UsageError(
            f"{parameter} must be one of {', '.join(choices)} (got {value!r}"
            f"{did_you_mean(value, choices)}).",
            parameter=parameter,
        )
