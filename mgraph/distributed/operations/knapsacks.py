"""Knapsacks over a cluster: instances fan out, one per task.

Data flow: the client reads the instances and sends each with its task. A worker solves it and
writes the chosen items as a part of the result, one row per item: instance, item. A GPU's worker
solves one instance at a time, a CPU's worker one per thread. The table beside the parts has one row
per instance: its file, its size, its capacity, and the solution's figures.
"""

import hashlib
import os
import threading
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any, TextIO, get_args

import numpy as np

from mgraph import timings
from mgraph.core import cancellation
from mgraph.core.arrays import as_list, to_python_numbers
from mgraph.core.choices import Backend, Compression, Ids, KnapsackMethod, check_choice
from mgraph.core.edge_list_cpu import checksum
from mgraph.core.edges import EdgeList
from mgraph.distributed.clusters.connect import ClusterLike
from mgraph.distributed.operations.graph_operation import (
    BatchOperation,
    BatchPlan,
    read_answers,
    to_record,
    total_checksum,
)
from mgraph.distributed.operations.operation import Run, Work
from mgraph.distributed.operations.results import Results
from mgraph.distributed.operations.resume import ExistingOutput, Footer
from mgraph.distributed.protocol.run_context import WriteIntent
from mgraph.errors import OutOfMemoryError, UsageError
from mgraph.io.address import location_text
from mgraph.io.dataset import part_name
from mgraph.io.folder import Folder
from mgraph.knapsacks.instance import KnapsackInstance
from mgraph.knapsacks.knapsack import check_options, knapsack

TABLE = "_instances.parquet"
COLUMNS = {"instance": np.dtype(np.int64), "item": np.dtype(np.int64)}
_device = threading.Lock()  # of this worker: one instance at a time on its GPU


@dataclass(frozen=True)
class Packed:
    """The solution of an instance: see ``mgraph.Knapsack``. error: why there is none, or None."""

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


@dataclass(frozen=True, repr=False)
class KnapsackRun(Results):
    """What ``knapsack_many`` did.

    Attributes
    ----------
    location : str or None
        The folder of the chosen items, or None if nothing was written.
    packed : tuple of Packed
        One per instance, in order, those of kept parts included: ``instance``, ``profit``,
        ``weight``, ``items``, ``optimal``, ``bound`` and more; ``error`` says why there is none.
    made_parts, kept_parts : int
        Instances that were solved, and those kept from an earlier run.
    checksum : int
        Of all rows; 0 if nothing was written.
    seconds, solve_seconds, compile_seconds : float
        From the call to the end; of solving alone, without compiling; of the slowest worker's
        compiler.
    """

    location: str | None
    packed: tuple[Packed, ...]
    made_parts: int
    kept_parts: int
    checksum: int
    seconds: float
    solve_seconds: float
    compile_seconds: float

    _rows = "packed"


def solve_instance(batch: tuple[int, tuple[Any, Any, int, Any]], plan: BatchPlan) -> Footer:
    """Solve an instance, write its items, return the part's footer.

    The items' own numbers are written where there are any.
    """
    from mgraph.core import gauges
    from mgraph.io.parquet import writing_part

    index, (profits, weights, capacity, ids) = batch
    items = np.zeros(0, np.int64)
    try:
        with (
            cancellation.acquiring(_device) if plan.backend == "gpu" else nullcontext(),
            timings.step(timings.COMPUTING),
        ):
            solution = knapsack(profits, weights, capacity, backend=plan.backend, **plan.options)
    except OutOfMemoryError as error:
        packed = Packed(
            index, None, None, 0, None, None, None, plan.options["method"], plan.backend, None,
            str(error),
        )  # fmt: skip
    else:
        items = solution.items if ids is None else ids[solution.items]
        packed = Packed(
            index, int(solution.profit), int(solution.weight), items.size, solution.optimal,
            int(solution.bound), solution.nodes, solution.method, solution.backend,
            round(solution.seconds, 6), None,
        )  # fmt: skip
    gauges.add("queries", 1)
    rows = EdgeList(np.full(items.size, index), items)
    footer = plan.footer(index)
    footer |= {"packed": [to_record(packed)], "checksum": f"{checksum(rows):016x}"}
    if plan.folder is not None:
        with writing_part(plan.folder, part_name(index), COLUMNS, plan.compression) as writer:
            if items.size:
                writer.write([rows.src, rows.dst])
            writer.close(footer)
    return footer | {"rows": items.size}


