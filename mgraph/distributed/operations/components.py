"""The connected components of a dataset over a cluster, whatever the number of its edges.

Data flow: the parts are divided into one share per worker. A task reads its share block by block
and unites the ends of the edges in an array of labels, on its GPU if it has one; no edge is kept.
The labels of all shares are merged in pairs, on the workers, and the last task writes them. With
``largest``, further tasks read the parts again and write the edges of the largest component. Where
a worker has no memory for the labels of all vertices, the graph is spread over the workers instead
(``partitioned_components``).

Cost: each edge is read once, and mostly takes one random read of a label; a merge reads two arrays
of labels, of which one is sent from worker to worker. Memory of each worker: 8 bytes per vertex
while labels are merged or counted (16 from 2^31 vertices on), and a block of edges per thread.
"""

import functools
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, TextIO, get_args

import numpy as np

from mgraph.components.component_folder import FORMAT, TABLE
from mgraph.core.choices import Backend, Compression, Ids, check_choice
from mgraph.core.formatting import pluralize
from mgraph.core.html import Tabular
from mgraph.distributed.clusters.connect import Cluster, ClusterLike
from mgraph.distributed.operations.batches import divide_parts
from mgraph.distributed.operations.components_largest import LargestOperation
from mgraph.distributed.operations.components_tasks import (
    CHECKPOINT,
    ComponentsPlan,
    Share,
    Summary,
    finish_labels,
    merge_labels,
    summarize,
    unite_share,
)
from mgraph.distributed.operations.operation import Operation, Run, Work
from mgraph.distributed.operations.partitioned_components import write_components
from mgraph.distributed.operations.partitioned_sssp import fits_spread
from mgraph.distributed.operations.resume import ExistingOutput, existing_parts
from mgraph.distributed.operations.streamed_dataset import hash_identity, open_streamed
from mgraph.distributed.operations.tasks import (
    fetch_result,
    follow_parts,
    perform,
    spans,
    submit_parts,
)
from mgraph.distributed.protocol.run_context import WriteIntent
from mgraph.errors import DatasetError, MgraphWarning, UsageError
from mgraph.io import manifest as manifests
from mgraph.io import untrusted
from mgraph.io.graph_reader import ReadOptions
from mgraph.io.graph_writer import check_name

MEMORY_SHARE = 0.8
_READING = ("src", "dst", "weight", "drop_infinite")


@dataclass(frozen=True)
class ComponentsRun(Tabular):
    """What ``components_dataset`` did.

    Attributes
    ----------
    location, largest_location : str or None
        The folders of the components and of the largest component's edges, if they were written.
    n, num_edges, num_components : int
        Vertices and edges of the graph, and its components.
    largest : int or None
        The smallest vertex of the largest component, of equal ones that of the first; None without
        vertices.
    largest_size : int
        Vertices of the largest component.
    sizes, counts : numpy.ndarray of int64
        The sizes that occur, ascending, and how many components have each.
    seconds, work_seconds, compile_seconds : float
        From the call to the end; of the tasks alone, without compiling; of the slowest worker's
        compiler.
    """

    location: str | None
    largest_location: str | None
    n: int
    num_edges: int
    num_components: int
    largest: int | None
    largest_size: int
    sizes: np.ndarray
    counts: np.ndarray
    seconds: float
    work_seconds: float
    compile_seconds: float

    def __str__(self) -> str:
        """The number of components and the sizes of the largest, as a phrase."""
        sizes = np.repeat(self.sizes[:-6:-1], np.minimum(self.counts[:-6:-1], 6))
        shown = ", ".join(f"{size:,}" for size in sizes[:5]) + ", …" * (self.num_components > 5)
        largest = f", the largest of {shown}" if sizes.size else ""
        components = pluralize(self.num_components, "component")
        return f"{components} of {self.n:,} vertices{largest}"

    def _columns(self) -> dict[str, np.ndarray]:
        return {"vertices": self.sizes[::-1], "components of that size": self.counts[::-1]}


