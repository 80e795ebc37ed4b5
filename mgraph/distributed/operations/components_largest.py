"""``mgraph components --largest``: the edges of one component as a dataset.

Data flow: one task turns the labels into the number of members before each vertex, which is a
member's number in the new dataset. The other tasks read one part each, drop the rows of other
components and write the rest. Members keep their order, so that ``src`` ascends as before, and
each part's range of vertices is the members of the range before.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import mgraph
from mgraph import timings
from mgraph.core import cancellation
from mgraph.core.choices import Compression
from mgraph.core.edges import EdgeList
from mgraph.core.memory import memory_guard
from mgraph.distributed.operations.components_tasks import Summary
from mgraph.distributed.operations.operation import Operation, Run, Work
from mgraph.distributed.operations.resume import ExistingOutput, Footer, matching_parts
from mgraph.distributed.operations.tasks import fetch_result, perform, spans
from mgraph.errors import UsageError
from mgraph.io.dataset import EdgeDataset, part_name
from mgraph.io.folder import Folder
from mgraph.io.manifest import Manifest, PartRecord, VertexTable

_REMEDY = "use fewer workers per machine, or larger machines"


class ExtractionPlan(NamedTuple):
    """The data of every task.

    n: members. columns: of the parts, with their types. request: for their footers.
    """

    source: Folder
    folder: Folder
    n: int
    compression: Compression
    columns: dict[str, Any]
    request: dict[str, Any]


def count_members(labels: np.ndarray, root: int) -> np.ndarray:
    """Return how many members of a component come before each vertex, and how many there are."""
    before = np.zeros(labels.size + 1, labels.dtype)
    with memory_guard(f"the numbers of {labels.size:,} vertices", _REMEDY):
        np.cumsum(labels == root, out=before[1:])
    return before


def extract_part(
    job: tuple[int, PartRecord], plan: ExtractionPlan, before: np.ndarray
) -> PartRecord:
    """Write the rows of a part that belong to the component."""
    import pyarrow as pa

    from mgraph.core.edge_list_cpu import checksum
    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.io.parquet import BLOCK_ROWS, open_file, writing_part
    from mgraph.io.tables.arrow_files import explaining

    index, record = job
    rows = total = 0
    name, path = part_name(index), f"{plan.source}/{record.file}"
    with (
        memory_guard("a block of edges", _REMEDY),
        writing_part(plan.folder, name, plan.columns, plan.compression) as writer,
        open_file(plan.source, record.file) as file,
        explaining(path, "Parquet"),
    ):
        for batch in file.iter_batches(BLOCK_ROWS, columns=list(plan.columns), use_threads=False):
            cancellation.raise_if_cancelled()
            src = np.from_dlpack(batch.column("src"))
            is_member = before[src + 1] > before[src]
            kept = batch.filter(pa.array(is_member))
            ends = [
                before[np.from_dlpack(kept.column(end))].astype(plan.columns[end])
                for end in ("src", "dst")
            ]
            others = [
                kept.column(column)
                if isinstance(dtype, pa.DataType)
                else np.from_dlpack(kept.column(column)).copy()
                for column, dtype in list(plan.columns.items())[2:]
            ]
            if kept.num_rows:
                weight = others[:1] if "weight" in plan.columns else []
                with timings.step(timings.COMPUTING):
                    total += checksum(EdgeList(*ends, *weight))
                writer.write([*ends, *others])
            rows += kept.num_rows
            count_edges(batch.num_rows)
        writer.close(plan.request | {"part": index, "converted": True})
    bounds = int(before[record.first]), int(before[record.stop])
    return PartRecord(name, rows, *bounds, total % (1 << 64), plan.folder.size(name))


def write_vertices(
    before: np.ndarray, dataset: EdgeDataset, plan: ExtractionPlan
) -> VertexTable | None:
    """Write the members' ids: their own ones, or their numbers in the graph."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from mgraph.io.tables.id_columns import Ids
    from mgraph.io.vertex_ids import write_ids

    members = np.flatnonzero(before[1:] > before[:-1])
    with memory_guard(f"the ids of {members.size:,} vertices", _REMEDY):
        if dataset.ids is None:
            return write_ids(Ids(pa.array(members), "int64"), plan.folder, plan.compression)
        table = dataset.manifest.vertices
        assert table is not None
        attributes = None
        if table.attributes:
            pieces = []
            for file in table.files:
                with dataset.folder.open(file) as stream:
                    pieces.append(pq.read_table(stream, columns=list(table.attributes)))
            attributes = pa.concat_tables(pieces).take(pa.array(members))
        return write_ids(dataset.ids.take(members), plan.folder, plan.compression, attributes)


