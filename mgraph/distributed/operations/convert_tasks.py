"""The tasks of ``mgraph convert``: ``mgraph.io.renumbering`` has what they do."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from mgraph.core.memory import memory_guard
from mgraph.distributed.operations.convert_plan import ConvertPlan
from mgraph.errors import DatasetError, UsageError
from mgraph.io.address import location_text
from mgraph.io.renumbering import encode, merge, order, rank
from mgraph.io.renumbering.encode import Encoded
from mgraph.io.renumbering.merge import PartPlan
from mgraph.io.renumbering.order import EdgeRules, Ordered
from mgraph.io.renumbering.rank import IdRange
from mgraph.io.tables.edge_tables import Chunk, EdgeTables
from mgraph.io.tables.table_files import find_files
from mgraph.io.tables.table_listing import common_weight_type
from mgraph.io.tables.vertex_table import read_vertices

_REMEDY = "use workers with more memory, or fewer threads each"


class VertexSource(NamedTuple):
    """A table of vertices. column: of ids, if it is named. text_ids: whether ids are text."""

    location: Any
    column: str | None
    text_ids: bool


def _count(rows: int) -> None:
    from mgraph.distributed.monitoring.counters import count_edges

    count_edges(rows)


def encode_chunk(job: tuple[int, Chunk | VertexSource], plan: ConvertPlan) -> list[Encoded]:
    """Stage 1, as a task: a chunk of edges, or the table of vertices."""
    index, chunk = job
    if isinstance(chunk, VertexSource):
        with memory_guard(f"the vertices of {chunk.location}", _REMEDY):
            table, name = read_vertices(chunk.location, chunk.column, chunk.text_ids)
            try:
                return encode.encode_vertices(table, name, index, plan.folder, chunk.text_ids)
            except ValueError as error:
                raise DatasetError(f"{chunk.location}: {error}") from None
    with memory_guard(f"{plan.sizes.piece_rows:,} edges of {chunk.file.path}", _REMEDY):
        return encode.encode_chunk(chunk, index, plan.folder, plan.sizes.piece_rows, _count)


def rank_range(part: IdRange, plan: ConvertPlan, pieces: Sequence[Encoded]) -> int:
    """Stage 2, as a task."""
    with memory_guard("the ids of a range", _REMEDY):
        return rank.rank_range(part, pieces, plan.folder, plan.kind)


def order_piece(
    job: tuple[int, Encoded], plan: ConvertPlan, counts: Sequence[int], rules: EdgeRules
) -> list[Ordered]:
    """Stage 3, as a task."""
    position, piece = job
    dtype = np.int32 if sum(counts) < 1 << 31 else np.int64
    with memory_guard(f"{piece.rows:,} edges", _REMEDY):
        vertices = rank.vertices_of_piece(plan.folder, position, counts, dtype)
        try:
            ordered = order.order_piece(piece.piece, vertices, plan.folder, rules)
        except ValueError as error:
            raise DatasetError(str(error)) from None
    _count(piece.rows)
    return [ordered]


def order_chunk(job: tuple[int, Chunk], plan: ConvertPlan, rules: EdgeRules) -> list[Ordered]:
    """Stages 1 and 3 of ids that are kept, as a task."""
    index, chunk = job
    with memory_guard(f"{plan.sizes.piece_rows:,} edges of {chunk.file.path}", _REMEDY):
        return order.order_chunk(chunk, index, plan.folder, rules, plan.sizes.piece_rows, _count)


def write_part(
    job: PartPlan | tuple[IdRange, int],
    plan: ConvertPlan,
    pieces: Sequence[Ordered],
    rules: EdgeRules,
    columns: dict[str, Any],
    tables: Sequence[tuple[int, Encoded]],
) -> Any:
    """Stage 4, as a task: a part of the edges, or a file of vertices."""
    if isinstance(job, PartPlan):
        with memory_guard(f"{plan.sizes.merge_rows:,} edges", _REMEDY):
            return merge.write_part(
                job, pieces, plan.folder, rules, columns, plan.compression, plan.footer, _count
            )
    part, first = job
    return merge.write_vertices(part, first, plan.folder, plan.kind, tables, plan.compression)


def unify_schemas(schemas: Sequence[pa.Schema], location: str) -> pa.Schema:
    """Return the names and types of weights and attributes that fit all pieces. DatasetError."""
    weights = [schema.field("weight").type for schema in schemas if "weight" in schema.names]
    others = [
        pa.schema([field for field in schema if field.name != "weight"]) for schema in schemas
    ]
    try:
        unified = pa.unify_schemas(others, promote_options="permissive")
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise DatasetError(
            f"{location}: columns must have types that go together in all files: {error}"
        ) from None
    if weights:
        unified = unified.insert(0, pa.field("weight", common_weight_type(weights)))
    return unified


def vertex_source(
    vertices: Any, column: str | None, tables: EdgeTables, keep: bool, text_ids: bool
) -> VertexSource | None:
    """Return the table of vertices, if there is one. Raises UsageError, DatasetError."""
    if vertices is None:
        if column is not None:
            raise UsageError("vertex_id needs vertices", parameter="vertex_id")
        return None
    if keep:
        raise UsageError(
            "vertices applies to tables whose vertices are numbered here", parameter="vertices"
        )
    is_text = any(x.layout is not None and x.layout.ids == "text" for x in tables.chunks)
    source = VertexSource(location_text(vertices), column, is_text or text_ids)
    find_files(source.location)
    return source


def vertex_stamps(source: VertexSource | None) -> Any:
    """Return what identifies the table of vertices: its request, files, sizes and times."""
    if source is None:
        return None
    return source, [file.folder.stamp(file.name) for file in find_files(source.location)]


def output_columns(
    n: int, rules: EdgeRules, pieces: Sequence[Ordered], is_text: bool
) -> dict[str, Any]:
    """Return the columns of the parts with their types: NumPy's, or Arrow's of attributes.

    is_text: whether the tables are text, whose numbers have no types.
    """
    dtype = np.dtype(np.int32 if n < 1 << 31 else np.int64)
    columns: dict[str, Any] = {"src": dtype, "dst": dtype}
    if rules.draw is not None:
        columns["weight"] = np.dtype(np.int32)
    for field in rules.columns:
        if field.name != "weight":
            columns[field.name] = field.type
            continue
        columns["weight"] = np.dtype(field.type.to_pandas_dtype())
        bounds = [piece.weights for piece in pieces if piece.weights is not None]
        if is_text and columns["weight"] == np.int64 and bounds:
            low, high = min(pair[0] for pair in bounds), max(pair[1] for pair in bounds)
            fits = low >= -(1 << 31) and high < 1 << 31
            columns["weight"] = np.dtype(np.int32 if fits else np.int64)
    return columns
