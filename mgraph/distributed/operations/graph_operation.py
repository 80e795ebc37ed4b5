"""Operations that ask many questions, in batches of one task and one part each.

Most ask them of a graph that each worker holds (``GraphOperation``). A batch's answers stand in its
part's footer, as records with named fields, so that ``resume`` can go on from a folder without a
manifest.
"""

import dataclasses
import functools
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TextIO, TypeVar, get_args

import msgspec
import numpy as np

import mgraph
from mgraph.core.choices import Backend, Compression, check_choice
from mgraph.core.choices import Ids as IdChoice
from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.operations.graph_holder import holder
from mgraph.distributed.operations.operation import Operation, Run
from mgraph.distributed.operations.resume import ExistingOutput, Footer
from mgraph.distributed.operations.tasks import fetch_result, follow_parts, submit_parts
from mgraph.distributed.protocol import run_context
from mgraph.distributed.protocol.run_context import WriteIntent
from mgraph.errors import DatasetError, UsageError, without_secrets
from mgraph.io import manifest as manifests
from mgraph.io.address import parse
from mgraph.io.dataset import part_name
from mgraph.io.folder import Folder
from mgraph.io.formats import identify
from mgraph.io.graph_reader import ReadOptions, read_quietly, reading_options
from mgraph.io.tables.id_columns import Ids, Kind, id_type
from mgraph.io.vertex_ids import VertexIds
from mgraph.io.vertex_names import VertexNames, id_column, resolve, take_ids

T = TypeVar("T")


class GraphFacts(NamedTuple):
    """What the client knows of a graph that the workers hold.

    length_dtype: the type of paths' lengths. notes: what the user should know of the workers.
    id_kind: of the vertices' own ids, None if they have none.
    """

    n: int
    num_arcs: int
    length_dtype: str
    notes: tuple[str, ...] = ()
    id_kind: Kind | None = None


@dataclass(frozen=True)
class BatchPlan:
    """The data of every task of a run; it is sent with each, so it is small.

    identity: all that the rows depend on, the questions by their hash. folder: None if nothing is
    written. options: of the function that answers. facts, holder: of the graph, if there is one.
    """

    identity: dict[str, Any]
    folder: Folder | None
    compression: Compression
    backend: Backend
    options: dict[str, Any]
    facts: GraphFacts | None = None
    holder: str | None = None
    writes_ids: bool = False

    @property
    def vertex_column(self) -> Any:
        """The type of vertices in the rows: a NumPy type of numbers, or an Arrow type of ids."""
        assert self.facts is not None
        if self.writes_ids and self.facts.id_kind is not None:
            return id_type(self.facts.id_kind)
        return self.vertex_dtype

    def name_vertices(self, vertices: Any, ids: Ids | None) -> Any:
        """Return vertices as they are written. ids: of all vertices, if those are written."""
        return vertices if ids is None else take_ids(ids, vertices)

    @property
    def vertex_dtype(self) -> np.dtype:
        """The type of vertices in the rows."""
        assert self.facts is not None
        return np.dtype(np.int32 if self.facts.n < 1 << 31 else np.int64)

    def footer(self, index: int) -> Footer:
        """Return the footer of a part without its results: its output and its position."""
        return self.identity | {"part": index}

    def record(self, index: int, footer: Footer, *keys: str) -> dict[str, Any]:
        """Return the manifest's entry for a written part. keys: further keys of its footer."""
        assert self.folder is not None
        name = part_name(index)
        values = {key: footer[key] for key in (*keys, "rows", "checksum")}
        return {"file": name, **values, "bytes": self.folder.size(name)}


def total_checksum(footers: Sequence[Footer]) -> int:
    """Return the checksum of all rows of all parts; 0 if nothing is written."""
    return sum(int(footer["checksum"], 16) for footer in footers) % (1 << 64)


def to_record(answer: Any) -> dict[str, Any]:
    """Return an answer, a dataclass, as a dict of its fields."""
    return dataclasses.asdict(answer)