class ComponentsOperation(Operation):
    """``mgraph components`` of a dataset: labels of shares, merged in pairs, then written."""

    verb, format = "components", FORMAT
    existing_largest: ExistingOutput

    def __init__(
        self,
        location: str | os.PathLike[str],
        out: Any,
        largest: Any,
        compression: Compression,
        reading: Mapping[str, Any] | None,
        ids: Ids,
        **more: Any,
    ) -> None:
        """Check the request. Raises UsageError, DatasetError."""
        from mgraph.io.parquet import check_compression

        super().__init__(out, threaded=True, **more)
        check_compression(compression)
        check_choice("ids", ids, get_args(Ids))
        self.dataset, options = open_streamed(location, reading, True, _READING, "components")
        self.options, self.drop_infinite = options, options.drop_infinite
        self.edges, self.compression, self.ids = self.dataset.num_edges, compression, ids
        if self.folder is not None:
            check_name(self.folder.location)
        if self.folder is not None and self.folder.same_as(self.dataset.folder):
            raise UsageError(f"{self.folder} is the graph; write its components to another folder")
        is_default = options == ReadOptions(symmetrise=True)
        self.identity = hash_identity(self.dataset, None if is_default else options)
        self.largest: LargestOperation | None = None
        if largest is not None:
            self.largest = LargestOperation(
                self.dataset, largest, self.identity, compression, **more
            )
            target = self.largest.folder
            if self.folder is not None and target is not None and self.folder.same_as(target):
                raise UsageError("out and largest must be two folders")
        self.shares = 0
        self.finished: Summary | None = None

    @property
    def names_vertices(self) -> bool:
        """Whether vertices are written by their own ids."""
        return self.ids == "original" and self.dataset.ids is not None

    def request(self) -> dict[str, Any]:
        """Return the graph and how its components are written."""
        return {
            "components": self.dataset.location, "graph_identity": self.identity,
            "compression": self.compression, "ids": self.ids,
        }  # fmt: skip

    def look(self, intent: WriteIntent, read: bool) -> ExistingOutput:
        """Return the parts and checkpoints in the folder, and read what an earlier run decided."""
        assert self.folder is not None
        names = self.folder.names() or []
        checkpoints = tuple(filter(CHECKPOINT.fullmatch, names))
        if checkpoints and not (intent.resume or intent.overwrite):
            raise UsageError(
                f"{self.folder} holds the checkpoints of a run that was cut short; pass "
                "`resume=True` to go on, or `overwrite=True` to begin again"
            )
        tables = (TABLE, *checkpoints)
        parts = existing_parts(self.folder, intent.resume, intent.overwrite, FORMAT, tables)
        if read and intent.resume:
            self._read_earlier(checkpoints, manifests.NAME in names)
        stale = () if read and intent.resume else checkpoints
        return ExistingOutput((*parts, *stale))

    def _read_earlier(self, checkpoints: tuple[str, ...], is_complete: bool) -> None:
        """Read the manifest of an earlier run, or into how many shares its checkpoints divide."""
        from mgraph.io.parquet import read_metadata

        assert self.folder is not None
        if is_complete:
            content = untrusted.parse_json_object(self.folder.read(manifests.NAME))
            if content.get("graph_identity") != self.identity:
                raise UsageError(
                    f"{self.folder} holds the components of another graph, or "
                    f"{self.dataset.location} was changed, touched or moved since; pass "
                    "`overwrite=True` to begin again"
                )
            self.finished = self._read_finished(content)
        for name in checkpoints:
            try:
                footer = read_metadata(self.folder, name)
                if footer.get("graph_identity") == self.identity:
                    self.shares = untrusted.parse_int("shares", footer.get("shares"), 1, 1 << 20)
                    return
            except (DatasetError, ValueError):  # damaged, and written again
                continue

    def _read_finished(self, content: dict[str, Any]) -> Summary | None:
        """Read what the folder of an earlier run says; None if it is damaged."""
        import pyarrow.parquet as pq

        assert self.folder is not None
        try:
            with self.folder.open(TABLE) as stream:
                sizes = pq.read_table(stream, columns=["vertices"]).column(0).to_numpy()
            return summarize(sizes, int(content["components"]), content["largest"])
        except (KeyError, TypeError, ValueError, OSError):
            return None

    @contextmanager
    def claimed(self) -> Iterator[ExistingOutput]:
        """Own both folders for a block."""
        with super().claimed() as existing, ExitStack() as stack:
            if self.largest is not None:
                self.existing_largest = stack.enter_context(self.largest.claimed())
            yield existing

    def is_finished(self, existing: ExistingOutput) -> bool:
        """Return whether the folder holds these components already, and no other is asked for."""
        return self.finished is not None and self.largest is None

    def work(self, run: Run) -> Work:
        """Return one task per worker, which all read about as many edges."""
        dataset, cluster = self.dataset, run.cluster
        self.shortage = _find_shortage(cluster, dataset.n)
        if self.shortage is not None:
            self._check_spread(cluster)
        count = self.shares or len(cluster.workers)
        needs_weights = self.drop_infinite and dataset.manifest.weight_dtype is not None
        parts = [part if needs_weights else part.without_weights() for part in dataset]
        shares = [
            Share(index, share) for index, share in enumerate(divide_parts(parts, count) or [()])
        ]
        self.plan = ComponentsPlan(
            dataset.location, dataset.n, self.folder, self.compression, cluster.backend,
            self.identity, count, needs_weights,
        )  # fmt: skip
        sizes = [share.edges for share in shares]
        return Work(unite_share, shares, sizes, {"plan": self.plan})

    def _check_spread(self, cluster: Cluster) -> None:
        """Raise UsageError unless the graph can be spread over the workers."""
        if len(cluster.workers) < 2 or not fits_spread(cluster, self.dataset, directed=False):
            remedy = "use fewer workers per machine, or larger machines"
            raise UsageError(f"{self.shortage}; {remedy}")
        for name, is_given in (
            ("largest", self.largest is not None),
            ("ids=original", self.folder is not None and self.names_vertices),
        ):
            if is_given:
                raise UsageError(f"{self.shortage}, without which {name} does not work")

    def fan_out(self, run: Run, work: Work) -> list[Any]:
        """Compute the labels, which stay on the workers, and what is written of them."""
        if self.folder is not None:
            self.folder.remove(manifests.NAME, TABLE, *run.existing.names)
        if self.shortage is not None:
            warnings.warn(
                f"{self.shortage}; the graph is spread over "
                f"{pluralize(len(run.cluster.workers), 'worker')}",
                MgraphWarning,
                stacklevel=2,
            )
            return [write_components(run, self.dataset, self.options, self.plan)]
        verb, client = self.verb, run.cluster.client
        futures = submit_parts(
            run.cluster, work.task, dict(enumerate(work.arguments)), verb=verb, **work.shared
        )
        operation = futures[0].key[0]
        submit = functools.partial(client.submit, perform, priority=1)
        layer, merges, last = list(futures.values()), 0, len(futures)
        ids = self.dataset.ids if self.names_vertices else None
        with spans(verb):
            while len(layer) > 1:
                pairs = list(zip(layer[::2], layer[1::2], strict=False))
                odd = layer[-1:] if len(layer) % 2 else []
                merged = []
                for one, other in pairs:
                    key = (operation, "merge", merges)
                    merged.append(submit(one, task=merge_labels, other=other, key=key))
                    merges += 1
                layer = merged + odd
            labels = layer[0]
            futures[last] = submit(
                labels, task=finish_labels, plan=self.plan, ids=ids, key=(operation, last)
            )
        del layer  # labels are dropped when they are merged
        sizes = dict(enumerate(work.sizes)) | {last: 0}
        following = follow_parts(run.cluster, futures, sizes, verb=verb, progress=run.progress)
        (summary,) = [fetch_result(done, verb) for number, done in following if number == last]
        if self.largest is not None:
            self.largest.write(run, self.existing_largest, labels, summary)
        return [summary]

    def finish(self, run: Run, results: list[Any]) -> None:
        """Remove what only ``resume`` needs."""
        if self.folder is not None:
            self.folder.remove_temporaries()
            self.folder.remove(*filter(CHECKPOINT.fullmatch, self.folder.names() or []))


