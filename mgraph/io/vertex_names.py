"""How commands and files name vertices: by the graph's own ids, or by their numbers."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from mgraph.core.arrays import checked_vertices
from mgraph.core.choices import Ids as IdChoice
from mgraph.core.graph import MAX_N
from mgraph.core.numbers import parse_number
from mgraph.errors import DatasetError, UsageError
from mgraph.io.dataset import EdgeDataset
from mgraph.io.formats import format_of
from mgraph.io.graph_reader import ReadOptions
from mgraph.io.tables.id_columns import Ids, to_column
from mgraph.io.tables.sparse_ids import UnnumberedError
from mgraph.io.tables.table_files import has_pattern, holds_tables
from mgraph.io.vertex_ids import VertexIds, labels_as_ids


class VertexNames:
    """The names of a graph's vertices, as far as they are known before it is read.

    ids: whether vertices are named by their own ids, where they have any, or by their numbers.
    """

    def __init__(self, location: str, ids: IdChoice, options: ReadOptions) -> None:
        """Look at a dataset's manifest. Raises DatasetError, UsageError.

        options: how the graph is read.
        """
        self._ids, self._labels, self._n = ids, None, MAX_N
        self.is_known = ids == "number"
        if format_of(location)[0] is not None or has_pattern(location):
            return
        try:
            dataset = EdgeDataset(location, options.table.request)
            if dataset.has_manifest:
                options.refuse_columns(f"{location} is a dataset of mgraph")
            elif options.table.text_ids or options.renumber:
                return
            dataset.check_dense()
        except UnnumberedError:
            return  # strings, or the reader says what is wrong
        except DatasetError:
            if holds_tables(location):
                return
            raise
        self.is_known, self._n = True, dataset.n
        if ids == "original":
            self._labels = dataset.ids

    def early(self, name: str, values: Sequence[Any]) -> list[int] | None:
        """Return the vertices that values name; None if that is not known before it is read."""
        if not self.is_known:
            return None
        return resolve(name, values, self._labels, self._n)

    def late(self, name: str, values: Sequence[Any], labels: Any, n: int) -> list[int]:
        """Return the same once the graph is read, whose labels and size these are."""
        return resolve(name, values, labels if self._ids == "original" else None, n)


def resolve(name: str, values: Iterable[Any], labels: Any, n: int) -> list[int]:
    """Return the vertices that values name. Raises UsageError for one that is none.

    values: labels or their text if the graph has labels, else numbers or their text.
    """
    if labels is None:
        numbers = [_parse_number(name, x) if isinstance(x, str) else x for x in values]
        return checked_vertices(name, numbers, n).tolist() if numbers else []
    if isinstance(labels, VertexIds):
        return [_find(name, value, labels) for value in values]
    vertex_of: dict[Any, int] = {str(label): i for i, label in enumerate(labels)}
    vertex_of |= {label: i for i, label in enumerate(labels)}
    found = []
    for value in values:
        if value not in vertex_of:
            raise _unknown(name, value)
        found.append(vertex_of[value])
    return found


def _parse_number(name: str, text: str) -> int:
    try:
        return parse_number(text)
    except ValueError:
        raise UsageError(
            f"{name} must be a whole number, such as 1_000_000, 1e9 or 2^30 (got {text!r:.60})",
            parameter=name if name.isidentifier() else None,
        ) from None


def _find(name: str, value: Any, labels: VertexIds) -> int:
    vertex = labels.find(value)
    if vertex is None and isinstance(value, str):
        vertex = labels.find(labels.parse(value))
    if vertex is None:
        raise _unknown(name, value)
    return vertex


def _unknown(name: str, value: Any) -> UsageError:
    return UsageError(
        f"{name} must be ids of the graph's vertices, and none is {value!r:.60}; "
        "`ids='number'` takes the numbers of vertices",
        parameter=name if name.isidentifier() else None,
    )


def id_column(labels: Any) -> Ids | None:
    """Return the ids of all vertices, given the graph's labels; None without labels."""
    if labels is None:
        return None
    return labels.all() if isinstance(labels, VertexIds) else labels_as_ids(labels)


def take_ids(ids: Ids, vertices: Any) -> Any:
    """Return the ids of vertices as an Arrow array; null for -1."""
    numbers = np.asarray(vertices)
    return to_column(ids).take(pa.array(numbers, mask=numbers < 0))