class LargestOperation(Operation):
    """The output of ``largest``: claimed before the labels are computed, written afterwards."""

    verb = "components"
    labels: Any
    summary: Summary
    columns: dict[str, Any]
    vertices: Any

    def __init__(
        self, dataset: EdgeDataset, out: Any, identity: str, compression: Compression, **more: Any
    ) -> None:
        """Check the request. Raises UsageError for a dataset whose parts are in no order."""
        super().__init__(out, **more)
        if not dataset.has_manifest:
            raise UsageError(
                f"largest needs a dataset of mgraph, and {dataset.location} has no manifest; "
                "convert it first",
                parameter="largest",
            )
        assert self.folder is not None
        if self.folder.same_as(dataset.folder):
            raise UsageError(f"{self.folder} is the graph; give largest another folder")
        self.dataset, self.identity, self.compression = dataset, identity, compression

    def request(self) -> dict[str, Any]:
        """Return the graph and how its largest component is written."""
        return {
            "largest": self.dataset.location, "graph_identity": self.identity,
            "compression": self.compression,
        }  # fmt: skip

    def write(self, run: Run, existing: ExistingOutput, labels: Any, summary: Summary) -> None:
        """Write the dataset. labels: the future of the graph's labels. summary: of their sizes."""
        self.labels, self.summary = labels, summary
        own_run = Run(run.cluster, existing, run.progress)
        work = self.work(own_run)
        self.finish(own_run, self.fan_out(own_run, work))

    @contextmanager
    def claimed(self) -> Iterator[ExistingOutput]:
        """Own the folder for a block. Raises UsageError for the parts of another dataset."""
        assert self.folder is not None
        with super().claimed() as existing:
            parts = len(self.dataset.manifest.parts)
            matching_parts(self.folder, existing.footers, self.footer, parts)
            yield existing

    def footer(self, index: int) -> Footer:
        """Return the footer of a part: its output and its position."""
        return self.request() | {"part": index, "converted": True}

    def work(self, run: Run) -> Work:
        """Return one task per part; what an earlier run left is made again."""
        assert self.folder is not None
        dataset, client, n = self.dataset, run.cluster.client, self.summary.largest_size
        parts = dataset.manifest.parts
        self.folder.create()
        self.columns = self._columns(n)
        plan = ExtractionPlan(
            dataset.folder, self.folder, n, self.compression, self.columns, self.request()
        )
        operation = f"mgraph-components-ids-{time.time_ns()}"
        root = -1 if self.summary.largest is None else self.summary.largest
        with spans(self.verb):
            before = client.submit(
                perform, self.labels, task=count_members, root=root, key=(operation, 0)
            )
            self.vertices = client.submit(
                perform, before, task=write_vertices, dataset=dataset, plan=plan, key=(operation, 1)
            )
        sizes = [part.rows for part in parts]
        return Work(extract_part, list(enumerate(parts)), sizes, {"plan": plan, "before": before})

    def finish(self, run: Run, results: list[PartRecord]) -> None:
        """Write the manifest."""
        assert self.folder is not None
        manifest = self.dataset.manifest
        Manifest(
            model={},
            n=self.summary.largest_size,
            num_edges=sum(part.rows for part in results),
            dtype=str(self.columns["src"]),
            compression=self.compression,
            parts=tuple(results),
            created_by=f"mgraph {mgraph.__version__}",
            weight_dtype=manifest.weight_dtype,
            directed=manifest.directed,
            vertices=fetch_result(self.vertices, self.verb),
        ).write(self.folder)
        self.folder.remove_temporaries()

    def _columns(self, n: int) -> dict[str, Any]:
        """Return the columns of the parts that are kept, with their types."""
        ids = np.dtype(np.int32 if n < 1 << 31 else np.int64)
        columns: dict[str, Any] = {"src": ids, "dst": ids}
        if self.dataset.manifest.weight_dtype:
            columns["weight"] = np.dtype(self.dataset.manifest.weight_dtype)
        schema = self.dataset.to_arrow().schema if len(self.dataset) else ()
        return columns | {field.name: field.type for field in schema if field.name not in columns}
