"""The runner of operations: what all of them have in common, in the order in which it happens.

1. Claim the output folder: refuse what must not be touched, own the folder, record the request.
2. Resume: adopt what an earlier run decided and finished.
3. Connect: open the cluster; from here on the backend, CPU or GPU, is decided.
4. Hold: each worker reads or makes the graph that the tasks share, if there is one.
5. Fan out: one task per missing part, with progress; a part that is finished stays finished.
6. Finish: write tables and, last, the manifest.

An operation is a subclass that defines what is specific to it: request, tasks, manifest. To add
one, copy verify.py (no output), knapsacks.py (one task per instance) or sssp.py (questions to a
shared graph); then add its name to mgraph/__init__.pyi, and its command to mgraph/cli and the table
in cli/main.py.
"""

import abc
import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from typing import Any, ClassVar, TextIO

from mgraph.core.choices import Backend
from mgraph.distributed.clusters.connect import Cluster, ClusterLike, open_cluster
from mgraph.distributed.clusters.worker_shares import is_little
from mgraph.distributed.operations.graph_holder import held_by_workers
from mgraph.distributed.operations.resume import (
    ExistingOutput,
    Footer,
    existing_parts,
    matching_parts,
    read_footers,
)
from mgraph.distributed.operations.tasks import run_parts
from mgraph.distributed.protocol import run_context
from mgraph.distributed.protocol.run_context import WriteIntent
from mgraph.distributed.protocol.work_time import WorkTime, report_steps
from mgraph.io import manifest as manifests
from mgraph.io.folder import Folder


@dataclass
class Run:
    """The state of an operation that runs, for the methods that describe it.

    holder: the name under which each worker holds the graph, if it holds one.
    """

    cluster: Cluster
    existing: ExistingOutput
    progress: TextIO | None
    holder: str | None = None


