"""GEXF files (``.gexf``): https://gexf.net/schema.html, versions 1.1 to 1.3; written as 1.2."""

import math
import re
from collections.abc import Sequence
from typing import Any, BinaryIO
from xml.sax.saxutils import quoteattr

import numpy as np

from mgraph.core.graph import Graph
from mgraph.errors import UsageError
from mgraph.io.attributes import xml_type
from mgraph.io.graph_xml import WEIGHT, GraphReader, name_graph, require_weight, value_text
from mgraph.io.listing import NO_ATTRIBUTES, TERMINAL, Attributes, Listing

# Of an edge, and of edges by default: those of a mixed graph say it themselves.
_KINDS = {"directed": True, "undirected": False, "mutual": False}
_DEFAULTS = _KINDS | {"mixed": False}
_DEFAULT_WEIGHT = 1
_MAX_WHOLE = 1 << 53  # what a 64-bit float, the format's type of weights, counts up to
_CHANGES = "nodes or edges that exist for a time are taken to exist"
_COLOR = re.compile("#[0-9a-fA-F]{6}")
_DRAWN = ("position", "color", "size", "shape", "thickness")
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<gexf xmlns="http://www.gexf.net/1.2draft" xmlns:viz="http://www.gexf.net/1.2draft/viz" '
    'version="1.2">\n<meta><creator>mgraph</creator>'
    "</meta>\n"
)


class _Reader(GraphReader):
    """An edge's weight is its XML attribute, else its value of an attribute of that name."""

    def __init__(self, weight: str, keeps_attributes: bool) -> None:
        super().__init__(keeps_attributes)
        self._weight = weight
        self._class: str | None = None  # of the attributes that are declared
        self._titles: dict[tuple[str | None, str], str] = {}
        self._taken: set[tuple[str | None, str]] = set()
        self._declared = ""  # the id of the attribute whose declaration is open
        self._weight_ids: set[str] = set()
        self._default: str | None = None
        self._edge: dict[str, str] = {}
        self._values: list[str] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "attributes":
            self._class, self._declared = attributes.get("class"), ""
        elif tag == "attribute":
            self._declare(attributes)
        elif tag == "graph":
            self.begin_graph(attributes.get("defaultedgetype"), _DEFAULTS)
        elif tag == "node":
            self.add_node(attributes)
            if "label" in attributes and attributes["label"] != attributes["id"]:
                self.set_attribute("node", "label", attributes["label"])
        elif tag == "edge":
            self._edge, self._values = attributes, []
            if "label" in attributes:
                self.set_attribute("edge", "label", attributes["label"])
        elif tag == "attvalue":
            self._take_value(attributes)
        elif tag in _DRAWN:
            self._take_drawing(tag, attributes)
        if tag == "spell" or (tag in ("node", "edge") and attributes.keys() & {"start", "end"}):
            self.notes[_CHANGES] = None

    def _declare(self, attributes: dict[str, str]) -> None:
        key, title = attributes.get("id", ""), attributes.get("title", "")
        names = title, title.lower(), key
        self._declared = key
        if self._class == "edge" and self._weight in names:
            self._weight_ids.add(key)
            return
        self._titles[self._class, key] = title or key
        self._taken.add((self._class, title or key))
        texts = {"node": self.node_attributes, "edge": self.edge_attributes}.get(self._class or "")
        if texts is not None:
            texts.declare(title or key, attributes.get("type", "string"))
        if self._class == "edge":
            self.unread[title or key] = None

    def _take_value(self, attributes: dict[str, str]) -> None:
        element = "edge" if "edge" in self.path else "node"
        name, value = _name(attributes), attributes.get("value", "")
        if element == "edge" and name in self._weight_ids:
            self._values.append(value)
        elif name is not None:
            self.set_attribute(element, self._titles.get((element, name), name), value)

    def _take_drawing(self, tag: str, attributes: dict[str, str]) -> None:
        element = self.path[-2] if len(self.path) > 1 else ""
        if tag == "position":
            values = {name: attributes[name] for name in "xyz" if name in attributes}
        elif tag == "color":
            values = {"color": _color(attributes)}
        else:
            values = {tag: attributes.get("value", "")}
        texts = {"node": self.node_attributes, "edge": self.edge_attributes}.get(element)
        for plain, text in values.items():
            name = f"viz_{plain}" if (element, plain) in self._taken else plain
            if texts is not None:
                texts.declare(name, "string" if tag in ("color", "shape") else "double")
            self.set_attribute(element, name, text)

    def end(self, tag: str) -> None:
        if tag == "default" and self._declared in self._weight_ids and self._class == "edge":
            self._default = self.text
        elif tag == "default" and self._class in ("node", "edge"):
            texts = self.node_attributes if self._class == "node" else self.edge_attributes
            name = self._titles.get((self._class, self._declared))
            if name is not None:
                texts.set_default(name, self.text)
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


def _color(values: dict[str, str]) -> str:
    """Return a colour as #rrggbb, or as the file has it."""
    try:
        return f"#{bytes(int(values[name]) for name in 'rgb').hex()}"
    except (KeyError, ValueError):
        return values.get("hex", " ".join(values.values()))