def _find_shortage(cluster: Cluster, n: int) -> str | None:
    """Return why a worker has no memory for the labels of n vertices, twice; None if it has."""
    needed = 2 * n * (4 if n < 1 << 31 else 8)
    free = min(worker.host_bytes for worker in cluster.workers.values())
    if needed <= MEMORY_SHARE * free:
        return None
    return (
        f"the components of {n:,} vertices take {needed / MEMORY_SHARE / 2**30:.1f} GiB of "
        f"memory on each worker, and one has {free / 2**30:.1f}"
    )


def components_dataset(
    location: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    largest: str | os.PathLike[str] | None = None,
    cluster: ClusterLike = None,
    backend: Backend = "auto",
    reading: Mapping[str, Any] | None = None,
    ids: Ids = "number",
    compression: Compression = "lz4",
    resume: bool = False,
    overwrite: bool = False,
    progress: TextIO | None = None,
) -> ComponentsRun:
    """Find the connected components of a dataset's graph, however many edges there are.

    Directions do not matter: the components of a directed graph are its weakly connected ones.

    Parameters
    ----------
    location : path or ``s3://`` address
        A folder of Parquet files with columns ``src`` and ``dst``, or one file.
    out : path or ``s3://`` address, optional
        The folder for the components: ``part-00000.parquet`` and on with columns ``vertex`` and
        ``component`` (its smallest vertex), ``_components.parquet`` with ``component`` and
        ``vertices``, the largest first.
    largest : path or ``s3://`` address, optional
        The folder for the edges of the largest component, a dataset whose vertices are numbered
        again, in the same order; their own ids are those of the graph's vertices.
    cluster, backend, compression, overwrite, progress
        As for ``mgraph.generate``.
    reading : mapping, optional
        Any of the arguments src, dst, weight and drop_infinite of ``mgraph.read_graph``.
    ids : {"number", "original"}, default "number"
        What ``out`` holds: the numbers of vertices, or their own ids where they have any.
    resume : bool, default False
        Go on from the checkpoints that an earlier run left.

    Returns
    -------
    ComponentsRun

    Raises
    ------
    UsageError, DatasetError, StorageError, ClusterError
        Checkpoints stay, and ``resume=True`` goes on from them.

    Notes
    -----
    Each edge is read once. Memory: 8 bytes per vertex on each worker, 16 from 2^31 vertices on.

    Examples
    --------
    >>> made = mgraph.generate("graph", mgraph.CopyModel(1000, 2))
    >>> run = mgraph.components_dataset("graph", "components")
    >>> run.num_components, run.largest, run.largest_size
    (1, 0, 1000)
    """
    operation = ComponentsOperation(
        location, out, largest, compression, reading, ids,
        backend=backend, resume=resume, overwrite=overwrite,
    )  # fmt: skip
    outcome = operation.run(cluster, progress)
    summary = outcome.results[0] if outcome.results else operation.finished
    assert summary is not None
    dataset, extracted = operation.dataset, operation.largest
    return ComponentsRun(
        location=operation.location,
        largest_location=None if extracted is None else extracted.location,
        n=dataset.n,
        num_edges=dataset.num_edges,
        **summary._asdict(),
        seconds=outcome.seconds,
        work_seconds=outcome.work_seconds,
        compile_seconds=outcome.compile_seconds,
    )
