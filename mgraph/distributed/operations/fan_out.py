"""Questions fan out over a cluster, a task a batch of them; with the graph that they are about.

What a run writes is a part a batch, whose footer says whose it is, so that ``resume`` goes on from
a folder without a manifest.
"""

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TextIO

import numpy as np

from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.operations.generate_plan import existing_parts, footers, matching
from mgraph.distributed.operations.tasks import follow_parts, result_of, run_parts, submit_parts
from mgraph.distributed.protocol.run_context import WriteIntent
from mgraph.errors import DatasetError, UsageError
from mgraph.io import manifest as manifests
from mgraph.io.address import parse
from mgraph.io.dataset import part_name
from mgraph.io.folder import Folder
from mgraph.io.formats import Identity, identify


class GraphFacts(NamedTuple):
    """What the client knows of a graph that the workers hold.

    lengths: the type of its paths'. notes: what the user should know of each worker.
    """

    n: int
    num_arcs: int
    lengths: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class BatchPlan:
    """What every task of a run knows; small, since it travels with each.

    asked: what the rows depend on, the questions by their hash. folder: None where nothing is
    written. options: of the function that answers.
    """

    asked: dict[str, Any]
    folder: Folder | None
    compression: str
    backend: str
    options: dict[str, Any]

    def footer(self, index: int) -> dict[str, Any]:
        """What the part's footer says, but for what was found: whose it is, where it belongs."""
        return self.asked | {"part": index}

    def record(self, index: int, footer: dict[str, Any], *told: str) -> dict[str, Any]:
        """The manifest's line for a part that is written. told: what else of its footer."""
        assert self.folder is not None
        name = part_name(index)
        found = {key: footer[key] for key in (*told, "rows", "checksum")}
        return {"file": name, **found, "bytes": self.folder.size(name)}


@dataclass(frozen=True)
class GraphPlan(BatchPlan):
    """A plan of questions on a graph. holder: the name of the plugin that has it."""

    holder: str
    facts: GraphFacts

    @property
    def ids(self) -> np.dtype:
        """The type of vertices in the rows."""
        return np.dtype(np.int32 if self.facts.n < 1 << 31 else np.int64)


def total_checksum(footers: Sequence[dict[str, Any]]) -> int:
    """Of all rows of all parts."""
    return sum(int(footer["checksum"], 16) for footer in footers) % (1 << 64)


def read_answers(
    results: Sequence[dict[str, Any]],
    key: str,
    kind: Callable[..., Any],
    folder: Folder | None,
    several: bool = True,
) -> list[Any]:
    """What all footers tell under ``key``, each as a ``kind``, a named tuple. several: in a list.

    Raises DatasetError where a part that was kept tells something else.
    """
    try:
        lists = [footer[key] if several else [footer[key]] for footer in results]
        return [kind(*told) for listed in lists for told in listed]
    except (KeyError, TypeError):
        raise DatasetError(
            f"the parts in {folder} do not tell their {key}: they were edited or damaged; "
            "--overwrite begins anew"
        ) from None


def named(location: str | os.PathLike[str]) -> tuple[str, Identity]:
    """A graph's address as workers know it, and its identity. Raises DatasetError."""
    graph = parse(location).text
    return graph, identify(graph)


@contextlib.contextmanager
def standing(
    folder: Folder | None,
    operation: str,
    graph: str,
    identity: str,
    kind: str,
    intent: WriteIntent,
    also: tuple[str, ...] = (),
) -> Iterator[tuple[list[str], dict[str, dict[str, Any]]]]:
    """The parts in the folder, and of those to keep what they say of themselves.

    The folder is this operation's for the length of the block, and the intent is recorded. kind:
    what the folder's manifest would say it holds; also: files that belong to it. Raises UsageError,
    StorageError where they must not be touched, are of another graph, or are being written.
    """
    if folder is None:
        yield [], {}
        return
    if folder.same_as(Folder(graph)):
        raise UsageError(f"{folder} is the graph; write the results to another folder")
    folder.check_writable()
    intent.check_unowned()
    existing_parts(folder, intent.resume, intent.overwrite, kind, also)
    with intent.owning(operation):
        names = existing_parts(folder, intent.resume, intent.overwrite, kind, also)
        found = footers(folder, names) if intent.resume else {}
        if {footer.get("graph_identity") for footer in found.values()} - {identity}:
            raise UsageError(
                f"{folder} holds parts of another dataset, or {graph} was changed, touched or "
                "moved since: --overwrite begins again"
            )
        intent.record()
        yield names, found


def load_everywhere(
    cluster: Cluster,
    load: Callable[..., GraphFacts],
    name: str,
    edges: int,
    progress: TextIO | None,
) -> GraphFacts:
    """Have each worker read the graph, all at once; returns what ``load(name)`` returns of it.

    The notes are those of all workers.

    As many tasks as workers, which Dask gives each to another: one that is tied to a worker would
    wait for ever where that dies and is the last.
    """
    each = dict.fromkeys(range(len(cluster.workers)), name)
    futures = submit_parts(cluster, load, each, verb="load")
    sizes = dict.fromkeys(futures, edges)
    done = list(follow_parts(cluster, futures, sizes, verb="load", progress=progress))
    loaded = [result_of(future, "load") for _, future in done]
    notes = dict.fromkeys(note for facts in loaded for note in facts.notes)
    return loaded[0]._replace(notes=tuple(notes))


def run_batches(
    cluster: Cluster,
    task: Callable[..., Any],
    batches: list[Any],
    sizes: list[int],
    standing_parts: tuple[list[str], dict[str, dict[str, Any]]],
    *,
    plan: BatchPlan,
    verb: str,
    unit: str,
    progress: TextIO | None,
) -> tuple[list[dict[str, Any]], int]:
    """Run ``task((index, batch), plan=plan)`` for the batches that are not there yet.

    sizes: each batch's, in ``unit``. Returns all footers, and how many were there.
    """
    names, found = standing_parts
    results: dict[int, dict[str, Any]] = {}
    folder = plan.folder
    if folder is not None:
        results = matching(folder, found, plan.footer, len(batches))
        if len(results) < len(batches):
            folder.remove(manifests.NAME)
        folder.remove(*set(names) - set(found))  # to be replaced, or cut short
    kept = len(results)
    missing = {index: (index, batch) for index, batch in enumerate(batches) if index not in results}
    results |= run_parts(
        cluster,
        task,
        missing,
        {index: sizes[index] for index in missing},
        verb=verb,
        unit=unit,
        progress=progress,
        plan=plan,
    )
    return [results[index] for index in range(len(batches))], kept
