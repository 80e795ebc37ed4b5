"""Steiner trees of many queries over a cluster: queries fan out, in batches.

Data flow: each worker reads the graph once (``graph_holder``). Queries are dealt to batches in
turn, so that all batches are about as much work; a batch is a task and a part of the result
(``steiner_tasks``).
"""

import functools
import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TextIO

from mgraph.core.arrays import as_list, check_integers, to_python_numbers
from mgraph.core.choices import Backend, Compression, Ids, SteinerMethod, SteinerSearch
from mgraph.core.graph import MAX_N
from mgraph.distributed.clusters.connect import ClusterLike
from mgraph.distributed.operations.graph_operation import (
    BatchPlan,
    GraphFacts,
    GraphOperation,
    read_answers,
    total_checksum,
)
from mgraph.distributed.operations.operation import Run, Work
from mgraph.distributed.operations.results import Results
from mgraph.distributed.operations.resume import ExistingOutput, Footer
from mgraph.distributed.operations.steiner_queries import (
    as_queries,
    check_query,
    draw_queries,
    flatten,
    hash_queries,
    refill,
)
from mgraph.distributed.operations.steiner_tasks import (
    TABLE,
    Answer,
    choose_batch_size,
    load_graph,
    name_terminals,
    solve_batch,
    write_table,
)
from mgraph.errors import MgraphWarning, UsageError
from mgraph.io.folder import Folder


@dataclass(frozen=True, repr=False)
class SteinerRun(Results):
    """What ``steiner_many`` did.

    Attributes
    ----------
    location : str or None
        The folder of the trees, or None if nothing was written.
    facts : GraphFacts
        ``n``, ``num_arcs`` and ``length_dtype`` (of costs) of the graph.
    answers : tuple of Answer
        One per query, in order, those of kept parts included: ``query``, ``terminals``, ``edges``,
        ``cost``, ``lower_bound``, ``gap`` and more; ``error`` says why there is no tree.
    made_parts, kept_parts : int
        Parts that were solved, and parts kept from an earlier run.
    checksum : int
        Of all rows; 0 if nothing was written.
    seconds, solve_seconds, compile_seconds : float
        From the call to the end; of the queries alone, without compiling; of the slowest worker's
        compiler.
    """

    location: str | None
    facts: GraphFacts
    answers: tuple[Answer, ...]
    made_parts: int
    kept_parts: int
    checksum: int
    seconds: float
    solve_seconds: float
    compile_seconds: float

    _rows = "answers"


# Options of methods that groups do not have.
_NOT_FOR_GROUPS = {"method": "auto", "search": "auto", "epsilon": 0.0, "bound": False}