@dataclass(frozen=True)
class Work:
    """The tasks of an operation: ``task(argument, **shared)`` for each part's argument.

    sizes: of the parts, in the operation's unit. kept: by part, the results that an earlier run
    finished.
    """

    task: Callable[..., Any]
    arguments: Sequence[Any]
    sizes: Sequence[int]
    shared: dict[str, Any]
    kept: dict[int, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What a run did. results: of all parts, in order, those that were kept included.

    seconds: from the call to the end. work_seconds: of the tasks, without the time in which workers
    compiled. compile_seconds: of the slowest worker's compiler, in the whole run.
    """

    results: list[Any]
    made_parts: int
    kept_parts: int
    seconds: float
    work_seconds: float
    compile_seconds: float


class Operation(abc.ABC):
    """What one operation does.

    ``run`` calls the methods from ``request`` to ``finish`` in this order; only ``work`` is
    required.

    verb: the command's name, which names tasks, owners and progress lines. unit: what sizes count.
    format, tables: of the output folder's manifest, and its files beside parts and manifest. edges:
    of the graph that is made or read, None if that is unknown.
    """

    verb: ClassVar[str]
    unit: ClassVar[str] = "edges"
    format: ClassVar[str] = manifests.FORMAT
    tables: ClassVar[tuple[str, ...]] = ()
    edges: int | None = None

    def __init__(
        self,
        out: str | Any | None = None,
        *,
        backend: Backend = "auto",
        threaded: bool = False,
        resume: bool = False,
        overwrite: bool = False,
    ) -> None:
        """Start the clock. Subclasses check their arguments before anything is started.

        out: the output folder, if there is one. backend, threaded: how the cluster is opened.
        """
        self.began = time.monotonic()
        self.folder = None if out is None else Folder(out)
        self.backend, self.threaded = backend, threaded
        self.resume, self.overwrite = resume, overwrite

    @property
    def location(self) -> str | None:
        """The address of the output folder, if there is one."""
        return None if self.folder is None else self.folder.location

    @property
    def subject(self) -> str | None:
        """The folder by which people know what is done."""
        return self.location

    def request(self) -> dict[str, Any]:
        """All that the output depends on: a restarted workflow resumes an equal request."""
        return {}

    def look(self, intent: WriteIntent, read: bool) -> ExistingOutput:
        """What the output folder holds; called before and after the folder is owned.

        read: whether to read the footers of parts that may be kept. Raises UsageError where the
        content must not be touched.
        """
        assert self.folder is not None
        names = existing_parts(
            self.folder, intent.resume, intent.overwrite, self.format, self.tables
        )
        if intent.overwrite:  # a dataset's ids go with it
            vertices = filter(manifests.VERTICES_NAME.fullmatch, self.folder.names() or [])
            names = (*names, *vertices)
        footers = read_footers(self.folder, names) if read and intent.resume else {}
        return ExistingOutput(names, footers)

    def adopt(self, existing: ExistingOutput) -> None:
        """Take over what an earlier run decided and this request leaves open."""

    def is_finished(self, existing: ExistingOutput) -> bool:
        """Whether an earlier run left nothing to do."""
        return False

    def prepare(self, run: Run) -> None:
        """Plan for the cluster, which is open now."""

    def shared_graph(self, run: Run) -> Callable[[], Any] | None:
        """The function by which each worker gets the graph that its tasks share, if they do."""
        return None

    def hold(self, run: Run) -> AbstractContextManager[str] | None:
        """What holds that graph while the tasks run, and gives the name of the holder."""
        graph = self.shared_graph(run)
        return None if graph is None else held_by_workers(run.cluster, graph)

    def load(self, run: Run) -> None:
        """Whatever must be known of the shared graph before the tasks are planned."""

    @abc.abstractmethod
    def work(self, run: Run) -> Work:
        """Return the tasks."""

    def fan_out(self, run: Run, work: Work) -> list[Any]:
        """The results of all parts, in order: those kept, and those of a task per missing part."""
        parts = range(len(work.arguments))
        missing = [index for index in parts if index not in work.kept]
        self.clear(run, work)
        made = run_parts(
            run.cluster,
            work.task,
            {index: work.arguments[index] for index in missing},
            {index: work.sizes[index] for index in missing},
            verb=self.verb,
            unit=self.unit,
            progress=run.progress,
            **work.shared,
        )
        results = work.kept | made
        return [results[index] for index in parts]

    def clear(self, run: Run, work: Work) -> None:
        """Remove parts of other runs, and the manifest if parts are missing."""
        if self.folder is not None:
            if len(work.kept) < len(work.arguments):
                self.folder.remove(manifests.NAME)
            self.folder.remove(*set(run.existing.names) - set(run.existing.footers))

    def finish(self, run: Run, results: list[Any]) -> None:
        """Write what stands beside the parts: tables and, last, the manifest."""

    def kept(
        self, run: Run, expected_footer: Callable[[int], Footer], parts: int
    ) -> dict[int, Footer]:
        """The footers of parts that need not be made again. Raises UsageError for foreign ones."""
        if self.folder is None:
            return {}
        return matching_parts(self.folder, run.existing.footers, expected_footer, parts)

    def claimed(self) -> AbstractContextManager[ExistingOutput]:
        """Own the output folder for a block; see ``look`` for what is refused."""
        if self.folder is None:
            return contextlib.nullcontext(ExistingOutput())
        return self._claimed(self.folder)

    @contextlib.contextmanager
    def _claimed(self, folder: Folder) -> Iterator[ExistingOutput]:
        folder.check_writable()
        intent = WriteIntent(folder, self.request(), self.resume, self.overwrite)
        intent.check_unowned()
        self.look(intent, read=False)  # before a wrong request owns anything
        with intent.owning(f"mgraph {self.verb}"):
            existing = self.look(intent, read=True)  # another run may have written meanwhile
            intent.record()
            yield existing

    def run(self, cluster: ClusterLike, progress: TextIO | None) -> Outcome:
        """Do it, on an open cluster or on one that is opened for it."""
        with ExitStack() as stack:
            stack.enter_context(run_context.about(self.subject))
            existing = stack.enter_context(self.claimed())
            self.adopt(existing)
            if self.is_finished(existing):
                return Outcome([], 0, 0, time.monotonic() - self.began, 0.0, 0.0)
            opened = stack.enter_context(
                open_cluster(
                    cluster,
                    backend=self.backend,
                    threaded=self.threaded,
                    in_process=is_little(self.edges),
                )
            )
            run = Run(opened, existing, progress)
            self.prepare(run)
            timed = WorkTime(opened.client)
            with ExitStack() as holding:
                if (held := self.hold(run)) is not None:
                    run.holder = holding.enter_context(held)
                    self.load(run)
                work = self.work(run)
                timed.begin_work(is_first=held is None)
                results = self.fan_out(run, work)
                timed.end()
            self.finish(run, results)
            report_steps(opened.client)
        return Outcome(
            results=results,
            made_parts=len(results) - len(work.kept),
            kept_parts=len(work.kept),
            seconds=time.monotonic() - self.began,
            work_seconds=timed.seconds,
            compile_seconds=timed.compiling,
        )
