"""GraphML and GEXF files, which Gephi opens, read and written by NetworkX: for small graphs."""

import contextlib
import re
from typing import Any, BinaryIO

import numpy as np

from mgraph.core.graph import Graph
from mgraph.core.networkx_graph import convert_edges, number_nodes
from mgraph.errors import UsageError
from mgraph.io.listing import Listing

_BLOCK_BYTES = 1 << 16
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _to_listing(parsed: Any) -> Listing:
    """Convert NetworkX's graph. GEXF's weights are floats: whole ones become int32."""
    numbers, labels = number_nodes(parsed.nodes, textual=True)
    try:
        graph = convert_edges(parsed, numbers)
    except UsageError as error:
        raise ValueError(str(error)) from error
    edges = graph.to_edges()
    weight = edges.weight
    if weight is not None and weight.dtype != np.int32:
        limits = np.iinfo(np.int32)
        are_integers = weight.dtype.kind == "i" or (weight == np.rint(weight)).all()
        if are_integers and ((weight >= limits.min) & (weight <= limits.max)).all():
            weight = weight.astype(np.int32)
    return Listing(type(edges)(edges.src, edges.dst, weight), graph.n, graph.directed, labels)


def _refuse_entities(stream: BinaryIO) -> None:
    """Raise ValueError for a file that defines entities, and rewind the file.

    A few entities, each defined by the previous one, expand to more text than any memory holds, and
    no program writes graphs with them. They are defined before the first element.
    """
    from xml.parsers import expat

    has_element = False

    def entity(name: str, *more: Any) -> None:
        raise ValueError(f"it defines the entity {name!r:.60}, and graphs need none")

    def element(name: str, attributes: Any) -> None:
        nonlocal has_element
        has_element = True

    parser = expat.ParserCreate()
    parser.EntityDeclHandler, parser.StartElementHandler = entity, element
    with contextlib.suppress(expat.ExpatError):  # which NetworkX's parser reports
        while not has_element and (block := stream.read(_BLOCK_BYTES)):
            parser.Parse(block)
    stream.seek(0)


def _parse(parse: Any, stream: BinaryIO) -> Listing:
    from xml.etree.ElementTree import ParseError

    from networkx import NetworkXException

    _refuse_entities(stream)
    try:
        return _to_listing(parse(stream))
    except (ParseError, NetworkXException, AttributeError, LookupError, TypeError) as error:
        raise ValueError(str(error)) from error


def read_graphml(stream: BinaryIO) -> Listing:
    """Read the edges of a GraphML file; ``number_nodes`` numbers the nodes."""
    from networkx import read_graphml

    return _parse(read_graphml, stream)


def read_gexf(stream: BinaryIO) -> Listing:
    """Read the edges of a GEXF file; ``number_nodes`` numbers the nodes."""
    from networkx import read_gexf

    return _parse(read_gexf, stream)


def _to_networkx(graph: Graph, terminals: Any) -> Any:
    """Convert all vertices, or those that have an edge or are terminals, with marks."""
    labels = [str(label) for label in graph.labels or ()]
    if len(set(labels)) < len(labels):
        raise UsageError(
            "labels must differ as text in this format: two labels of the graph are the same text"
        )
    for label in labels:
        if _NOT_XML.search(label):
            raise UsageError(f"XML cannot represent the label {label!r:.60}; rename that vertex")
    if terminals is None:
        return graph.to_networkx()
    from networkx import set_node_attributes

    used = np.union1d(np.flatnonzero(np.diff(graph.indptr)), np.append(graph.indices, terminals))
    converted = graph.to_networkx(vertices=used)
    names = used.tolist() if graph.labels is None else [graph.labels[v] for v in used]
    marks = zip(names, np.isin(used, terminals).tolist(), strict=True)
    set_node_attributes(converted, dict(marks), "terminal")
    return converted


def write_graphml(graph: Graph, stream: BinaryIO, terminals: Any = None) -> None:
    """Write nodes, edges and weights; with terminals only nodes that have an edge or are one."""
    from networkx import write_graphml

    write_graphml(_to_networkx(graph, terminals), stream)


def write_gexf(graph: Graph, stream: BinaryIO, terminals: Any = None) -> None:
    """Write nodes, edges and weights; with terminals only nodes that have an edge or are one."""
    from networkx import write_gexf

    write_gexf(_to_networkx(graph, terminals), stream)