class SteinerOperation(GraphOperation):
    """``mgraph steiner`` over many queries."""

    verb, unit, format = "steiner", "queries", "mgraph Steiner trees"
    tables = (TABLE,)

    def __init__(
        self,
        location: str | os.PathLike[str],
        out: Any,
        queries: Any,
        sample: tuple[Any, int, int | None],
        batch: int | None,
        compression: Compression,
        options: dict[str, Any],
        **more: Any,
    ) -> None:
        """Check what can be checked without the graph. options: of ``mgraph.steiner_trees``."""
        are_numbers = more.get("ids", "number") == "number"
        checked = _check_request(queries, *sample, batch, compression, are_numbers)
        queries, sizes, self.grouped = checked
        super().__init__(location, out, **more)
        for number, query in enumerate(queries or []):
            what = "groups" if self.grouped else "terminals"
            self.names.early(f"query {number}: {what}", flatten([query], self.grouped))
        self._check_options(self.backend, options)
        self.queries, self.sizes = queries, sizes
        self.seed, self.group_size = sample[1], sample[2]
        self.batch, self.compression, self.options = batch, compression, options

    def _check_options(self, backend: Backend, options: dict[str, Any]) -> None:
        from mgraph.steiner.steiner_tree import check_options, runs_on_cpu

        method, search = options["method"], options["search"]
        if self.grouped:
            for name, default in _NOT_FOR_GROUPS.items():
                if options[name] != default:
                    raise UsageError(f"{name} does not apply to groups", parameter=name)
        check_options(method, search, backend, options["epsilon"], options["time_limit"])
        if runs_on_cpu(method, search):
            self.backend = "cpu"

    def request(self) -> dict[str, Any]:
        """Return the graph, the queries and every option."""
        queries = {
            "queries": self.queries and [list(map(str, query)) for query in self.queries],
            "sample": [self.sizes, self.seed, *([self.group_size] if self.group_size else [])],
            "ids": self.ids,
        }
        output = {"compression": self.compression, "batch": self.batch}
        graph = {"steiner": self.identity.name, "symmetrise": self.symmetrise}
        return graph | queries | self.options | output

    def adopt(self, existing: ExistingOutput) -> None:
        """Keep the earlier run's batches."""
        self.batch = self.batch or existing.previous_value("batch", MAX_N)

    def prepare(self, run: Run) -> None:
        """Refuse a search that the cluster's backend lacks."""
        self._check_options(run.cluster.backend, self.options)
        if run.cluster.backend == "cpu":
            self.backend = "cpu"

    def load(self, run: Run) -> None:
        """Read the graph everywhere; draw the queries, and check them."""
        options = self.options | {"backend": self.backend}
        task = functools.partial(load_graph, options=options, grouped=self.grouped)
        self.facts = self.load_everywhere(run, task)
        for note in self.facts.notes:
            warnings.warn(note, MgraphWarning, stacklevel=2)
        grouped = self.grouped
        if self.sizes is not None:
            drawn = self.sizes, self.seed, self.group_size
            self.queries = self.draw(run, draw_queries, *drawn)
        elif self.ids == "original":
            names = flatten(self.queries or [], grouped)
            found = iter(self.resolve(run, "terminals", names))
            self.queries = refill(self.queries or [], found, grouped)
        n = self.facts.n
        checked = [check_query(i, q, n, grouped) for i, q in enumerate(self.queries or [])]
        if not checked:
            raise UsageError("there must be at least one query")
        self.queries = checked
        self.named_terminals = None
        if self.ids == "original" and self.facts.id_kind is not None and self.folder is not None:
            elements = [int(v) for v in flatten(checked, grouped)]
            self.named_terminals = self.draw(run, name_terminals, elements)

    def work(self, run: Run) -> Work:
        """Return one task per batch of queries."""
        count = len(self.queries)
        size = self.batch or choose_batch_size(count, run.cluster)
        identity = {
            "graph_identity": self.identity.name,
            "symmetrise": self.symmetrise,
            "n": self.facts.n,
            "m": self.facts.num_arcs,
            "queries": count,
            "queries_hash": hash_queries(self.queries, self.grouped),
            **self.options,
            "compression": self.compression,
            "batch": size,
        }
        if self.ids == "original" and self.facts.id_kind is not None:
            identity["ids"] = "original"
        options, backend = self.options | {"backend": self.backend}, run.cluster.backend
        self.plan = BatchPlan(
            identity, self.folder, self.compression, backend, options, self.facts, run.holder,
            writes_ids=self.ids == "original",
        )  # fmt: skip
        numbered = [
            (i, [group.tolist() for group in query] if self.grouped else query.tolist())
            for i, query in enumerate(self.queries)
        ]
        parts = -(-count // size)
        batches = [(part, numbered[part::parts]) for part in range(parts)]
        kept = self.kept(run, self.plan.footer, parts)
        sizes = [len(queries) for _, queries in batches]
        constants = {"plan": self.plan, "grouped": self.grouped}
        return Work(solve_batch, batches, sizes, constants, kept)

    def answers(self, footers: Sequence[Footer]) -> list[Answer]:
        """Return all answers, in the order of the queries."""
        answers = read_answers(footers, "answers", Answer, len(self.queries), self.folder)
        return sorted(answers, key=lambda answer: answer.query)

    def write_tables(self, folder: Folder, footers: Sequence[Footer]) -> None:
        """Write the table of queries."""
        write_table(
            folder,
            self.answers(footers),
            self.queries,
            self.grouped,
            self.facts.length_dtype,
            self.named_terminals,
        )

    def manifest(self, footers: Sequence[Footer]) -> dict[str, Any]:
        """Return the manifest with the type of costs."""
        return super().manifest(footers) | {"costs": self.facts.length_dtype}


def steiner_many(
    location: str | os.PathLike[str],
    queries: Sequence[Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    *,
    sample: Sequence[tuple[int, int]] | None = None,
    group_size: int | None = None,
    seed: int = 1,
    cluster: ClusterLike = None,
    backend: Backend = "auto",
    method: SteinerMethod = "auto",
    search: SteinerSearch = "auto",
    epsilon: float = 0.0,
    improve: bool = False,
    bound: bool = False,
    time_limit: float | None = None,
    symmetrise: bool = False,
    reading: Mapping[str, Any] | None = None,
    ids: Ids = "number",
    batch: int | None = None,
    compression: Compression = "lz4",
    resume: bool = False,
    overwrite: bool = False,
    progress: TextIO | None = None,
) -> SteinerRun:
    """Steiner trees of many queries, over a cluster, written as Parquet.

    Parameters
    ----------
    location : path or ``s3://`` address
        A graph that every worker can read: whatever ``mgraph.read_graph`` takes.
    queries : sequence of sequences of int, or of sequences of groups, optional
        The terminals of each query; or give ``sample``. If an element of any query is a group, a
        sequence of vertices itself, all are answered as ``mgraph.group_steiner_trees`` does.
    out : path or ``s3://`` address, optional
        The folder for the trees' edges and the table of queries. By default nothing is written.
    sample : sequence of (int, int), optional
        Pairs (k, count): draw ``count`` queries of ``k`` terminals, uniformly among those that a
        tree can span.
    group_size : int, optional
        Draw k groups of so many vertices in place of k terminals, for ``sample``.
    seed : int, default 1
        Of the sample.
    cluster, backend, symmetrise, reading, ids, batch, compression, resume, overwrite, progress
        As for ``mgraph.sssp_many``; ``batch`` counts queries.
    method, search, epsilon, improve, bound, time_limit
        As for ``mgraph.steiner_trees``; ``time_limit`` is in seconds per query.

    Returns
    -------
    SteinerRun
        A query without a tree has its reason in ``answers[i].error``; the others are answered.

    Raises
    ------
    UsageError, DatasetError, StorageError, ClusterError
        Parts that were finished stay, and ``resume=True`` goes on from them.

    Notes
    -----
    The rows do not depend on the workers or the batches, nor, without ``improve`` and a time limit
    and where weights are whole, on the backend. Of groups, a CPU gives hard queries up, for which a
    GPU finds the best tree; and it answers batches with a query of more than 8 groups.

    Examples
    --------
    >>> model = mgraph.CopyModel(1000, 2)
    >>> made = mgraph.generate("graph", model)
    >>> run = mgraph.steiner_many("graph", [[3, 14, 159], [7, 8]], "trees")
    >>> [answer.terminals for answer in run.answers]
    [3, 2]
    """
    seed, batch, epsilon, time_limit = to_python_numbers(seed, batch, epsilon, time_limit)
    (group_size,) = to_python_numbers(group_size)
    check_integers(seed=seed, batch=batch, group_size=group_size)
    options = {
        "method": method, "search": search, "epsilon": epsilon, "improve": improve, "bound": bound,
        "time_limit": time_limit,
    }  # fmt: skip
    operation = SteinerOperation(
        location, out, queries, (sample, seed, group_size), batch, compression, options,
        symmetrise=symmetrise, reading=reading, ids=ids, backend=backend, resume=resume,
        overwrite=overwrite,
    )  # fmt: skip
    outcome = operation.run(cluster, progress)
    return SteinerRun(
        location=operation.location,
        facts=operation.facts,
        answers=tuple(operation.answers(outcome.results)),
        made_parts=outcome.made_parts,
        kept_parts=outcome.kept_parts,
        checksum=total_checksum(outcome.results),
        seconds=outcome.seconds,
        solve_seconds=outcome.work_seconds,
        compile_seconds=outcome.compile_seconds,
    )


def _check_request(
    queries: Any,
    sample: Any,
    seed: int,
    group_size: int | None,
    batch: int | None,
    compression: Compression,
    are_numbers: bool,
) -> tuple[list[Any] | None, list[tuple[int, int]] | None, bool]:
    """Return the queries, or the sizes of the sample, and whether queries are of groups.

    Raises UsageError for errors in any graph.
    """
    from mgraph.io.parquet import check_compression

    check_compression(compression)
    if (queries is None) == (sample is None):
        raise UsageError("either queries or sample must be given")
    if not 0 <= seed < 1 << 64:
        raise UsageError(f"seed must lie in [0, 2^64) (got {seed})")
    for name, value in (("batch", batch), ("group_size", group_size)):
        if value is not None and value < 1:
            raise UsageError(f"{name} must be at least 1 (got {value})", parameter=name)
    if queries is None:
        return None, _parse_sample(sample), group_size is not None
    if group_size is not None:
        raise UsageError("group_size needs sample", parameter="group_size")
    listed, grouped = as_queries(queries)
    if not are_numbers:
        return listed, None, grouped
    for i, query in enumerate(listed):
        check_query(i, query, MAX_N, grouped)
    return refill(listed, map(int, flatten(listed, grouped)), grouped), None, grouped


def _parse_sample(sample: Any) -> list[tuple[int, int]]:
    """Pairs of a number of terminals and of queries. Raises UsageError."""
    sizes = []
    for pair in as_list("sample", sample):
        try:
            k, count = to_python_numbers(*pair)
        except (TypeError, ValueError):
            raise UsageError(f"sample must be pairs (k, count) (one is {pair!r})") from None
        check_integers(k=k, count=count)
        sizes.append((k, count))
    return sizes