def read_answers(
    footers: Sequence[Footer], key: str, answer_type: type[T], count: int, folder: Folder | None
) -> list[T]:
    """Read the ``count`` answers that the footers hold under ``key``.

    Raises DatasetError where kept parts hold something else. Fields that this version does not
    know are passed over; version 0.1.0 wrote the fields' values in order, without names.
    """
    fields = dataclasses.fields(answer_type)  # type: ignore[arg-type]
    names = [field.name for field in fields]
    required = sum(field.default is dataclasses.MISSING for field in fields)
    answers = []
    try:
        for footer in footers:
            records = footer[key]
            if not isinstance(records[0] if records else {}, list | dict):
                records = [records]  # of 0.1.0, where a part has one answer
            for record in records:
                if isinstance(record, list):
                    if len(record) < required:
                        raise ValueError("fields are missing")
                    record = dict(zip(names[: len(record)], record, strict=True))
                answers.append(msgspec.convert(record, answer_type))
        if len(answers) != count:
            raise ValueError(f"{count} answers were expected (got {len(answers)})")
    except (KeyError, TypeError, ValueError):
        raise DatasetError(
            f"the footers of the parts in {folder} do not hold their {key}: they were edited or "
            "damaged; pass `overwrite=True` to begin again"
        ) from None
    return answers


class BatchOperation(Operation):
    """Many questions, in batches; ``version`` is that of the output's format."""

    version: ClassVar[int] = 1
    answers_in_manifest: ClassVar[tuple[str, ...]] = ()

    plan: BatchPlan

    def manifest(self, footers: Sequence[Footer]) -> dict[str, Any]:
        """Return the manifest's content; subclasses add to it. footers: of all parts, in order."""
        keys = self.answers_in_manifest
        tables = {"table": self.tables[0]} if self.tables else {}
        return {
            "format": self.format,
            "version": self.version,
            **self.plan.identity,
            "checksum": f"{total_checksum(footers):016x}",
            "parts": [self.plan.record(i, footer, *keys) for i, footer in enumerate(footers)],
            **tables,
            "created_by": f"mgraph {mgraph.__version__}",
        }

    def write_tables(self, folder: Folder, footers: Sequence[Footer]) -> None:
        """Write the tables beside the parts."""

    def finish(self, run: Run, results: list[Footer]) -> None:
        """Write the tables and the manifest."""
        if self.folder is not None:
            self.write_tables(self.folder, results)
            content = json.dumps(self.manifest(results), indent=1) + "\n"
            self.folder.write(manifests.NAME, content.encode())


