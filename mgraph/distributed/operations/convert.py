"""Convert tables of edges into a dataset over a cluster; ``mgraph.io.renumbering`` has the stages.

Each stage is a set of tasks over files in the output folder; a task that is finished has written a
record, which ``resume`` reads instead. Between the stages only counts and the first keys of batches
come back to the client.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

import numpy as np
import pyarrow as pa

import mgraph
from mgraph.core.choices import Compression
from mgraph.core.memory import memory_guard
from mgraph.distributed.clusters.connect import ClusterLike
from mgraph.distributed.operations.convert_plan import (
    ConvertOutput,
    ConvertPlan,
    choose_part_rows,
    choose_sizes,
    hash_identity,
    remove_scratch,
)
from mgraph.distributed.operations.operation import Operation, Run, Work
from mgraph.distributed.operations.results import Results
from mgraph.distributed.operations.resume import ExistingOutput
from mgraph.distributed.operations.tasks import run_parts
from mgraph.distributed.protocol.run_context import WriteIntent
from mgraph.errors import DatasetError, UsageError
from mgraph.io.folder import Folder
from mgraph.io.graph_reader import ReadOptions
from mgraph.io.manifest import Manifest, PartRecord, VertexTable, vertices_name
from mgraph.io.renumbering import encode, merge, order, rank
from mgraph.io.renumbering.encode import Encoded
from mgraph.io.renumbering.merge import PartPlan
from mgraph.io.renumbering.order import EdgeRules, Ordered
from mgraph.io.renumbering.pieces import done_name
from mgraph.io.renumbering.rank import IdRange
from mgraph.io.tables import id_columns
from mgraph.io.tables.sparse_ids import is_sparse
from mgraph.io.tables.table_files import Chunk, EdgeTables, open_tables
from mgraph.io.tables.table_listing import common_weight_type

_TEXT_ROW_BYTES = 20  # about
_REMEDY = "use workers with more memory, or fewer threads each"


@dataclass(frozen=True, repr=False)
class ConvertRun(Results):
    """What a conversion did.

    Attributes
    ----------
    location : str
        The dataset's folder.
    manifest : Manifest
        The dataset's description.
    made_parts, kept_parts : int
        Parts that were written, and parts kept from an earlier run.
    seconds, work_seconds, compile_seconds : float
        From the call to the manifest; of the tasks alone, without compiling; of the slowest
        worker's compiler.
    notes : tuple of str
        What a user should know of the tables.
    """

    location: str
    manifest: Manifest
    made_parts: int
    kept_parts: int
    seconds: float
    work_seconds: float
    compile_seconds: float
    notes: tuple[str, ...] = ()

    @property
    def records(self) -> tuple[PartRecord, ...]:
        """The parts: file, rows, first and stop vertex, checksum, bytes."""
        return self.manifest.parts

    _rows = "records"


def _count(rows: int) -> None:
    from mgraph.distributed.monitoring.counters import count_edges

    count_edges(rows)


def encode_chunk(job: tuple[int, Chunk], plan: ConvertPlan) -> list[Encoded]:
    """Stage 1, as a task."""
    index, chunk = job
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
) -> Any:
    """Stage 4, as a task: a part of the edges, or a file of vertices."""
    if isinstance(job, PartPlan):
        with memory_guard(f"{plan.sizes.merge_rows:,} edges", _REMEDY):
            return merge.write_part(
                job, pieces, plan.folder, rules, columns, plan.compression, plan.footer, _count
            )
    part, first = job
    return merge.write_vertices(part, first, plan.folder, plan.kind, (), plan.compression)


class ConvertOperation(Operation):
    """``mgraph convert`` of tables: stages of tasks over files, one after the other."""

    verb = "convert"
    output: ConvertOutput

    def __init__(
        self,
        location: Any,
        out: Any,
        options: ReadOptions,
        compression: Compression,
        keep_numbers: bool,
        weights: tuple[int, int] | None,
        seed: int,
        **more: Any,
    ) -> None:
        """Check the request, and find the files. Raises UsageError, DatasetError."""
        from mgraph.io.parquet import check_compression

        super().__init__(out, backend="cpu", **more)
        check_compression(compression)
        self.source: EdgeTables = open_tables(location, options.table)
        self.options, self.compression, self.keep = options, compression, keep_numbers
        if weights is not None and self.source.columns.weight is not None:
            raise UsageError(
                f"weights are drawn for edges without, and {self.source.location} has weights in "
                f"the column {self.source.columns.weight}",
                parameter="weights",
            )
        self.draw = None if weights is None else (*weights, seed)
        self.directed = self.source.directed and not options.symmetrise
        self.edges = self._estimate_edges()
        self.identity = hash_identity(
            (self.source.stamps, options, compression, keep_numbers, self.draw, 1)
        )

    def _estimate_edges(self) -> int:
        if self.source.rows is not None:
            return self.source.rows
        sizes = [stamp[1] for stamp in self.source.stamps]
        compressed = 4 if any(chunk.stop < 0 for chunk in self.source.chunks) else 1
        return compressed * sum(sizes) // _TEXT_ROW_BYTES

    def _size_of(self, chunk: Chunk) -> int:
        return chunk.size if chunk.layout is None else max(0, chunk.size) // _TEXT_ROW_BYTES

    def request(self) -> dict[str, Any]:
        """Return the files and how they are converted."""
        return {"convert": self.source.location, "identity": self.identity}

    def look(self, intent: WriteIntent, read: bool) -> ExistingOutput:
        """Read what the folder holds, from records of its own."""
        assert self.folder is not None
        self.output = ConvertOutput(self.folder, self.identity, intent.resume, intent.overwrite)
        return ExistingOutput(self.output.parts)

    def is_finished(self, existing: ExistingOutput) -> bool:
        """Return whether the folder holds this conversion already."""
        if self.output.finished is None:
            return False
        assert self.folder is not None
        self.manifest = self.output.finished
        remove_scratch(self.folder, self._files(self.manifest))
        return True

    @staticmethod
    def _files(manifest: Manifest) -> set[str]:
        return {part.file for part in manifest.parts} | set(manifest.vertex_files)

    def work(self, run: Run) -> Work:
        """Return the first stage's tasks."""
        assert self.folder is not None
        sizes = self.output.sizes or choose_sizes(run.cluster)
        self.names = self.output.begin(sizes)
        footer = {"conversion": self.identity, "converted": True}
        plan = ConvertPlan(self.folder, self.compression, sizes, self.keep, footer)
        jobs = list(enumerate(self.source.chunks))
        sizes_of_jobs = [self._size_of(chunk) for chunk in self.source.chunks]
        return Work(encode_chunk, jobs, sizes_of_jobs, {"plan": plan})

    def _stage(
        self,
        run: Run,
        name: str,
        task: Callable[..., Any],
        jobs: dict[int, Any],
        sizes: dict[int, int],
        read: Callable[[Folder, int], Any],
        **common: Any,
    ) -> dict[int, Any]:
        """Run the tasks of a stage that no earlier run finished; return all results, in order."""
        assert self.folder is not None
        kept = {i: read(self.folder, i) for i in jobs if done_name(name, i) in self.names}
        missing = {i: job for i, job in jobs.items() if i not in kept}
        made = run_parts(
            run.cluster,
            task,
            missing,
            {i: sizes[i] for i in missing},
            verb=f"convert-{name}",
            progress=run.progress,
            **common,
        )
        return {i: (kept | made)[i] for i in jobs}

    def fan_out(self, run: Run, work: Work) -> list[Any]:
        """Run the stages; return the records of the parts."""
        plan: ConvertPlan = work.shared["plan"]
        chunks = dict(enumerate(work.arguments))
        sizes = dict(enumerate(work.sizes))
        vertices: list[tuple[IdRange, int]] = []
        if plan.keep:
            schema = self._schema_of_chunks()
            rules = self._rules(schema)
            ordered = self._stage(
                run, "order", order_chunk, chunks, sizes, order.read_record, plan=plan, rules=rules
            )
            self.n = self._kept_n([piece for pieces in ordered.values() for piece in pieces])
        else:
            encoded = self._stage(
                run, "encode", encode_chunk, chunks, sizes, encode.read_record, plan=plan
            )
            pieces = [piece for some in encoded.values() for piece in some]
            plan, counts, vertices = self._rank(run, plan, pieces)
            rules = self._rules(self._common_schema(pieces))
            ordered = self._stage(
                run,
                "order",
                order_piece,
                {piece.piece: (i, piece) for i, piece in enumerate(pieces)},
                {piece.piece: piece.rows for piece in pieces},
                order.read_record,
                plan=plan,
                counts=counts,
                rules=rules,
            )
        pieces_in_order = [piece for some in ordered.values() for piece in some]
        return self._merge(run, plan, pieces_in_order, rules, vertices)

    def _rank(
        self, run: Run, plan: ConvertPlan, pieces: list[Encoded]
    ) -> tuple[ConvertPlan, list[int], list[tuple[IdRange, int]]]:
        """Run stage 2; return the plan, the distinct ids of each range, and the files to write."""
        filled = [piece for piece in pieces if piece.distinct]
        low = min((piece.low for piece in filled), default=0)
        high = max((piece.high for piece in filled), default=-1)
        try:
            kind = id_columns.common_kind([piece.kind for piece in filled], low, high)
        except ValueError as error:
            raise DatasetError(f"{self.source.location}: {error}") from None
        plan = replace(plan, kind=kind)
        ranges = rank.plan_ranges(pieces, plan.sizes.range_ids, kind)
        share = sum(piece.rows for piece in pieces) // max(1, len(ranges))
        found = self._stage(
            run,
            "rank",
            rank_range,
            {part.number: part for part in ranges},
            {part.number: share for part in ranges},
            rank.read_record,
            plan=plan,
            pieces=pieces,
        )
        counts = [found[part.number] for part in ranges]
        self.n, self.kind = sum(counts), kind
        firsts = np.cumsum([0, *counts]).tolist()
        is_identity = kind in ("int64", "uint64") and low == 0 and high == self.n - 1
        if is_identity or not self.n:
            return plan, counts, []
        return plan, counts, list(zip(ranges, firsts[:-1], strict=True))

    def _kept_n(self, pieces: Sequence[Ordered]) -> int:
        n = 1 + max((piece.highest for piece in pieces), default=-1)
        rows = sum(piece.rows for piece in pieces)
        if is_sparse(n, rows):
            raise DatasetError(
                f"{self.source.location}: its ids are sparse, up to {n - 1:,} in {rows:,} edges; "
                "without `keep_numbers` the vertices are numbered from 0, and the ids are kept"
            )
        return n

    def _common_schema(self, pieces: Sequence[Encoded]) -> pa.Schema:
        """Return the names and types of weights and attributes in all pieces."""
        schemas = [piece.columns() for piece in pieces if piece.rows] or [pa.schema([])]
        return _unify_schemas(schemas, self.source.location)

    def _schema_of_chunks(self) -> pa.Schema:
        """Return the same, by the first rows of each file."""
        schemas, seen = [], set[str]()
        for chunk in self.source.chunks:
            if chunk.file.path not in seen:
                seen.add(chunk.file.path)
                batch = next(chunk.batches(), None)
                if batch is not None:
                    fields = [f for f in batch.schema if f.name not in ("src", "dst")]
                    schemas.append(pa.schema(fields))
        return _unify_schemas(schemas or [pa.schema([])], self.source.location)

    def _rules(self, schema: pa.Schema) -> EdgeRules:
        options = self.options
        return EdgeRules(
            directed=self.directed,
            drop_loops=options.drop_loops,
            merge=options.merge,
            drop_infinite=options.drop_infinite,
            columns=schema,
            draw=self.draw,
        )

    def _columns(self, rules: EdgeRules, pieces: Sequence[Ordered]) -> dict[str, Any]:
        """Return the columns of the parts with their types: NumPy's, or Arrow's of attributes."""
        dtype = np.dtype(np.int32 if self.n < 1 << 31 else np.int64)
        columns: dict[str, Any] = {"src": dtype, "dst": dtype}
        if rules.draw is not None:
            columns["weight"] = np.dtype(np.int32)
        for field in rules.columns:
            if field.name != "weight":
                columns[field.name] = field.type
                continue
            weight = np.dtype(field.type.to_pandas_dtype())
            bounds = [piece.weights for piece in pieces if piece.weights is not None]
            is_text = any(chunk.layout is not None for chunk in self.source.chunks)
            if weight == np.int64 and is_text:  # whose numbers have no types
                low, high = min(b[0] for b in bounds), max(b[1] for b in bounds)
                fits = low >= -(1 << 31) and high < 1 << 31
                weight = np.dtype(np.int32 if fits else np.int64)
            columns["weight"] = weight
        order_of_columns = ["src", "dst", *(["weight"] if "weight" in columns else [])]
        return {name: columns[name] for name in dict.fromkeys([*order_of_columns, *columns])}

    def _merge(
        self,
        run: Run,
        plan: ConvertPlan,
        pieces: list[Ordered],
        rules: EdgeRules,
        vertices: list[tuple[IdRange, int]],
    ) -> list[Any]:
        """Run stage 4: write the parts, and the files of vertices."""
        rows = sum(piece.rows for piece in pieces)
        part_rows = choose_part_rows(rows, run.cluster.threads)
        parts = merge.plan_parts(pieces, self.n, part_rows, plan.sizes.merge_rows)
        columns = self._columns(rules, pieces)
        jobs: list[Any] = [*parts, *vertices]
        made = run_parts(
            run.cluster,
            write_part,
            dict(enumerate(jobs)),
            {i: job.rows if isinstance(job, PartPlan) else 0 for i, job in enumerate(jobs)},
            verb=self.verb,
            progress=run.progress,
            plan=plan,
            pieces=pieces,
            rules=rules,
            columns=columns,
        )
        self.columns = columns
        self.vertex_table = None
        if vertices:
            numbers = range(len(parts), len(jobs))
            self.vertex_table = VertexTable(
                kind=self.kind,
                ascending=True,
                files=tuple(vertices_name(part.number) for part, _ in vertices),
                rows=tuple(made[i] for i in numbers),
            )
        return [made[i] for i in range(len(parts))]

    def finish(self, run: Run, results: list[PartRecord]) -> None:
        """Write the manifest, and remove the files of the stages."""
        assert self.folder is not None
        weight = self.columns.get("weight")
        self.manifest = Manifest(
            model={},
            n=self.n,
            num_edges=sum(record.rows for record in results),
            dtype=str(self.columns["src"]),
            compression=self.compression,
            parts=tuple(results),
            created_by=f"mgraph {mgraph.__version__}",
            weight_dtype=None if weight is None else str(weight),
            directed=self.directed,
            vertices=self.vertex_table,
        )
        self.manifest.write(self.folder)
        remove_scratch(self.folder, self._files(self.manifest))


