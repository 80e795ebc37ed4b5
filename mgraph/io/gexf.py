"""GEXF files (``.gexf``): https://gexf.net/schema.html, versions 1.1 to 1.3; written as 1.2."""

from typing import Any, BinaryIO
from xml.sax.saxutils import quoteattr

import numpy as np

from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io.graph_xml import WEIGHT, GraphReader, name_graph, require_weight
from mgraph.io.listing import Listing

# Of an edge, and of edges by default: those of a mixed graph say it themselves.
_KINDS = {"directed": True, "undirected": False, "mutual": False}
_DEFAULTS = _KINDS | {"mixed": False}
_DEFAULT_WEIGHT = 1
_MAX_WHOLE = 1 << 53  # what a 64-bit float, the format's type of weights, counts up to
_CHANGES = "nodes or edges that exist for a time are taken to exist"
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<gexf xmlns="http://www.gexf.net/1.2draft" version="1.2">\n<meta><creator>mgraph</creator>'
    "</meta>\n"
)


class _Reader(GraphReader):
    """An edge's weight is its XML attribute, else its value of an attribute of that name."""

    def __init__(self, weight: str) -> None:
        super().__init__()
        self._weight = weight
        self._class: str | None = None  # of the attributes that are declared
        self._declared = ""  # the id of the attribute whose declaration is open
        self._weight_ids: set[str] = set()
        self._default: str | None = None
        self._edge: dict[str, str] = {}
        self._values: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "attributes":
            self._class = attributes.get("class")
        elif tag == "attribute":
            titles = attributes.get("title", ""), attributes.get("title", "").lower()
            is_weight = self._class == "edge" and self._weight in (*titles, attributes.get("id"))
            self._declared = attributes.get("id", "") if is_weight else ""
            self._weight_ids |= {self._declared} - {""}
        elif tag == "graph":
            self.begin_graph(attributes.get("defaultedgetype"), _DEFAULTS)
        elif tag == "node":
            self.add_node(attributes)
        elif tag == "edge":
            self._edge, self._values = attributes, []
        elif tag == "attvalue" and "edge" in self.path and _name(attributes) in self._weight_ids:
            self._values.append(attributes.get("value", ""))
        if tag == "spell" or (tag in ("node", "edge") and attributes.keys() & {"start", "end"}):
            self.notes[_CHANGES] = None

    def end(self, tag: str) -> None:
        if tag == "default" and self._declared:
            self._default = self.text
        elif tag == "edge":
            weight = self._edge.get("weight") if self._weight == WEIGHT else None
            if weight is None and len(self._values) > 1:
                ends = f"{self._edge.get('source')!r:.60} to {self._edge.get('target')!r:.60}"
                raise ValueError(
                    f"line {self.line}: the weight of the edge from {ends} changes in time "
                    f"({', '.join(self._values)[:60]})"
                )
            if weight is None:
                weight = self._values[0] if self._values else self._default
            self.add_edge(self._edge, self._edge.get("type"), _KINDS, weight)


def _name(value: dict[str, str]) -> str | None:
    """Return the attribute whose value this is; version 1.1 calls it ``id``."""
    return value.get("for", value.get("id"))


def read(stream: BinaryIO, weight: str = WEIGHT) -> Listing:
    """Read the edges of a file; ``number_nodes`` numbers the nodes. Raises ValueError.

    weight: the title of the edges' attribute that is their weight.
    """
    if weight == WEIGHT:
        return _Reader(weight).read(stream, _DEFAULT_WEIGHT)
    return require_weight(_Reader(weight).read(stream), weight)


def write(graph: Graph, stream: BinaryIO, terminals: Any = None) -> None:
    """Write nodes, edges and weights; with terminals only nodes that have an edge or are one.

    Raises UsageError for whole weights that a 64-bit float rounds.
    """
    weights = graph.weights
    if weights is not None and weights.dtype == np.int64 and weights.size:
        extreme = max(int(weights.max()), -int(weights.min()))
        if extreme > _MAX_WHOLE:
            raise UsageError(
                f"weights must be at most 2^53 in a GEXF file, which has 64-bit floats (got "
                f"{extreme:,}); GraphML files have 64-bit integers",
                parameter="graph",
            )
    named = name_graph(graph, terminals)
    kind = "un" * (not named.directed) + "directed"
    stream.write(f'{_HEAD}<graph defaultedgetype="{kind}" mode="static">\n'.encode())
    if named.is_terminal is not None:
        stream.write(
            b'<attributes class="node"><attribute id="0" title="terminal" type="boolean"/>'
            b"</attributes>\n"
        )
    stream.write(b"<nodes>\n")
    for i, name in enumerate(named.names):
        values = ""
        if named.is_terminal is not None:
            mark = str(named.is_terminal[i]).lower()
            values = f'<attvalues><attvalue for="0" value="{mark}"/></attvalues>'
        text = quoteattr(name)
        stream.write(f"<node id={text} label={text}>{values}</node>\n".encode())
    stream.write(b"</nodes>\n<edges>\n")
    for i, (u, v, weight) in enumerate(named.edges):
        attribute = "" if weight is None else f' weight="{weight}"'
        ends = f"source={quoteattr(u)} target={quoteattr(v)}"
        stream.write(f'<edge id="{i}" {ends}{attribute}/>\n'.encode())
    stream.write(b"</edges>\n</graph>\n</gexf>\n")
