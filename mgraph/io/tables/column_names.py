"""Which columns of a table hold the edges: named by the user, or recognised by their names."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mgraph.core.choices import did_you_mean
from mgraph.core.edges import COLUMNS
from mgraph.errors import UsageError
from mgraph.io.untrusted import printable

_PAIRS = (  # compared without case, white space, "_", "-", "." and ":"
    ("src", "dst"),
    ("source", "target"),
    ("source", "destination"),
    ("source", "dest"),
    ("src", "dest"),
    ("src", "tgt"),
    ("from", "to"),
    ("start", "end"),
    ("startid", "endid"),
    ("u", "v"),
    ("sourceid", "targetid"),
    ("sourceid", "destinationid"),
    ("srcid", "dstid"),
    ("fromid", "toid"),
    ("fromnode", "tonode"),
    ("fromnodeid", "tonodeid"),
    ("node1", "node2"),
    ("nodeid1", "nodeid2"),
    ("vertex1", "vertex2"),
    ("id1", "id2"),
    ("subject", "object"),
    ("follower", "followee"),
)
_WEIGHTS = ("weight", "weights", "edgeweight", "w")


@dataclass(frozen=True)
class ColumnRequest:
    """The columns that a user names; None: recognised by their names.

    columns: the names of a text file's columns, in their order.
    """

    src: str | None = None
    dst: str | None = None
    weight: str | None = None
    columns: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        """Check what can be checked before a file is opened."""
        for name in ("src", "dst", "weight"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, str) or not value):
                raise UsageError(
                    f"{name} must be the name of a column (got {value!r:.60})", parameter=name
                )
        named = [name for name in (self.src, self.dst, self.weight) if name is not None]
        if len(set(named)) < len(named):
            raise UsageError(
                f"src, dst and weight must be different columns (got {', '.join(named)})",
                parameter="src",
            )
        if self.columns is not None:
            repeated = {name for name in self.columns if name and self.columns.count(name) > 1}
            if len(self.columns) < 2 or repeated:
                raise UsageError(
                    "columns must be at least two different names, such as src,dst,weight (got "
                    f"{','.join(self.columns)!r:.60})",
                    parameter="columns",
                )


class Columns(NamedTuple):
    """The names of the columns that hold the edges. recognised: all of them, if one is unusual."""

    src: str
    dst: str
    weight: str | None
    recognised: tuple[str, ...] = ()

    def note(self) -> list[str]:
        """Return a sentence on the columns that were recognised, if there are any."""
        if not self.recognised:
            return []
        return [f"edges are read from the columns {list_names(self.recognised)}"]


def list_names(names: Sequence[str]) -> str:
    """Return the names of columns for a message: at most twelve, without control characters."""
    return ", ".join(printable(str(name)) for name in names[:12]) + ", …" * (len(names) > 12)


def _plain(name: str) -> str:
    return "".join(letter for letter in name.lower() if letter not in " \t_-.:")


def _find(parameter: str, name: str, names: Sequence[str]) -> str:
    if name in names:
        return name
    suggestion = did_you_mean(name, list(names))
    raise UsageError(
        f"there is no column {name}; the columns are {list_names(names)}{suggestion}",
        parameter=parameter,
    )


def usual_ends(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the two columns whose names are usual for endpoints, or None.

    Raises ValueError if several pairs are.
    """
    if {"src", "dst"} <= set(names):
        return "src", "dst"
    plain = [_plain(name) for name in names]
    if {"head", "tail"} <= set(plain):  # an arc's tail and head, or a fact's head and tail
        first, second = sorted((plain.index("head"), plain.index("tail")))
        return names[first], names[second]
    by_name: dict[str, str] = {}
    for name in names:
        by_name.setdefault(_plain(name), name)
    found = [(by_name[a], by_name[b]) for a, b in _PAIRS if a in by_name and b in by_name]
    if len(found) > 1:
        pairs = " or ".join(f"{a}, {b}" for a, b in found)
        raise ValueError(f"its columns {pairs} may be the ends of edges; name them by src and dst")
    return found[0] if found else None


def resolve(names: Sequence[str], request: ColumnRequest) -> Columns:
    """Return the columns of a table with these names.

    Raises ValueError if the table's columns are not recognised, UsageError if it lacks a column
    that was named.
    """
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"it has two columns {printable(twice)}")
    weight = None if request.weight is None else _find("weight", request.weight, names)
    if request.src is None and request.dst is None:
        ends = usual_ends(names)
        if ends is None:
            raise ValueError(
                f"it must have columns src, dst (got {list_names(names)}); name those that "
                "hold the ends of edges by `src='NAME'` and `dst='NAME'`"
            )
        src, dst = ends
    elif request.src is None or request.dst is None:
        raise UsageError("src and dst must be given together", parameter="src")
    else:
        src, dst = _find("src", request.src, names), _find("dst", request.dst, names)
    if request.weight is None:
        weights = [name for name in names if _plain(name) in _WEIGHTS and name not in (src, dst)]
        exact = [name for name in weights if name == "weight"]
        if len(weights) > 1 and not exact:
            raise ValueError(
                f"its columns {', '.join(weights)} may be weights; name one by `weight='NAME'`"
            )
        weight = next(iter(exact or weights), None)
    asked = (request.src, request.dst, request.weight, "src", "dst", "weight")
    recognised = tuple(name for name in (src, dst, weight) if name is not None)
    if all(name in asked for name in recognised):
        recognised = ()
    return Columns(src, dst, weight, recognised)


def unique_name(name: str, taken: Iterable[str]) -> str:
    """Return a name that none of those taken is: NAME_given where NAME is taken."""
    others = set(taken)
    while name in others:
        name += "_given"
    return name


def attribute_names(names: Sequence[str]) -> dict[str, str]:
    """Return the names by which columns are kept beside those of the edges."""
    kept: dict[str, str] = {}
    for name in names:
        others = [other for other in names if other != name]
        kept[name] = unique_name(name, [*COLUMNS, *others, *kept.values()])
    return kept


def unread_note(names: Sequence[str], has_weight: bool) -> list[str]:
    """Return a sentence on columns that are not read, if there are any."""
    if not names:
        return []
    columns = f"column{'s' * (len(names) > 1)} {list_names(names)}"
    hint = "" if has_weight else "; if one holds weights, name it by `weight='NAME'`"
    return [f"{columns} not read{hint}"]