class KnapsackOperation(BatchOperation):
    """``mgraph knapsack`` over many instances."""

    verb, unit, format = "knapsack", "instances", "mgraph knapsacks"
    tables = (TABLE,)

    def __init__(
        self,
        files: Any,
        out: Any,
        compression: Compression,
        options: dict[str, Any],
        ids: Ids,
        **more: Any,
    ) -> None:
        """Read the instances. options: of ``mgraph.knapsack``."""
        from mgraph.io.parquet import check_compression

        super().__init__(out, **more)
        check_compression(compression)
        check_choice("ids", ids, get_args(Ids))
        check_options(options["method"], self.backend, options["key"], options["time_limit"])
        if options["method"] != "branch_and_bound" and self.backend == "auto":
            self.backend = "cpu"
        is_single_path = isinstance(files, (str, os.PathLike))
        self.names = [
            location_text(file) for file in ([files] if is_single_path else as_list("files", files))
        ]
        if not self.names:
            raise UsageError("there must be at least one instance")
        self.instances = [KnapsackInstance.read(name) for name in self.names]
        if ids == "number":
            self.instances = [replace(instance, ids=None) for instance in self.instances]
        self.hash = _hash_instances(self.instances)
        self.compression, self.options = compression, options

    def request(self) -> dict[str, Any]:
        """Return the instances and every option."""
        return {"knapsack": self.hash, "compression": self.compression, **self.options}

    def look(self, intent: WriteIntent, read: bool) -> ExistingOutput:
        """Return the existing output without parts whose instance was not solved."""
        existing = super().look(intent, read)
        footers = existing.footers.items()
        solved = {name: footer for name, footer in footers if not _has_failed(footer)}
        return ExistingOutput(existing.names, solved)

    def work(self, run: Run) -> Work:
        """Return one task per instance."""
        identity = {
            "instances": len(self.instances),
            "instances_hash": self.hash,
            **self.options,
            "compression": self.compression,
        }
        backend = run.cluster.backend
        self.plan = BatchPlan(identity, self.folder, self.compression, backend, self.options)
        instances = [(i.profits, i.weights, i.capacity, i.ids) for i in self.instances]
        kept = self.kept(run, self.plan.footer, len(instances))
        sizes = [1] * len(instances)
        return Work(solve_instance, list(enumerate(instances)), sizes, {"plan": self.plan}, kept)

    def packed(self, footers: Sequence[Footer]) -> list[Packed]:
        """Return the solutions, in the order of the instances."""
        return read_answers(footers, "packed", Packed, len(self.names), self.folder)

    def write_tables(self, folder: Folder, footers: Sequence[Footer]) -> None:
        """Write the table of instances."""
        _write_table(folder, self.names, self.instances, self.packed(footers))


def knapsack_many(
    files: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str] | None = None,
    *,
    cluster: ClusterLike = None,
    backend: Backend = "auto",
    method: KnapsackMethod = "auto",
    key: str = "bound",
    collect: bool = True,
    time_limit: float | None = None,
    ids: Ids = "number",
    compression: Compression = "lz4",
    resume: bool = False,
    overwrite: bool = False,
    progress: TextIO | None = None,
) -> KnapsackRun:
    """Solve the 0/1 knapsack instances in files, over a cluster.

    Parameters
    ----------
    files : path or sequence of paths
        Instances, as ``mgraph.KnapsackInstance.read`` takes them.
    out : path or ``s3://`` address, optional
        The folder for the chosen items and the table of instances. By default nothing is written.
    cluster, compression, resume, overwrite, progress
        As for ``mgraph.sssp_many``.
    backend, method, key, collect, time_limit
        As for ``mgraph.knapsack``; ``time_limit`` is in seconds per instance.
    ids : {"number", "original"}
        What the rows hold: items' numbers from 0, or their own where a file has any.

    Returns
    -------
    KnapsackRun
        An instance that takes too much memory has its reason in ``packed[i].error``; the others are
        solved.

    Raises
    ------
    UsageError, StorageError, ClusterError
        Parts that were finished stay, and ``resume=True`` goes on from them.

    Notes
    -----
    Profits do not depend on the workers or, without a time limit, on method and backend.

    Examples
    --------
    >>> mgraph.KnapsackInstance([60, 100, 120], [10, 20, 30], 50).write("three.data")
    >>> run = mgraph.knapsack_many(["three.data", "three.data"])
    >>> [packed.profit for packed in run.packed]
    [220, 220]
    """
    (time_limit,) = to_python_numbers(time_limit)
    options = {"method": method, "key": key, "collect": collect, "time_limit": time_limit}
    operation = KnapsackOperation(
        files, out, compression, options, ids, backend=backend, resume=resume, overwrite=overwrite
    )
    outcome = operation.run(cluster, progress)
    return KnapsackRun(
        location=operation.location,
        packed=tuple(operation.packed(outcome.results)),
        made_parts=outcome.made_parts,
        kept_parts=outcome.kept_parts,
        checksum=total_checksum(outcome.results) if out is not None else 0,
        seconds=outcome.seconds,
        solve_seconds=outcome.work_seconds,
        compile_seconds=outcome.compile_seconds,
    )


def _has_failed(footer: Footer) -> bool:
    """Return whether a part's footer says that its instance was not solved."""
    packed = footer.get("packed")
    if not isinstance(packed, list) or not packed:
        return False
    last = packed[-1]
    return last.get("error") is not None if isinstance(last, dict) else last is not None


def _hash_instances(instances: Sequence[KnapsackInstance]) -> str:
    """Return a hash that distinguishes one list of instances from another."""
    digest = hashlib.sha256()
    for instance in instances:
        digest.update(np.array([instance.items, instance.capacity], np.int64).tobytes())
        digest.update(instance.profits.tobytes() + instance.weights.tobytes())
        if instance.ids is not None:
            digest.update(instance.ids.tobytes())
    return digest.hexdigest()[:16]


def _write_table(
    folder: Folder,
    names: Sequence[str],
    instances: Sequence[KnapsackInstance],
    packed: Sequence[Packed],
) -> None:
    """Write the table of all instances, one row each, in their order."""
    import pyarrow as pa
    from pyarrow import parquet

    types = {
        "profit": pa.int64(), "weight": pa.int64(), "items": pa.int64(), "optimal": pa.bool_(),
        "bound": pa.int64(), "nodes": pa.int64(), "method": pa.string(), "backend": pa.string(),
        "seconds": pa.float64(), "error": pa.string(),
    }  # fmt: skip
    columns = {
        "instance": pa.array(range(len(packed)), pa.int64()),
        "file": pa.array(names, pa.string()),
        "of_items": pa.array([instance.items for instance in instances], pa.int64()),
        "capacity": pa.array([instance.capacity for instance in instances], pa.int64()),
    }
    for name, dtype in types.items():
        columns[name] = pa.array([getattr(solution, name) for solution in packed], dtype)
    with folder.writing(TABLE) as stream:
        parquet.write_table(pa.table(columns), stream)
