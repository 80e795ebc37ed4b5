"""``mgraph convert`` of tables over a cluster; ``mgraph.io.renumbering`` has the stages.

Each stage is a set of tasks over files in the output folder; a task that is finished has written a
record, which ``resume`` reads instead. Between the stages only counts and the first keys of batches
come back to the client.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

import mgraph
from mgraph.core.choices import Compression
from mgraph.distributed.operations.convert_plan import (
    ConvertOutput,
    ConvertPlan,
    choose_part_rows,
    choose_sizes,
    hash_identity,
    remove_scratch,
)
from mgraph.distributed.operations.convert_tasks import (
    encode_chunk,
    order_chunk,
    order_piece,
    output_columns,
    rank_range,
    unify_schemas,
    vertex_source,
    vertex_stamps,
    write_part,
)
from mgraph.distributed.operations.operation import Operation, Run, Work
from mgraph.distributed.operations.resume import ExistingOutput
from mgraph.distributed.operations.tasks import run_parts
from mgraph.distributed.protocol.run_context import WriteIntent
from mgraph.errors import DatasetError, UsageError
from mgraph.io.folder import Folder, copy_file, folder_and_name
from mgraph.io.graph_reader import ReadOptions
from mgraph.io.manifest import Manifest, PartRecord, VertexTable, vertices_name
from mgraph.io.renumbering import encode, merge, order, rank
from mgraph.io.renumbering.encode import Encoded
from mgraph.io.renumbering.merge import PartPlan
from mgraph.io.renumbering.order import EdgeRules, Ordered
from mgraph.io.renumbering.pieces import done_name
from mgraph.io.renumbering.rank import IdRange
from mgraph.io.tables import id_columns
from mgraph.io.tables.edge_tables import Chunk, EdgeTables, open_tables
from mgraph.io.tables.sparse_ids import is_sparse
from mgraph.io.tables.table_files import find_files

_TEXT_ROW_BYTES = 20  # about


class ConvertOperation(Operation):
    """``mgraph convert`` of tables: stages of tasks over files, one after the other."""

    verb = "convert"
    output: ConvertOutput
    vertex_pieces: Sequence[tuple[int, Encoded]] = ()

    def __init__(
        self,
        location: Any,
        out: Any,
        options: ReadOptions,
        compression: Compression,
        keep_numbers: bool,
        draw: tuple[int, int, int] | None,
        vertices: Any,
        vertex_id: str | None,
        **more: Any,
    ) -> None:
        """Check the request, and find the files. Raises UsageError, DatasetError."""
        from mgraph.io.parquet import check_compression

        super().__init__(out, backend="cpu", **more)
        check_compression(compression)
        self.source: EdgeTables = open_tables(location, options.table)
        self._check_apart(vertices)
        if self.source.manifest is not None:
            options.refuse_columns(f"{self.source.location} is a dataset of mgraph")
            keep_numbers = True
        self.options, self.compression, self.keep = options, compression, keep_numbers
        if draw is not None and self.source.columns.weight is not None:
            raise UsageError(
                f"weights are drawn for edges without, and {self.source.location} has weights in "
                f"the column {self.source.columns.weight}",
                parameter="weights",
            )
        self.draw, self.vertices = (
            draw,
            vertex_source(vertices, vertex_id, self.source, self.keep, options.table.text_ids),
        )
        self.directed = self.source.directed and not options.symmetrise
        self.edges = self._estimate_edges()
        self.identity = hash_identity(
            (
                self.source.stamps,
                options,
                compression,
                keep_numbers,
                draw,
                vertex_stamps(self.vertices),
                1,
            )
        )

    def _check_apart(self, vertices: Any) -> None:
        """Raise UsageError if the output would replace what is read."""
        assert self.folder is not None
        files = [path for path, *_ in self.source.stamps]
        if vertices is not None:
            files += [file.path for file in find_files(vertices)]
        folders = [self.source.folder, *(folder_and_name(path)[0] for path in files)]
        if any(folder is not None and self.folder.same_as(folder) for folder in folders):
            raise UsageError(
                f"{self.folder} holds what is converted; write to another folder", parameter="out"
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
        jobs: list[Any] = list(enumerate(self.source.chunks))
        sizes_of_jobs = [self._size_of(chunk) for chunk in self.source.chunks]
        if self.vertices is not None:
            jobs.append((len(jobs), self.vertices))
            sizes_of_jobs.append(0)
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
        try:
            return self._run_stages(run, work)
        except DatasetError:  # the tables are at fault, so that nothing can go on
            assert self.folder is not None
            remove_scratch(self.folder, set())
            raise

    def _run_stages(self, run: Run, work: Work) -> list[Any]:
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
            table = len(chunks) - 1 if self.vertices is not None else None
            edge_pieces = [
                (i, piece)
                for i, piece in enumerate(pieces)
                if piece.piece // encode.MAX_PIECES != table
            ]
            self.vertex_pieces = [x for x in enumerate(pieces) if x not in edge_pieces]
            rules = self._rules(self._common_schema([piece for _, piece in edge_pieces]))
            ordered = self._stage(
                run,
                "order",
                order_piece,
                {piece.piece: (i, piece) for i, piece in edge_pieces},
                {piece.piece: piece.rows for _, piece in edge_pieces},
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
        if not self.n or (is_identity and self.vertices is None):
            return plan, counts, []
        return plan, counts, list(zip(ranges, firsts[:-1], strict=True))

    def _kept_n(self, pieces: Sequence[Ordered]) -> int:
        n = 1 + max((piece.highest for piece in pieces), default=-1)
        if (manifest := self.source.manifest) is not None:
            if n > manifest.n:
                raise DatasetError(
                    f"{self.source.location} has a vertex {n - 1:,}, and its manifest declares "
                    f"{manifest.n:,} vertices"
                )
            return manifest.n
        rows = sum(piece.rows for piece in pieces)
        if is_sparse(n, rows):
            raise DatasetError(
                f"{self.source.location}: its ids are sparse, up to {n - 1:,} in {rows:,} edges; "
                "leave out `keep_numbers=True` to have the vertices numbered from 0"
            )
        return n

    def _common_schema(self, pieces: Sequence[Encoded]) -> pa.Schema:
        """Return the names and types of weights and attributes in all pieces."""
        schemas = [piece.columns() for piece in pieces if piece.rows] or [pa.schema([])]
        return unify_schemas(schemas, self.source.location)

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
        return unify_schemas(schemas or [pa.schema([])], self.source.location)

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
        is_text = any(chunk.layout is not None for chunk in self.source.chunks)
        columns = output_columns(self.n, rules, pieces, is_text)
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
            tables=self.vertex_pieces,
        )
        self.columns = columns
        self.vertex_table = None
        if self.source.manifest is not None and self.source.folder is not None:
            self.vertex_table = self.source.manifest.vertices
            for name in self.source.manifest.vertex_files:
                copy_file(self.source.folder, plan.folder, name)
        elif vertices:
            numbers = range(len(parts), len(jobs))
            self.vertex_table = VertexTable(
                kind=self.kind,
                ascending=True,
                files=tuple(vertices_name(part.number) for part, _ in vertices),
                rows=tuple(made[i] for i in numbers),
                attributes=tuple(
                    name for _, piece in self.vertex_pieces for name in piece.columns().names
                ),
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