def _name(value: dict[str, str]) -> str | None:
    """Return the attribute whose value this is; version 1.1 calls it ``id``."""
    return value.get("for", value.get("id"))


def read(stream: BinaryIO, weight: str = WEIGHT, attributes: bool = False) -> Listing:
    """Read the edges of a file; ``number_nodes`` numbers the nodes. Raises ValueError.

    weight: the title of the edges' attribute that is their weight. attributes: whether to read the
    others, with labels, and positions, sizes and colours as Gephi saves them.
    """
    if weight == WEIGHT:
        return _Reader(weight, attributes).read(stream, _DEFAULT_WEIGHT)
    return require_weight(_Reader(weight, attributes).read(stream), weight)


def write(
    graph: Graph, stream: BinaryIO, terminals: Any = None, attributes: Attributes = NO_ATTRIBUTES
) -> None:
    """Write nodes, edges, weights and attributes.

    With terminals only nodes that have an edge or are one are written. Attributes of nodes that are
    called label, x, y, z, size and color are written as such. Raises UsageError for whole weights
    that a 64-bit float rounds.
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
    named = name_graph(graph, terminals, attributes)
    kind = "un" * (not named.directed) + "directed"
    stream.write(f'{_HEAD}<graph defaultedgetype="{kind}" mode="static">\n'.encode())
    drawn = _drawn_names(named.node_attributes)
    node_keys = _write_declarations(
        stream, "node", attributes.vertices, {*drawn, "label"}, named.is_terminal
    )
    edge_keys = _write_declarations(stream, "edge", attributes.edges)
    stream.write(b"<nodes>\n")
    for i, (name, row) in enumerate(zip(named.names, named.node_attributes, strict=True)):
        values = {key: value for key, value in row.items() if key not in drawn}
        if named.is_terminal is not None:
            values[TERMINAL] = named.is_terminal[i]
        label = quoteattr(str(values.pop("label", name)))
        content = _values(values, node_keys) + _draw({key: row[key] for key in drawn & row.keys()})
        stream.write(f"<node id={quoteattr(name)} label={label}>{content}</node>\n".encode())
    stream.write(b"</nodes>\n<edges>\n")
    for i, ((u, v, weight), row) in enumerate(zip(named.edges, named.edge_attributes, strict=True)):
        attribute = "" if weight is None else f' weight="{weight}"'
        ends = f"source={quoteattr(u)} target={quoteattr(v)}"
        stream.write(
            f'<edge id="{i}" {ends}{attribute}>{_values(row, edge_keys)}</edge>\n'.encode()
        )
    stream.write(b"</edges>\n</graph>\n</gexf>\n")


def _write_declarations(
    stream: BinaryIO, element: str, table: Any, without: Any = (), is_terminal: Any = None
) -> dict[str, str]:
    """Declare the columns of a table, and terminals; return the attributes' ids."""
    fields = () if table is None else table.schema
    kinds = {field.name: xml_type(field.type) for field in fields if field.name not in without}
    if is_terminal is not None:
        kinds[TERMINAL] = "boolean"
    ids = {name: str(i) for i, name in enumerate(kinds)}
    text = "".join(
        f'<attribute id="{ids[name]}" title={quoteattr(name)} '
        f'type="{kind.replace("int", "integer")}"/>'
        for name, kind in kinds.items()
    )
    if text:
        stream.write(f'<attributes class="{element}">{text}</attributes>\n'.encode())
    return ids


def _drawn_names(rows: Sequence[dict[str, Any]]) -> set[str]:
    """Return the attributes of nodes that say how they are drawn, as far as all values fit."""
    present = {name: {i for i, row in enumerate(rows) if name in row} for name in "xyz"}
    drawn = {
        name
        for name in ("x", "y", "z", "size")
        if all(_is_number(row.get(name, 0)) for row in rows)
    }
    if not {"x", "y"} <= drawn or present["x"] != present["y"]:
        drawn -= set("xyz")
    if not present["z"] <= present["x"]:
        drawn.discard("z")
    if all(_COLOR.fullmatch(str(row.get("color", "#000000"))) for row in rows):
        drawn.add("color")
    return drawn


def _draw(values: dict[str, Any]) -> str:
    """Return the elements that draw a node."""
    place = "".join(f' {name}="{values[name]}"' for name in "xyz" if name in values)
    drawing = f"<viz:position{place}/>" if place else ""
    if "size" in values:
        drawing += f'<viz:size value="{values["size"]}"/>'
    if "color" in values:
        parts = zip("rgb", bytes.fromhex(values["color"][1:]), strict=True)
        words = "".join(f' {name}="{part}"' for name, part in parts)
        drawing += f"<viz:color{words}/>"
    return drawing


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _values(values: dict[str, Any], ids: dict[str, str]) -> str:
    text = "".join(
        f'<attvalue for="{ids[name]}" value={quoteattr(value_text(value))}/>'
        for name, value in values.items()
    )
    return f"<attvalues>{text}</attvalues>" if text else ""