def _unify_schemas(schemas: Sequence[pa.Schema], location: str) -> pa.Schema:
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


def convert_tables(
    location: Any,
    out: Any,
    options: ReadOptions,
    *,
    cluster: ClusterLike = None,
    compression: Compression = "lz4",
    keep_numbers: bool = False,
    weights: tuple[int, int] | None = None,
    seed: int = 1,
    resume: bool = False,
    overwrite: bool = False,
    progress: TextIO | None = None,
) -> ConvertRun:
    """Write tables of edges as a dataset whose vertices are numbered 0 to n - 1.

    location: as for ``read_graph``. options: which columns are read, and what becomes of the edges.
    keep_numbers: ids are kept as the numbers of vertices; else vertices are numbered in the
    ascending order of their ids, which are kept in ``vertices-*.parquet`` unless they are these
    numbers. weights, seed: draw weights in (low, high) for edges without.
    """
    operation = ConvertOperation(
        location, out, options, compression, keep_numbers, weights, seed,
        resume=resume, overwrite=overwrite,
    )  # fmt: skip
    outcome = operation.run(cluster, progress)
    assert operation.folder is not None
    return ConvertRun(
        location=operation.folder.location,
        manifest=operation.manifest,
        made_parts=outcome.made_parts,
        kept_parts=outcome.kept_parts,
        seconds=outcome.seconds,
        work_seconds=outcome.work_seconds,
        compile_seconds=outcome.compile_seconds,
        notes=operation.source.notes,
    )
