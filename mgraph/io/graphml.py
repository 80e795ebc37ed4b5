"""GraphML files (``.graphml``): http://graphml.graphdrawing.org/specification.html."""

from typing import Any, BinaryIO
from xml.sax.saxutils import quoteattr

from mgraph.core.graph import Graph
from mgraph.io.graph_xml import WEIGHT, GraphReader, name_graph, require_weight
from mgraph.io.listing import Listing

_KINDS = {"directed": True, "undirected": False}
_DIRECTED = {"true": True, "1": True, "false": False, "0": False}
_TYPES = {"int32": "int", "int64": "long", "float32": "float", "float64": "double"}
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns" '
    'xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" '
    'xsi:schemaLocation="http://graphml.graphdrawing.org/xmlns '
    'http://graphml.graphdrawing.org/xmlns/1.0/graphml.xsd">\n'
)


class _Reader(GraphReader):
    """An edge's weight is the attribute of that name, or its default.

    NetworkX declares the attribute once for each type that its values have.
    """

    def __init__(self, weight: str) -> None:
        super().__init__()
        self._weight = weight
        self._weight_keys: set[str] = set()
        self._default: str | None = None
        self._edge: dict[str, str] = {}
        self._edge_weight: str | None = None
        self._key = ""  # of the element key or data that is open

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if tag == "key":
            name = attributes.get("attr.name", attributes.get("id"))
            is_of_edges = attributes.get("for", "all") in ("edge", "all")
            self._key = attributes.get("id", "") if is_of_edges and name == self._weight else ""
            self._weight_keys |= {self._key} - {""}
        elif tag == "graph":
            if "node" in self.path:
                raise ValueError(f"line {self.line} begins a graph within a node")
            self.begin_graph(attributes.get("edgedefault"), _KINDS)
        elif tag == "node":
            self.add_node(attributes)
        elif tag == "edge":
            self._edge, self._edge_weight = attributes, self._default
        elif tag == "data":
            self._key = attributes.get("key", "")
        elif tag == "hyperedge":
            raise ValueError(f"line {self.line} is an edge of any number of nodes")

    def end(self, tag: str) -> None:
        if tag == "default" and self._key in self._weight_keys:
            self._default = self.text
        elif tag == "data" and self.path[-2] == "edge" and self._key in self._weight_keys:
            self._edge_weight = self.text
        elif tag == "edge":
            kind = self._edge.get("directed")
            self.add_edge(self._edge, kind, _DIRECTED, self._edge_weight)


def read(stream: BinaryIO, weight: str = WEIGHT) -> Listing:
    """Read the edges of a file; ``number_nodes`` numbers the nodes. Raises ValueError.

    weight: the name of the edges' attribute that is their weight.
    """
    listing = _Reader(weight).read(stream)
    return listing if weight == WEIGHT else require_weight(listing, weight)


def write(graph: Graph, stream: BinaryIO, terminals: Any = None) -> None:
    """Write nodes, edges and weights; with terminals only nodes that have an edge or are one."""
    named = name_graph(graph, terminals)
    stream.write(_HEAD.encode())
    if named.weight_dtype is not None:
        kind = _TYPES[str(named.weight_dtype)]
        stream.write(
            f'<key id="weight" for="edge" attr.name="weight" attr.type="{kind}"/>\n'.encode()
        )
    if named.is_terminal is not None:
        stream.write(b'<key id="terminal" for="node" attr.name="terminal" attr.type="boolean"/>\n')
    stream.write(f'<graph edgedefault="{"un" * (not named.directed)}directed">\n'.encode())
    for i, name in enumerate(named.names):
        data = ""
        if named.is_terminal is not None:
            data = f'<data key="terminal">{str(named.is_terminal[i]).lower()}</data>'
        stream.write(f"<node id={quoteattr(name)}>{data}</node>\n".encode())
    for i, (u, v, weight) in enumerate(named.edges):
        data = "" if weight is None else f'<data key="weight">{weight}</data>'
        ends = f"source={quoteattr(u)} target={quoteattr(v)}"
        stream.write(f'<edge id="e{i}" {ends}>{data}</edge>\n'.encode())
    stream.write(b"</graph>\n</graphml>\n")
