"""The tasks of ``mgraph components``: unite a worker's share of the edges, merge, write.

A task goes through its share in steps of about ``STEP_EDGES`` edges. Of a long one it writes a
checkpoint into the output folder now and then: the labels that its edges so far give. A task that
is started again, since its worker died or the run is resumed, goes on from there.
"""

import contextlib
import re
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from mgraph import timings
from mgraph.core import cancellation
from mgraph.core.choices import Backend, Compression, Device
from mgraph.core.memory import memory_guard
from mgraph.errors import DatasetError, UsageError
from mgraph.io.dataset import Part, group_by_size, read_row_groups
from mgraph.io.folder import Folder
from mgraph.io.graph_reader import drop_infinite
from mgraph.io.vertex_ids import VertexIds

if TYPE_CHECKING:
    from mgraph.components.component_sizes import ComponentSizes

STEP_EDGES = {"cpu": 1 << 26, "gpu": 1 << 29}  # a GPU has the edges of a step in its memory
CHECKPOINT_SECONDS = 30.0  # between two checkpoints, at least
CHECKPOINT_COST = 20  # so many times as long as the last one took, at least
CHECKPOINT = re.compile(r"_labels-\d{5,}\.parquet")
_BLOCK_ROWS = 1 << 20
_REMEDY = "use fewer workers per machine, or larger machines"
_memory_lock = threading.Lock()  # a worker's, or its GPU's: one share at a time


@dataclass(frozen=True)
class ComponentsPlan:
    """The data of every task, sent with each.

    graph: its address. folder: of the output, if there is one. identity: of the edges. shares: into
    how many the edges are divided. drop_infinite: whether edges of infinite weight are left out.
    """

    graph: str
    n: int
    folder: Folder | None
    compression: Compression
    backend: Backend
    identity: str
    shares: int
    drop_infinite: bool = False

    @property
    def dtype(self) -> np.dtype:
        """The type of labels."""
        return np.dtype(np.int32 if self.n < 1 << 31 else np.int64)


@dataclass(frozen=True)
class Share:
    """What one task reads: its number, and parts of the graph, mostly without weights."""

    index: int
    parts: tuple[Part, ...]

    @property
    def edges(self) -> int:
        """The number of edges to read."""
        return sum(map(len, self.parts))


class _Checkpoints:
    """The checkpoint of a share: written when it is time, and read if it fits."""

    def __init__(self, share: Share, plan: ComponentsPlan, steps: Sequence[list[Part]]) -> None:
        self._folder, self._dtype, self._n = plan.folder, plan.dtype, plan.n
        self._name, self._steps = f"_labels-{share.index:05d}.parquet", len(steps)
        self._footer = {
            "graph_identity": plan.identity, "shares": plan.shares, "steps": len(steps),
        }  # fmt: skip
        self._next = time.monotonic() + CHECKPOINT_SECONDS

    def read(self) -> tuple[int, np.ndarray | None]:
        """Return how many steps are done, and their labels; 0 and None without a checkpoint."""
        from mgraph.io.parquet import ForeignFileError, open_file, read_metadata

        if self._folder is None or self._name not in (self._folder.names() or []):
            return 0, None
        try:
            footer = read_metadata(self._folder, self._name)
            done = footer.get("done")
            same = all(footer.get(key) == value for key, value in self._footer.items())
            if not same or footer["rows"] != self._n or not isinstance(done, int):
                return 0, None
            labels, row = np.empty(self._n, self._dtype), 0
            with open_file(self._folder, self._name) as file:
                for batch in file.iter_batches(_BLOCK_ROWS, use_threads=False):
                    labels[row : row + batch.num_rows] = np.from_dlpack(batch.column(0))
                    row += batch.num_rows
        except (DatasetError, ForeignFileError, ValueError):  # damaged: begin again
            return 0, None
        is_valid = not self._n or (labels.min() >= 0 and bool((labels <= np.arange(self._n)).all()))
        return (min(done, self._steps), labels) if is_valid else (0, None)

    def write_if_due(self, done: int, read_labels: Callable[[], np.ndarray]) -> None:
        """Write the labels after some steps, unless the last time was not long ago."""
        from mgraph.io.parquet import writing_part

        began = time.monotonic()
        if self._folder is None or began < self._next or done == self._steps:
            return
        labels, columns = read_labels(), {"component": self._dtype}
        with writing_part(self._folder, self._name, columns, "lz4") as writer:
            for piece in cancellation.chunks(labels.size, _BLOCK_ROWS):
                writer.write([labels[piece]])
            writer.close(self._footer | {"done": done})
        now = time.monotonic()
        self._next = now + max(CHECKPOINT_SECONDS, CHECKPOINT_COST * (now - began))


def unite_share(share: Share, plan: ComponentsPlan) -> np.ndarray:
    """Return the label of each vertex by the edges of a share: its component's smallest vertex."""
    from distributed import get_worker

    threads = get_worker().state.nthreads  # the other cores belong to other workers
    backend: Device = "gpu" if plan.backend == "gpu" else "cpu"
    step_edges = STEP_EDGES[backend]
    pieces = [piece for part in share.parts for piece in part.pieces(step_edges)]
    steps = [
        [pieces[index] for index in group]
        for group in group_by_size(list(map(len, pieces)), step_edges)
    ]
    unite = _unite_on_gpu if backend == "gpu" else _unite_on_cpu
    with (
        cancellation.acquiring(_memory_lock),
        memory_guard(f"the labels of {plan.n:,} vertices", _REMEDY),
    ):
        try:
            return unite(steps, _Checkpoints(share, plan, steps), plan, threads)
        except UsageError as error:  # the files are at fault
            raise DatasetError(f"{plan.graph}: {error}") from error


