"""The variants of ``mgraph steiner`` in this process: groups, roots, prizes and others."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import mgraph
from mgraph.cli.options import refuse
from mgraph.errors import UsageError
from mgraph.io.vertex_lists import read_vertex_values

Resolve = Callable[[str, Sequence[str]], list[int]]

_OTHER_METHODS = ("method", "search", "epsilon", "bound")
_VARIANTS = ("best", "prizes", "root", "vertex_weights", "group")
_TOGETHER = ["best", "group"], ["prizes", "root"]


def find_variant(options: dict[str, Any]) -> str | None:
    """Return the option that says which variant is asked for, or None for plain Steiner trees.

    Raises UsageError for options that contradict each other.
    """
    given = [name for name in _VARIANTS if options[name] is not None]
    if not given:
        return None
    if len(given) > 1 and given not in _TOGETHER:
        first, *others = (f"--{name.replace('_', '-')}" for name in given)
        raise UsageError(f"{first} cannot be given together with {' and '.join(others)}")
    variant = given[0]
    option = f"--{variant.replace('_', '-')}"
    refuse(_OTHER_METHODS, f"does not apply to {option}")
    refuse(("queries", "sample", "seed"), f"does not apply to {option}")
    if variant != "group":
        refuse(("backend",), f"does not apply to {option}")
    if variant == "best":
        if options["best"] < 1:
            raise UsageError(f"--best must be at least 1 (got {options['best']})")
        refuse(("improve", "out"), "does not apply to --best")
    if variant == "prizes":
        refuse(("terminals",), "does not apply to --prizes")
    elif options["terminals"] is None and options["group"] is None:
        raise UsageError(f"{option} needs --terminals, also for a file that has its own")
    if options["root"] is not None and len(options["root"]) > 1:
        raise UsageError(f"--root must be one vertex (got {len(options['root'])})")
    if variant == "group" and options["terminals"] is not None:
        options["group"] = [*([name] for name in options["terminals"]), *options["group"]]
    return variant


def named_vertices(options: dict[str, Any]) -> dict[str, list[str]]:
    """Return the names of vertices that options have, by what they are called in messages."""
    named = {"terminals": options["terminals"] or []}
    named |= {f"group {i}": names for i, names in enumerate(options["group"] or [])}
    return named | {"root": options["root"] or []}


def solve_variant(
    variant: str, graph: "mgraph.Graph", resolve: Resolve, options: dict[str, Any]
) -> list["mgraph.SteinerTree"]:
    """Return the trees of a variant: one, or with ``best`` several."""
    terminals = resolve("terminals", options["terminals"] or [])
    groups = [resolve(f"group {i}", names) for i, names in enumerate(options["group"] or [])]
    limit = {"time_limit": options["time_limit"]}
    if variant == "best":
        return mgraph.k_best_steiner_trees(graph, [*terminals, *groups], options["best"], **limit)
    how = limit | {"improve": options["improve"]}
    if variant == "group":
        return [mgraph.group_steiner_tree(graph, groups, backend=options["backend"], **how)]
    root = None if options["root"] is None else resolve("root", options["root"])[0]
    if variant == "root":
        assert root is not None
        return [mgraph.steiner_arborescence(graph, root, terminals, **how)]
    values = _read_values(graph.n, resolve, options[variant])
    if variant == "vertex_weights":
        return [mgraph.node_weighted_steiner_tree(graph, terminals, values, **how)]
    return [mgraph.prize_collecting_steiner_tree(graph, values, root=root, **how)]


def _read_values(n: int, resolve: Resolve, file: str) -> Any:
    """Return the value of each vertex, 0 where the file has none."""
    names, values = read_vertex_values(file)
    numbers = np.zeros(n, values.dtype)
    vertices = resolve(f"vertices of {file}", names)
    repeated = np.flatnonzero(np.bincount(vertices, minlength=1) > 1)
    if repeated.size:
        name = names[vertices.index(int(repeated[0]))]
        raise UsageError(f"{file} must name each vertex once (vertex {name} is there again)")
    numbers[vertices] = values
    return numbers
