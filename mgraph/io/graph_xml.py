"""What GraphML and GEXF files have in common: a parser of nodes and edges, and a writer's parts.

Files are parsed element by element, so memory is that of the names and edges. A whole number is
kept whatever type the file declares, and ``2.0`` is one; weights are int32 or int64 if all are
whole, else float64.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple
from xml.parsers import expat

import numpy as np
import pyarrow as pa

from mgraph.core.edges import COLUMNS, EdgeList
from mgraph.core.graph import Graph
from mgraph.core.networkx_graph import number_nodes
from mgraph.errors import UsageError
from mgraph.io.attributes import VERTEX_RESERVED, AttributeTexts, list_rows
from mgraph.io.edge_text import label_text
from mgraph.io.listing import Attributes, Listing, narrow
from mgraph.io.tables.column_names import unread_note
from mgraph.io.text import parse_number, quote

WEIGHT = "weight"
_WHOLE = re.compile(rb"[+-]?[0-9]{1,19}")
_MAX_WHOLE = 1 << 53  # what a float counts up to
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class GraphReader:
    """Parses a file: subclasses say what the start and the end of an element mean.

    Attributes: ``path``, the elements that are open, from the outermost; ``text``, the characters
    since the last tag; ``node_attributes`` and ``edge_attributes``, their attributes.
    """

    def __init__(self, keeps_attributes: bool) -> None:
        """Begin a file. keeps_attributes: whether values of attributes are read."""
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._characters
        parser.EntityDeclHandler = _refuse_entity
        self.path: list[str] = []
        self.text = ""
        self.is_directed: bool | None = None  # by default; None before the graph begins
        self.notes: dict[str, None] = {}  # in order
        self.node_attributes, self.edge_attributes = (
            AttributeTexts(VERTEX_RESERVED),
            AttributeTexts(COLUMNS),
        )
        self.unread: dict[str, None] = {}  # attributes of edges
        self._keeps = keeps_attributes
        self._open_nodes: list[int] = []
        self._nodes: dict[str, int] = {}
        self._given_nodes: set[str] = set()
        self._ends: list[tuple[int, int]] = []
        self._directed: list[bool] = []
        self._weights: list[int | float | None] = []

    @property
    def line(self) -> int:
        """The line of the file that is parsed."""
        return int(self._parser.CurrentLineNumber)

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Called for each start tag, without its namespace."""

    def end(self, tag: str) -> None:
        """Called for each end tag; ``text`` is what precedes it."""

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        self.path.append(tag)
        self.text = ""
        self.start(tag, attributes)

    def _end(self, name: str) -> None:
        self.end(self.path[-1])
        if self.path.pop() == "node":
            self._open_nodes.pop()
        self.text = ""

    def _characters(self, text: str) -> None:
        self.text += text

    def read(self, stream: BinaryIO, default: int | None = None) -> Listing:
        """Parse a file. default: the weight of edges that have none, if some have one.

        Raises ValueError for a file that is not such a graph.
        """
        try:
            self._parser.ParseFile(stream)
        except expat.ExpatError as error:
            words = expat.errors.messages[error.code]
            raise ValueError(f"line {error.lineno} is not XML: {words}") from None
        except LookupError as error:
            if "encoding" not in str(error):
                raise
            raise ValueError(f"its text has an {error}") from None
        if self.is_directed is None:
            raise ValueError("it has no element graph")
        return self._listing(default)

    def begin_graph(self, kind: str | None, directedness: dict[str, bool]) -> None:
        """Begin the graph, whose edges are directed by default or not as ``directedness`` says."""
        if self.is_directed is not None:
            raise ValueError(
                f"line {self.line} begins a second graph, and a file with one graph can be read"
            )
        self.is_directed = self._directedness(kind, directedness, False)

    def _directedness(self, kind: str | None, kinds: dict[str, bool], default: bool) -> bool:
        if kind is None:
            return default
        if kind not in kinds:
            words = ", ".join(kinds)
            raise ValueError(f"line {self.line}: edges are one of {words} (got {kind!r:.60})")
        return kinds[kind]

    def add_node(self, attributes: dict[str, str]) -> None:
        """Add a node, which has an id of its own."""
        name = self._required(attributes, "id")
        if name in self._given_nodes:
            raise ValueError(f"line {self.line}: there are two nodes {name!r:.60}")
        self._given_nodes.add(name)
        self._open_nodes.append(self._nodes.setdefault(name, len(self._nodes)))

    def set_attribute(self, element: str, name: str, text: str) -> None:
        """Set an attribute of the node or the edge that is open."""
        if not self._keeps:
            return
        if element == "node" and self._open_nodes:
            is_first = self.node_attributes.set(name, self._open_nodes[-1], text)
        elif element == "edge":
            is_first = self.edge_attributes.set(name, len(self._ends), text)
        else:
            return
        if not is_first:
            self.notes[f"of several values of {name} the last is read"] = None

    def add_edge(
        self,
        attributes: dict[str, str],
        kind: str | None,
        kinds: dict[str, bool],
        weight: str | None,
    ) -> None:
        """Add an edge. kind, kinds: as for ``begin_graph``. weight: its text."""
        ends = [self._required(attributes, name) for name in ("source", "target")]
        u, v = (self._nodes.setdefault(name, len(self._nodes)) for name in ends)
        self._ends.append((u, v))
        self._directed.append(self._directedness(kind, kinds, bool(self.is_directed)))
        self._weights.append(None if weight is None else self._parse(weight, ends))

    def _required(self, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            raise ValueError(f"line {self.line}: the {self.path[-1]} has no {name}")
        return attributes[name]

    def _parse(self, text: str, ends: Sequence[str]) -> int | float:
        word = text.strip().encode()
        if _WHOLE.fullmatch(word) and -(1 << 63) <= int(word) < 1 << 63:
            return int(word)
        number = parse_number(word)
        if number is not None and abs(number) <= _MAX_WHOLE and number.is_integer():
            return int(number)
        if number is None:
            raise ValueError(
                f"line {self.line}: the weight of the edge from {ends[0]!r:.60} to {ends[1]!r:.60} "
                f"must be a number (got {quote(word)})"
            )
        return number

    def _listing(self, default: int | None) -> Listing:
        """Return what was read; undirected edges among arcs are both arcs."""
        numbers, labels = number_nodes(self._nodes, textual=True)
        renumbered = np.array([numbers[name] for name in self._nodes], np.int64)
        src, dst = renumbered[np.array(self._ends, np.int64).reshape(-1, 2)].T
        weights = self._weight_array(default)
        if weights is None and self.unread and not self._keeps:
            self.notes |= dict.fromkeys(unread_note(list(self.unread), has_weight=False))
        directed = np.array(self._directed, bool)
        columns = [src, dst, *([] if weights is None else [weights])]
        edge_attributes = self.edge_attributes.table(len(self._ends)) if self._keeps else None
        if directed.any() and not directed.all():
            mirrored = ~directed & (src != dst)
            mirrors = [column[mirrored] for column in columns]
            mirrors[:2] = mirrors[1::-1]
            columns = [np.concatenate(pair) for pair in zip(columns, mirrors, strict=True)]
            if edge_attributes is not None:
                edge_attributes = pa.concat_tables(
                    [edge_attributes, edge_attributes.filter(pa.array(mirrored))]
                )
        is_directed = bool(directed.any() if directed.size else self.is_directed)
        node_attributes = self.node_attributes.table(len(numbers)) if self._keeps else None
        if node_attributes is not None:
            node_attributes = node_attributes.take(pa.array(np.argsort(renumbered)))
        return Listing(
            EdgeList(*columns),
            len(numbers),
            is_directed,
            labels,
            tuple(self.notes),
            Attributes(edge_attributes, node_attributes),
        )

    def _weight_array(self, default: int | None) -> np.ndarray | None:
        missing = self._weights.count(None)
        if missing == len(self._weights):
            return None
        if missing and default is None:
            present = len(self._weights) - missing
            raise ValueError(
                f"{present:,} of {len(self._weights):,} edges have a weight; give it to all or to "
                "none"
            )
        weights = [default if weight is None else weight for weight in self._weights]
        if all(isinstance(weight, int) for weight in weights):
            whole: np.ndarray = narrow(np.array(weights, np.int64))
            return whole
        for weight in weights:
            if isinstance(weight, int) and int(float(weight)) != weight:
                raise ValueError(
                    f"the weight {weight:,} is no 64-bit float, which the weights must be, since "
                    "some are not whole"
                )
        return np.array(weights, np.float64)


def _refuse_entity(name: str, *more: Any) -> None:
    """Refuse a definition: a few, each made of the previous one, expand to more than any memory.

    No program writes graphs with them.
    """
    raise ValueError(f"it defines the entity {name!r:.60}, and graphs need none")


def require_weight(listing: Listing, name: str) -> Listing:
    """Return the listing; raise UsageError if no edge has the weight that a user named."""
    if len(listing.edges) and listing.edges.weight is None:
        raise UsageError(f"no edge has an attribute {name!r:.60}", parameter="weight")
    return listing


class NamedGraph(NamedTuple):
    """A graph as it is written: names of the nodes, terminals among them or None, and the edges.

    node_attributes, edge_attributes: the values of the attributes of each, by name.
    """

    names: list[str]
    is_terminal: list[bool] | None
    edges: Iterator[tuple[str, str, Any]]
    directed: bool
    weight_dtype: np.dtype | None
    node_attributes: list[dict[str, Any]]
    edge_attributes: list[dict[str, Any]]


def name_graph(graph: Graph, terminals: Any, attributes: Attributes) -> NamedGraph:
    """Return all vertices, or those that have an edge or are terminals, with marks.

    Raises UsageError for labels and attributes that a file cannot have.
    """
    labels = None if graph.labels is None else [label_text(label) for label in graph.labels]
    if labels is not None and len(set(labels)) < len(labels):
        raise UsageError(
            "labels must differ as text in this format: two labels of the graph are the same text"
        )
    for label in labels or ():
        if _NOT_XML.search(label):
            raise UsageError(f"XML cannot represent the label {label!r:.60}; rename that vertex")
    used = np.arange(graph.n)
    if terminals is not None:
        used = np.union1d(
            np.flatnonzero(np.diff(graph.indptr)), np.append(graph.indices, terminals)
        )
    edges = graph.to_edges()

    def name(vertex: int) -> str:
        return str(vertex) if labels is None else labels[vertex]

    weights = [None] * len(edges) if edges.weight is None else edges.weight.tolist()
    rows = zip(edges.src.tolist(), edges.dst.tolist(), weights, strict=True)
    node_attributes = attributes.vertices
    return NamedGraph(
        [name(vertex) for vertex in used.tolist()],
        None if terminals is None else np.isin(used, terminals).tolist(),
        ((name(u), name(v), weight) for u, v, weight in rows),
        graph.directed,
        None if edges.weight is None else edges.weight.dtype,
        [{}] * used.size
        if node_attributes is None
        else _checked_rows(node_attributes.take(pa.array(used))),
        [{}] * len(edges) if attributes.edges is None else _checked_rows(attributes.edges),
    )


def _checked_rows(table: pa.Table) -> list[dict[str, Any]]:
    rows = list_rows(table)
    for name in table.column_names:
        if _NOT_XML.search(name):
            raise UsageError(f"XML cannot represent the name {name!r:.60} of an attribute")
    for row in rows:
        for name, value in row.items():
            if isinstance(value, str) and _NOT_XML.search(value):
                raise UsageError(f"XML cannot represent the value {value!r:.60} of {name}")
    return rows


def value_text(value: Any) -> str:
    """Return a value of an attribute as XML has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return str(value)