def _unite_on_cpu(
    steps: Sequence[list[Part]], checkpoints: _Checkpoints, plan: ComponentsPlan, threads: int
) -> np.ndarray:
    from mgraph.components.edge_components_cpu import EdgeComponents
    from mgraph.distributed.monitoring.counters import count_edges, for_this_task

    done, labels = checkpoints.read()
    components = EdgeComponents(plan.n, labels)

    def add(job: tuple[Part, int]) -> None:
        part, group = job
        for block in part.blocks(group):
            edges = drop_infinite(block) if plan.drop_infinite else block
            with timings.step(timings.COMPUTING):
                components.add(np.asarray(edges.src), np.asarray(edges.dst))
            count_edges(len(block))

    count_edges(sum(len(part) for parts in steps[:done] for part in parts))
    for step in range(done, len(steps)):
        all_groups = read_row_groups(steps[step], threads)
        jobs = [
            (part, group)
            for part, groups in zip(steps[step], all_groups, strict=True)
            for group in range(len(groups.rows))
        ]
        cancellation.map_in_threads(for_this_task(add), jobs, threads)
        checkpoints.write_if_due(step + 1, lambda: components.labels(threads))
    return components.labels(threads)


def _unite_on_gpu(
    steps: Sequence[list[Part]], checkpoints: _Checkpoints, plan: ComponentsPlan, threads: int
) -> np.ndarray:
    from mgraph.components.edge_components_gpu import EdgeComponents
    from mgraph.distributed.monitoring.counters import count_edges
    from mgraph.io.graph_dataset import read_parts

    done, labels = checkpoints.read()
    components = EdgeComponents(plan.n, labels)

    def read_labels() -> np.ndarray:
        labels: np.ndarray = components.labels().get()
        return labels

    count_edges(sum(len(part) for parts in steps[:done] for part in parts))
    for step in range(done, len(steps)):
        parts = steps[step]
        edges = read_parts(parts, parts[0].dtypes, plan.graph, "gpu", threads)
        if plan.drop_infinite:
            edges = drop_infinite(edges)
        with timings.step(timings.COMPUTING):
            components.add(edges.src, edges.dst)
        count_edges(sum(map(len, parts)))
        del edges
        checkpoints.write_if_due(step + 1, read_labels)
    return read_labels()


def merge_labels(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the labels that the edges behind both give together.

    One of the arrays is changed in place, which does no harm if the task is run again with it:
    more edges are behind it then, and all are edges of the graph.
    """
    from distributed import get_worker

    from mgraph.components.edge_components_cpu import EdgeComponents

    threads = get_worker().state.nthreads
    is_local = one.flags.writeable and one.flags.aligned  # it did not come over the network
    target, added = (one, other) if is_local else (other, one)
    with (
        memory_guard(f"the labels of {one.size:,} vertices", _REMEDY),
        timings.step(timings.COMPUTING),
    ):
        components = EdgeComponents(target.size, target)
        components.merge(added, threads)
        return components.labels(threads)


class Summary(NamedTuple):
    """The components of a graph. sizes: that occur, ascending. counts: of components of each."""

    num_components: int
    largest: int | None
    largest_size: int
    sizes: np.ndarray
    counts: np.ndarray


def summarize(sizes: np.ndarray, num_components: int, largest: int | None) -> Summary:
    """Return the summary of components of these sizes."""
    distinct, counts = np.unique(sizes, return_counts=True)
    return Summary(num_components, largest, int(distinct.max(initial=0)), distinct, counts)


def _count_sizes(labels: np.ndarray, backend: Backend) -> "ComponentSizes":
    """Count the vertices of each component, on the GPU if there is one and it has the memory."""
    from mgraph.components import component_sizes

    if backend == "gpu":
        from mgraph.components import component_sizes_gpu

        if labels.size <= component_sizes_gpu.MAX_N:
            with contextlib.suppress(MemoryError):
                return component_sizes_gpu.count_sizes(labels)
    return component_sizes.count_sizes(labels)


def finish_labels(labels: np.ndarray, plan: ComponentsPlan, ids: VertexIds | None) -> Summary:
    """Write the output, if there is any. ids: of all vertices, if those are written."""
    from distributed import get_worker

    from mgraph.components.component_folder import ComponentFolder

    threads = get_worker().state.nthreads
    with memory_guard(f"the sizes of the components of {labels.size:,} vertices", _REMEDY):
        with timings.step(timings.COMPUTING):
            sizes = _count_sizes(labels, plan.backend)
        if plan.folder is not None:
            target = ComponentFolder(plan.folder, plan.compression)
            identity = {"graph": plan.graph, "graph_identity": plan.identity}
            target.write(labels, sizes, ids.all() if ids else None, threads, identity)
        summary = sizes.summary()
        return summarize(sizes.sizes, summary["components"], summary["largest"])
