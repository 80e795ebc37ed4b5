"""Knapsacks over a cluster: instances fan out, one a task.

Data flow: the client reads the instances and sends each with its task; a worker solves it and
writes which items it chose as a part of the result, a row an item: instance, item. A table beside
the parts has a row for each instance: its file, items, capacity, and what was found. A GPU's worker
solves one at a time, and a CPU's one for each of its threads.
"""

import hashlib
import os
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass
from typing import Any, NamedTuple, TextIO

import numpy as np

import mgraph
from mgraph.core import cancellation
from mgraph.core.arrays import as_list, plain
from mgraph.core.edge_list_cpu import checksum
from mgraph.core.edges import EdgeList
from mgraph.distributed.clusters.connect import ClusterLike, open_cluster
from mgraph.distributed.operations import fan_out
from mgraph.distributed.operations.fan_out import BatchPlan
from mgraph.distributed.operations.generate_plan import existing_parts, footers
from mgraph.distributed.protocol.run_context import WriteIntent
from mgraph.errors import OutOfMemoryError, UsageError
from mgraph.io import manifest as manifests
from mgraph.io.address import given
from mgraph.io.dataset import part_name
from mgraph.io.folder import Folder
from mgraph.knapsacks.instance import KnapsackInstance
from mgraph.knapsacks.knapsack import check_options, knapsack

FORMAT, VERSION = "mgraph knapsacks", 1
TABLE = "_instances.parquet"
COLUMNS = {"instance": np.dtype(np.int64), "item": np.dtype(np.int64)}
_device = threading.Lock()


class Packed(NamedTuple):
    """What became of an instance: see ``mgraph.Knapsack``. error: why nothing did, or None."""

    instance: int
    profit: int | None
    weight: int | None
    items: int
    optimal: bool | None
    bound: int | None
    nodes: int | None
    method: str
    backend: str
    seconds: float | None
    error: str | None


@dataclass(frozen=True)
class KnapsackRun:
    """What a run did. packed: one an instance, in order, those of kept parts included.

    location: the results' folder, or None. checksum: of all rows; 0 where nothing is written.
    seconds: from the call to the end, of which ``solve_seconds`` with the cluster there.
    """

    location: str | None
    packed: list[Packed]
    made_parts: int
    kept_parts: int
    checksum: int
    seconds: float
    solve_seconds: float


def solve_one(job: tuple[int, tuple[Any, Any, int]], plan: BatchPlan) -> dict[str, Any]:
    """The task: solve an instance, write its items, return what the table tells of it."""
    from mgraph.core import gauges

    index, (profits, weights, capacity) = job
    footer = plan.footer(index)
    options = plan.options | {"backend": plan.backend}
    items = np.zeros(0, np.int64)
    try:
        with cancellation.acquiring(_device) if plan.backend == "gpu" else nullcontext():
            found = knapsack(profits, weights, capacity, **options)
    except OutOfMemoryError as error:
        packed = Packed(index, None, None, 0, None, None, None, options["method"],
                        plan.backend, None, str(error))  # fmt: skip
    else:
        items = found.items
        packed = Packed(index, found.profit, found.weight, items.size, found.optimal, found.bound,
                        found.nodes, found.method, found.backend, round(found.seconds, 6),
                        None)  # fmt: skip
    gauges.add("queries", 1)
    rows = EdgeList(np.full(items.size, index), items)
    footer |= {"packed": list(packed), "checksum": f"{checksum(rows):016x}"}
    if plan.folder is not None:
        from mgraph.io.parquet import writing_part

        with writing_part(plan.folder, part_name(index), COLUMNS, plan.compression) as writer:
            if items.size:
                writer.write([rows.src, rows.dst])
            writer.close(footer)
    return footer | {"rows": items.size}


