"""Questions on one graph fan out over a cluster: the graph to each worker, a task a batch of them.

What a run writes is a part a batch, whose footer says whose it is, so that ``resume`` goes on from
a folder without a manifest.
"""

import os
import time
from collections.abc import Callable
from typing import Any, Protocol, TextIO

from mgraph.distributed.connect import Cluster
from mgraph.distributed.plan import existing_parts, footers, matching
from mgraph.distributed.tasks import follow_parts, run_parts
from mgraph.errors import UsageError
from mgraph.io import manifest as manifests
from mgraph.io.folder import Folder
from mgraph.io.formats import Identity, identify


class Plan(Protocol):
    """What every task of a run knows. folder: None where nothing is written."""

    @property
    def folder(self) -> Folder | None:
        """Where parts go."""

    def footer(self, index: int) -> dict[str, Any]:
        """What a part's footer says, but for what was found: whose it is, where it belongs."""


def named(location: str | os.PathLike[str]) -> tuple[str, Identity]:
    """A graph's address as workers know it, and its identity. Raises DatasetError."""
    graph = os.fspath(location)
    if "://" not in graph:
        graph = os.path.abspath(graph)
    return graph, identify(graph)


def standing(
    folder: Folder | None,
    graph: str,
    identity: str,
    kind: str,
    *,
    resume: bool,
    overwrite: bool,
    also: tuple[str, ...] = (),
) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """The parts in the folder, and of those to keep what they say of themselves.

    kind: what the folder's manifest would say it holds; also: files that belong to it. Raises
    UsageError, StorageError where they must not be touched, or are of another graph.
    """
    if folder is None:
        return [], {}
    if str(folder) == graph:
        raise UsageError(f"{folder} is the graph; write the results to another folder")
    folder.check_writable()
    names = existing_parts(folder, resume, overwrite, kind, also)
    found = footers(folder, names) if resume else {}
    if {footer.get("graph_identity") for footer in found.values()} - {identity}:
        raise UsageError(
            f"{folder} holds parts of another dataset, or {graph} was changed, touched or moved "
            "since: --overwrite begins anew"
        )
    return names, found


def load_everywhere(
    cluster: Cluster,
    load: Callable[..., Any],
    name: str,
    edges: int,
    progress: TextIO | None,
) -> Any:
    """Have each worker read the graph, all at once; returns what ``load(name)`` tells of it."""
    run = f"mgraph-load-{time.time_ns()}"
    futures = {
        index: cluster.client.submit(
            # One that dies is replaced by another of a new address.
            load, name, key=(run, index), workers=[address], allow_other_workers=True,
        )
        for index, address in enumerate(cluster.workers)
    }  # fmt: skip
    sizes = dict.fromkeys(futures, edges)
    done = list(follow_parts(cluster, futures, sizes, verb="load", progress=progress))
    return done[0][1].result()


def run_batches(
    cluster: Cluster,
    task: Callable[..., Any],
    batches: list[Any],
    sizes: list[int],
    standing_parts: tuple[list[str], dict[str, dict[str, Any]]],
    *,
    plan: Plan,
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
        folder.create()
        folder.remove_temporaries()
        if len(results) < len(batches):
            folder.remove(manifests.NAME)
        folder.remove(*set(names) - set(found))  # to be replaced, or cut short
    kept = len(results)
    missing = {index: (index, batch) for index, batch in enumerate(batches) if index not in results}
    try:
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
    finally:
        if folder is not None:
            folder.remove_temporaries()
    return [results[index] for index in range(len(batches))], kept