class GraphOperation(BatchOperation):
    """Many questions of a graph that each worker holds."""

    facts: GraphFacts

    def __init__(
        self,
        location: str | os.PathLike[str],
        out: Any,
        *,
        symmetrise: bool,
        reading: Mapping[str, Any] | None = None,
        ids: IdChoice = "number",
        **more: Any,
    ) -> None:
        """Identify the graph. Raises DatasetError where there is none, UsageError for ``out``."""
        super().__init__(out, threaded=True, **more)
        check_choice("ids", ids, get_args(IdChoice))
        self.ids = ids
        self.graph, self.symmetrise = parse(location).text, symmetrise
        if self.folder is not None and self.folder.same_as(Folder(self.graph)):
            raise UsageError(f"{self.folder} is the graph; write the results to another folder")
        self.reading = reading_options(reading, symmetrise)
        self.reading_arguments = dict(reading or {})
        self.names = VertexNames(self.graph, ids, self.reading)
        self.identity = identify(self.graph, self.reading.table.request)
        if self.reading != ReadOptions(symmetrise=symmetrise):
            name = hashlib.sha256(repr((self.identity, self.reading)).encode()).hexdigest()[:16]
            self.identity = self.identity._replace(name=name)
        self.edges = self.identity.edges or None  # unknown of a graph file

    @property
    def subject(self) -> str:
        """The output folder, or else the graph."""
        return self.location or self.graph

    def look(self, intent: WriteIntent, read: bool) -> ExistingOutput:
        """Return the existing output, and refuse parts of another graph."""
        existing = super().look(intent, read)
        others = {footer.get("graph_identity") for footer in existing.footers.values()}
        if others - {self.identity.name}:
            raise UsageError(
                f"{self.folder} holds parts of another dataset, or {self.graph} was changed, "
                "touched or moved since; pass `overwrite=True` to begin again"
            )
        return existing

    def shared_graph(self, run: Run) -> Callable[[], Any] | None:
        """Return the function by which a worker reads the graph."""
        return functools.partial(
            read_quietly,
            self.graph,
            self.reading,
            backend=run.cluster.backend,
        )

    def load_everywhere(self, run: Run, task: Callable[..., GraphFacts]) -> GraphFacts:
        """Have each worker read the graph, all at once; return ``task(holder)`` with all notes."""
        assert run.holder is not None
        edges = self.identity.edges
        with run_context.about(self.graph):
            return load_everywhere(run.cluster, task, run.holder, edges, run.progress)

    def resolve(self, run: Run, name: str, values: Sequence[Any]) -> list[int]:
        """Return the vertices that a question names: on the client, or by a worker's graph."""
        vertices = self.names.early(name, values)
        if vertices is None:
            vertices = self.draw(run, resolve_on_worker, name, list(values), self.ids)
        return vertices

    def draw(self, run: Run, task: Callable[..., Any], *arguments: Any) -> Any:
        """Draw questions at random with ``task(holder, *arguments)``, on a worker."""
        key = (f"mgraph-draw-{time.time_ns()}", 0)
        drawing = run.cluster.client.submit(task, run.holder, *arguments, key=key)
        return fetch_result(drawing, self.verb)

    def manifest(self, footers: Sequence[Footer]) -> dict[str, Any]:
        """Return the manifest's content with the graph's address."""
        content = super().manifest(footers)
        head = {key: content.pop(key) for key in ("format", "version")}
        return {**head, "graph": without_secrets(self.graph), **content}


def resolve_on_worker(holder_name: str, name: str, values: list[Any], ids: IdChoice) -> list[int]:
    """Return the vertices that values name in the graph that this worker holds."""
    graph = holder(holder_name).graph()
    return resolve(name, values, graph.labels if ids == "original" else None, graph.n)


def held_ids(graph_holder: Any) -> Ids | None:
    """Return the ids of all vertices of the graph that a worker holds; None if they have none."""
    with graph_holder.ids_lock:
        memory = graph_holder.memory
        if "ids" not in memory:
            memory["ids"] = id_column(graph_holder.graph().labels)
        ids: Ids | None = memory["ids"]
        return ids


def id_kind(graph_holder: Any) -> Kind | None:
    """Return the kind of the vertices' own ids; None if they have none."""
    labels = graph_holder.graph().labels
    if labels is None or isinstance(labels, VertexIds):
        return None if labels is None else labels.kind
    ids = held_ids(graph_holder)
    return None if ids is None else ids.kind


def load_everywhere(
    cluster: Cluster,
    task: Callable[..., GraphFacts],
    holder: str,
    edges: int,
    progress: TextIO | None,
) -> GraphFacts:
    """Run ``task(holder)`` once per worker; return the facts, with the notes of all workers.

    These are as many tasks as workers, which Dask places on one worker each. A task that is tied to
    a worker would wait for ever if the last worker of its kind dies.
    """
    each = dict.fromkeys(range(len(cluster.workers)), holder)
    futures = submit_parts(cluster, task, each, verb="load")
    sizes = dict.fromkeys(futures, edges)
    done = list(follow_parts(cluster, futures, sizes, verb="load", progress=progress))
    loaded: list[GraphFacts] = [fetch_result(future, "load") for _, future in done]
    notes = dict.fromkeys(note for facts in loaded for note in facts.notes)
    return loaded[0]._replace(notes=tuple(notes))
