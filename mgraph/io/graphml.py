"""GraphML files (``.graphml``): http://graphml.graphdrawing.org/specification.html."""

from typing import Any, BinaryIO, NamedTuple
from xml.sax.saxutils import escape, quoteattr

from mgraph.core.graph import Graph
from mgraph.io.attributes import xml_type
from mgraph.io.graph_xml import WEIGHT, GraphReader, name_graph, require_weight, value_text
from mgraph.io.listing import NO_ATTRIBUTES, Attributes, Listing

_KINDS = {"directed": True, "undirected": False}
_RETURN = {"\r": "&#13;"}  # which XML would read as a line feed
_DIRECTED = {"true": True, "1": True, "false": False, "0": False}
_TYPES = {"int32": "int", "int64": "long", "float32": "float", "float64": "double"}
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns '
    'http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">\n'
)


class _Key(NamedTuple):
    """A declaration: whose values it declares, their name, and whether they are weights."""

    of: tuple[str, ...]
    name: str
    is_weight: bool


class _Reader(GraphReader):
    """An edge's weight is the attribute of that name, or its default.

    NetworkX declares the attribute once for each type that its values have.
    """

    def __init__(self, weight: str, keeps_attributes: bool) -> None:
        super().__init__(keeps_attributes)
        self._weight = weight
        self._keys: dict[str, _Key] = {}
        self._default: str | None = None
        self._edge: dict[str, str] = {}
        self._edge_weight: str | None = None
        self._key: _Key | None = None  # of the element key or data that is open

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "key":
            self._declare(attributes)
        elif tag == "graph":
            if "node" in self.path:
                raise ValueError(f"line {self.line} begins a graph within a node")
            self.begin_graph(attributes.get("edgedefault"), _KINDS)
        elif tag == "node":
            self.add_node(attributes)
        elif tag == "edge":
            self._edge, self._edge_weight = attributes, self._default
        elif tag == "data":
            self._key = self._keys.get(attributes.get("key", ""))
        elif tag == "hyperedge":
            raise ValueError(f"line {self.line} is an edge of any number of nodes")

    def _declare(self, attributes: dict[str, str]) -> None:
        of = attributes.get("for", "all")
        name = attributes.get("attr.name", attributes.get("id", ""))
        elements = ("node", "edge") if of == "all" else (of,)
        self._key = key = _Key(elements, name, "edge" in elements and name == self._weight)
        if "yfiles.type" in attributes:  # yEd's drawing, which is XML of its own
            self._key = None
            self.notes["what yEd draws is not read"] = None
            return
        self._keys[attributes.get("id", "")] = key
        kind = attributes.get("attr.type", "string")
        if "node" in elements:
            self.node_attributes.declare(name, kind)
        if "edge" in elements and not key.is_weight:
            self.edge_attributes.declare(name, kind)
            self.unread[name] = None

    def end(self, tag: str) -> None:
        if tag == "default" and self._key is not None:
            if self._key.is_weight:
                self._default = self.text
            elif "edge" in self._key.of:
                self.edge_attributes.set_default(self._key.name, self.text)
            if "node" in self._key.of:
                self.node_attributes.set_default(self._key.name, self.text)
        elif tag == "data" and self.path[-2] == "graph" and self._keeps:
            self.notes["attributes of the graph itself are not kept"] = None
        elif tag == "data" and self._key is not None and self.path[-2] in self._key.of:
            if self.path[-2] == "edge" and self._key.is_weight:
                self._edge_weight = self.text
            else:
                self.set_attribute(self.path[-2], self._key.name, self.text)
        elif tag == "edge":
            kind = self._edge.get("directed")
            self.add_edge(self._edge, kind, _DIRECTED, self._edge_weight)


def read(stream: BinaryIO, weight: str = WEIGHT, attributes: bool = False) -> Listing:
    """Read the edges of a file; ``number_nodes`` numbers the nodes. Raises ValueError.

    weight: the name of the edges' attribute that is their weight. attributes: whether to read the
    others.
    """
    listing = _Reader(weight, attributes).read(stream)
    return listing if weight == WEIGHT else require_weight(listing, weight)


def write(
    graph: Graph, stream: BinaryIO, terminals: Any = None, attributes: Attributes = NO_ATTRIBUTES
) -> None:
    """Write nodes, edges, weights and attributes.

    With terminals only nodes that have an edge or are one are written.
    """
    named = name_graph(graph, terminals, attributes)
    stream.write(_HEAD.encode())
    if named.weight_dtype is not None:
        _write_key(stream, "weight", "edge", "weight", _TYPES[str(named.weight_dtype)])
    if named.is_terminal is not None:
        _write_key(stream, "terminal", "node", "terminal", "boolean")
    node_keys = _write_keys(stream, "node", attributes.vertices)
    edge_keys = _write_keys(stream, "edge", attributes.edges)
    stream.write(f'<graph edgedefault="{"un" * (not named.directed)}directed">\n'.encode())
    for i, (name, values) in enumerate(zip(named.names, named.node_attributes, strict=True)):
        data = _data(values, node_keys)
        if named.is_terminal is not None:
            data += f'<data key="terminal">{str(named.is_terminal[i]).lower()}</data>'
        stream.write(f"<node id={quoteattr(name)}>{data}</node>\n".encode())
    for i, ((u, v, weight), values) in enumerate(
        zip(named.edges, named.edge_attributes, strict=True)
    ):
        data = "" if weight is None else f'<data key="weight">{weight}</data>'
        ends = f"source={quoteattr(u)} target={quoteattr(v)}"
        data += _data(values, edge_keys)
        stream.write(f'<edge id="e{i}" {ends}>{data}</edge>\n'.encode())
    stream.write(b"</graph>\n</graphml>\n")


def _write_key(stream: BinaryIO, key: str, element: str, name: str, kind: str) -> None:
    text = f'<key id="{key}" for="{element}" attr.name={quoteattr(name)} attr.type="{kind}"/>\n'
    stream.write(text.encode())


def _write_keys(stream: BinaryIO, element: str, table: Any) -> dict[str, str]:
    """Declare the columns of a table; return their keys."""
    keys: dict[str, str] = {}
    for field in () if table is None else table.schema:
        keys[field.name] = f"{element}-{len(keys)}"
        _write_key(stream, keys[field.name], element, field.name, xml_type(field.type))
    return keys


def _data(values: dict[str, Any], keys: dict[str, str]) -> str:
    return "".join(
        f'<data key="{keys[name]}">{escape(value_text(value), _RETURN)}</data>'
        for name, value in values.items()
    )
