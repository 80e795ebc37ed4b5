"""NetworkX's node-link JSON (``.json``): https://networkx.org, ``readwrite.json_graph``.

An object with ``nodes``, a list of objects that have an ``id``, and ``edges`` (``links`` before
NetworkX 3.4), a list of objects with ``source`` and ``target``; ``directed`` says what they are.
"""

import json
import math
from collections.abc import Sequence
from typing import Any, BinaryIO
from uuid import UUID

import numpy as np

from mgraph.core.edges import COLUMNS, EdgeList
from mgraph.core.graph import Graph
from mgraph.core.networkx_graph import number_nodes
from mgraph.errors import UsageError
from mgraph.io import untrusted
from mgraph.io.attributes import (
    VERTEX_RESERVED,
    check_density,
    list_rows,
    named_table,
    object_column,
)
from mgraph.io.edge_text import label_text
from mgraph.io.graph_xml import require_weight
from mgraph.io.listing import NO_ATTRIBUTES, Attributes, Listing, narrow
from mgraph.io.tables.column_names import unique_name, unread_note
from mgraph.io.text import read_text

_WEIGHT = "weight"


def read(stream: BinaryIO, weight: str = _WEIGHT, attributes: bool = False) -> Listing:
    """Read the edges of a file; ``number_nodes`` numbers the nodes. Raises ValueError.

    weight: the name of the edges' attribute that is their weight. attributes: whether to read the
    others.
    """
    content = untrusted.parse_json_object(read_text(stream))
    nodes = _objects(content, ("nodes",))
    links = _objects(content, ("edges", "links"))
    names = [_hashable(_required(node, "id", f"node {i}")) for i, node in enumerate(nodes)]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"there are two nodes {twice!r:.60}")
    numbers, labels = number_nodes(names)
    ends = []
    for i, link in enumerate(links):
        pair = [_hashable(_required(link, side, f"edge {i}")) for side in ("source", "target")]
        for name in pair:
            if name not in numbers:
                raise ValueError(f"edge {i} names {name!r:.60}, which is no node")
        ends.append([numbers[name] for name in pair])
    src, dst = np.array(ends, np.int64).reshape(-1, 2).T
    directed = content.get("directed", False)
    if not isinstance(directed, bool):
        raise ValueError(f"directed must be true or false (got {directed!r:.60})")
    edges = EdgeList(src, dst, _weights(links, weight))
    own = {"source", "target", weight}
    if content.get("multigraph") and all(isinstance(x.get("key", 0), int) for x in links):
        own.add("key")  # NetworkX numbers parallel edges by it
    others = [name for name in _names(links) if name not in own]
    kept, notes = NO_ATTRIBUTES, []
    if attributes:
        in_order = sorted(range(len(names)), key=lambda i: numbers[names[i]])
        node_attributes = [nodes[i] for i in in_order]
        kept = Attributes(
            _table(links, others, COLUMNS),
            _table(
                node_attributes, [x for x in _names(node_attributes) if x != "id"], VERTEX_RESERVED
            ),
        )
        if content.get("graph"):
            notes = ["attributes of the graph itself are not kept"]
    elif edges.weight is None:
        notes = unread_note(others, has_weight=False)
    listing = Listing(edges, len(names), directed, labels, tuple(notes), kept)
    return listing if weight == _WEIGHT else require_weight(listing, weight)


def _names(values: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for value in values for name in value))


def _table(values: list[dict[str, Any]], names: list[str], reserved: Sequence[str]) -> Any:
    check_density(len(names), len(values), sum(map(len, values)))
    columns = [(name, object_column([value.get(name) for value in values])) for name in names]
    return named_table(columns, reserved)


def _objects(content: dict[str, Any], keys: tuple[str, ...]) -> list[dict[str, Any]]:
    for key in keys:
        if key in content:
            values = content[key]
            if not isinstance(values, list) or not all(isinstance(x, dict) for x in values):
                raise ValueError(f"{key} must be a list of objects")
            return values
    raise ValueError(f"it has no list {' or '.join(keys)}, as NetworkX's node-link JSON has")


def _required(value: dict[str, Any], key: str, what: str) -> Any:
    if key not in value:
        raise ValueError(f"{what} has no {key}")
    return value[key]


def _hashable(name: Any) -> Any:
    """Return a node as NetworkX reads it: a list is a tuple."""
    if isinstance(name, list):
        return tuple(map(_hashable, name))
    if name is None or isinstance(name, dict | bool):
        raise ValueError(f"a node must be a number or text (got {name!r:.60})")
    return name


def _weights(links: list[dict[str, Any]], key: str) -> np.ndarray | None:
    values = [link[key] for link in links if key in link]
    if not values:
        return None
    if len(values) < len(links):
        raise ValueError(f"{len(values):,} of {len(links):,} edges have a {key}; all or none must")
    for i, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"edge {i}: {key} must be a number (got {value!r:.60})")
    if all(isinstance(value, int) for value in values):
        if any(not -(1 << 63) <= value < 1 << 63 for value in values):
            raise ValueError(f"a {key} does not fit 64 bits")
        whole: np.ndarray = narrow(np.array(values, np.int64))
        return whole
    for value in values:
        if isinstance(value, int) and int(float(value)) != value:
            raise ValueError(
                f"the {key} {value:,} is no 64-bit float, which all must be, since some are not "
                "whole"
            )
    return np.array(values, np.float64)


def write(graph: Graph, stream: BinaryIO, attributes: Attributes = NO_ATTRIBUTES) -> None:
    """Write all nodes and edges, with their attributes.

    Raises UsageError for labels that JSON does not have.
    """
    labels = range(graph.n) if graph.labels is None else list(graph.labels)
    for label in labels if graph.labels is not None else ():
        if isinstance(label, bool) or not isinstance(label, int | float | str | bytes | UUID):
            raise UsageError(f"a label must be a number or text in JSON (got {label!r:.60})")
    labels = [label_text(x) if isinstance(x, bytes | UUID) else x for x in labels]
    edges = graph.to_edges()
    columns = [column.tolist() for column in edges]
    links = [
        {"source": labels[u], "target": labels[v], **({"weight": more[0]} if more else {})}
        for u, v, *more in zip(*columns, strict=True)
    ]
    nodes = [{"id": label} for label in labels]
    for objects, table in ((links, attributes.edges), (nodes, attributes.vertices)):
        if table is not None:
            for value, row in zip(objects, list_rows(table), strict=True):
                for name, x in row.items():
                    if isinstance(x, float) and not math.isfinite(x):
                        continue  # which JSON does not have
                    value[unique_name(name, [*value, *(row.keys() - {name})])] = x
    content = {
        "directed": graph.directed,
        "multigraph": _has_parallel(edges),
        "graph": {},
        "nodes": nodes,
        "edges": links,
    }
    stream.write(json.dumps(content, ensure_ascii=False).encode())


def _has_parallel(edges: EdgeList) -> bool:
    pairs = np.stack([edges.src, edges.dst])
    return bool(len(edges) and np.unique(pairs, axis=1).shape[1] < len(edges))