def knapsack_many(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
    *,
    cluster: ClusterLike = None,
    method: str = "auto",
    backend: str = "auto",
    key: str = "bound",
    collect: bool = True,
    time_limit: float | None = None,
    compression: str = "lz4",
    resume: bool = False,
    overwrite: bool = False,
    progress: TextIO | None = sys.stderr,
) -> KnapsackRun:
    """Solve the instances in files, over a cluster, and write Parquet to the folder ``out``.

    files: what ``KnapsackInstance.read`` reads, one or several. out: a path or ``s3://`` address;
    None writes nothing. cluster: as for ``mgraph.generate``. resume: keep what was solved.
    overwrite: replace what is there. See ``mgraph.knapsack`` for the rest; time_limit: seconds an
    instance.
    An instance that takes too much memory is told in the table, and the others go on. Profits do
    not depend on the workers or, without a time limit, on method and backend. Raises UsageError,
    StorageError, ClusterError; what was finished stays, and ``resume`` goes on from it.
    """
    import json

    from mgraph.io.parquet import check_compression

    began = time.monotonic()
    (time_limit,) = plain(time_limit)
    check_compression(compression)
    check_options(method, backend, key, time_limit)
    is_one = isinstance(files, (str, os.PathLike))
    names = [given(file) for file in ([files] if is_one else as_list("files", files))]
    if not names:
        raise UsageError("there must be an instance at least")
    instances = [KnapsackInstance.read(name) for name in names]
    folder = None if out is None else Folder(out)
    there: tuple[list[str], dict[str, dict[str, Any]]] = [], {}
    options = {"method": method, "key": key, "collect": collect, "time_limit": time_limit}
    asked_for = {"knapsack": _hash_of(instances), "compression": compression, **options}
    intent = WriteIntent(folder, asked_for, resume, overwrite)
    if folder is not None:
        folder.check_writable()
        intent.check_unowned()
        existing_parts(folder, intent.resume, intent.overwrite, FORMAT, (TABLE,))
    if method != "branch_and_bound" and backend == "auto":
        backend = "cpu"
    with ExitStack() as stack:
        stack.enter_context(intent.owning("mgraph knapsack"))
        if folder is not None:
            parts = existing_parts(folder, intent.resume, intent.overwrite, FORMAT, (TABLE,))
            intent.record()
            solved = footers(folder, parts) if intent.resume else {}
            there = parts, {name: its for name, its in solved.items() if not _failed(its)}
        cluster = stack.enter_context(open_cluster(cluster, backend=backend))
        asked = {
            "instances": len(instances),
            "instances_hash": _hash_of(instances),
            **options,
            "compression": compression,
        }
        plan = BatchPlan(asked, folder, compression, cluster.backend, options)
        connected = time.monotonic()
        results, kept = fan_out.run_batches(
            cluster,
            solve_one,
            [(one.profits, one.weights, one.capacity) for one in instances],
            [1] * len(instances),
            there,
            plan=plan,
            verb="knapsack",
            unit="instances",
            progress=progress,
        )
        packed = fan_out.read_answers(results, "packed", Packed, folder, several=False)
        if folder is not None:
            _write_table(folder, names, instances, packed)
            content = {
                "format": FORMAT,
                "version": VERSION,
                **asked,
                "checksum": f"{fan_out.total_checksum(results):016x}",
                "parts": [plan.record(index, footer) for index, footer in enumerate(results)],
                "table": TABLE,
                "created_by": f"mgraph {mgraph.__version__}",
            }
            folder.write(manifests.NAME, (json.dumps(content, indent=1) + "\n").encode())
    now = time.monotonic()
    return KnapsackRun(
        location=None if folder is None else folder.location,
        packed=packed,
        made_parts=len(instances) - kept,
        kept_parts=kept,
        checksum=fan_out.total_checksum(results) if folder is not None else 0,
        seconds=now - began,
        solve_seconds=now - connected,
    )


def _failed(footer: dict[str, Any]) -> bool:
    """Whether a part tells that its instance was not solved."""
    packed = footer.get("packed")
    return isinstance(packed, list) and bool(packed) and packed[-1] is not None


def _hash_of(instances: Sequence[KnapsackInstance]) -> str:
    """What tells one list of instances from another."""
    digest = hashlib.sha256()
    for one in instances:
        digest.update(np.array([one.items, one.capacity], np.int64).tobytes())
        digest.update(one.profits.tobytes() + one.weights.tobytes())
    return digest.hexdigest()[:16]


def _write_table(
    folder: Folder,
    names: Sequence[str],
    instances: Sequence[KnapsackInstance],
    packed: Sequence[Packed],
) -> None:
    """Write the table of all instances, a row each, in their order."""
    import pyarrow as pa
    from pyarrow import parquet

    kinds = {
        "profit": pa.int64(), "weight": pa.int64(), "items": pa.int64(), "optimal": pa.bool_(),
        "bound": pa.int64(), "nodes": pa.int64(), "method": pa.string(), "backend": pa.string(),
        "seconds": pa.float64(), "error": pa.string(),
    }  # fmt: skip
    columns = {
        "instance": pa.array(range(len(packed)), pa.int64()),
        "file": pa.array(names, pa.string()),
        "of_items": pa.array([one.items for one in instances], pa.int64()),
        "capacity": pa.array([one.capacity for one in instances], pa.int64()),
    }
    for name, kind in kinds.items():
        columns[name] = pa.array([getattr(one, name) for one in packed], kind)
    with folder.writing(TABLE) as stream:
        parquet.write_table(pa.table(columns), stream)
