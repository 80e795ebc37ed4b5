"""A graph over the memory of all workers of a cluster: ``mgraph.open_partitioned``.

``mgraph.partitioned`` has the design. Here the ranks are workers, and their programs tasks.
"""

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TextIO

import numpy as np

from mgraph.core.choices import Backend, Device
from mgraph.distributed.clusters.connect import Cluster, ClusterLike, open_cluster
from mgraph.distributed.operations.graph_shares import (
    BuildPlan,
    Share,
    check_model,
    divide,
    plan_dataset,
    plan_model,
)
from mgraph.distributed.operations.partitioned_results import (
    PartitionedComponents,
    PartitionedForest,
    PartitionedPaths,
)
from mgraph.distributed.operations.partitioned_tasks import (
    RankFacts,
    SearchPlan,
    build_rank,
    label_rank,
    search_rank,
    span_graph_rank,
)
from mgraph.distributed.operations.ranks import Ranks, ranks_of
from mgraph.distributed.operations.streamed_dataset import open_streamed
from mgraph.errors import UsageError
from mgraph.generators.copy_model import CopyModel
from mgraph.io.dataset import EdgeDataset
from mgraph.io.graph_reader import ReadOptions

READING = ("src", "dst", "weight", "drop_infinite")


class PartitionedGraph:
    """A graph whose arcs are spread over the workers; ``open_partitioned`` makes it.

    Attributes
    ----------
    n, num_arcs : int
        Vertices and arcs of the whole graph; an edge that is undirected is two arcs, and loops are
        left out.
    directed : bool
        Whether arcs may lack their mirrors.
    ranks : tuple of RankFacts
        The share of each worker: first vertex, vertices, arcs, ghosts, bytes, seconds.
    """

    def __init__(self, ranks: Ranks, plan: BuildPlan) -> None:
        """Name the graph; ``open_partitioned`` builds it."""
        self.n, self.directed = plan.n, plan.directed
        self._ranks, self._plan = ranks, plan
        self._lock = threading.Lock()
        self.is_open = True
        self.released: set[str] = set()  # names of results
        self._facts: tuple[RankFacts, ...] = ()

    @property
    def ranks(self) -> tuple[RankFacts, ...]:
        """The share of each worker."""
        return self._facts

    @property
    def num_arcs(self) -> int:
        """Arcs of the whole graph."""
        return self._facts[0].num_arcs

    @property
    def backend(self) -> str:
        """Where the workers hold the graph and compute."""
        return self._plan.backend

    @property
    def has_weights(self) -> bool:
        """Whether arcs have weights."""
        return len(self._plan.dtypes) > 2

    @property
    def length_dtype(self) -> np.dtype:
        """The type of distances."""
        from mgraph.shortest_paths.problem import length_dtype_of

        return length_dtype_of(self._weight_facts())

    def _weight_facts(self) -> Any:
        from mgraph.shortest_paths.problem import WeightFacts

        dtype = self._plan.dtypes[2] if self.has_weights else None
        facts = self._facts[0]
        return WeightFacts(self.n, dtype, facts.min_weight, facts.max_weight)

    def check_vertices(self, name: str, vertices: Any) -> np.ndarray:
        """Return one or several vertices as an array; UsageError unless all are. name: theirs."""
        from mgraph.core.arrays import checked_vertices

        return checked_vertices(name, vertices, self.n)

    def __repr__(self) -> str:
        """Return the numbers of vertices, arcs and workers."""
        size = f"n={self.n}, num_arcs={self.num_arcs}, workers={self._ranks.size}"
        return f"PartitionedGraph({size}, {self.backend})"

    def _repr_html_(self) -> str:
        """Return the graph and the workers' shares as a table, for notebooks."""
        from mgraph.core.html import html_table

        facts = {
            "vertices": self.n, "arcs": self.num_arcs, "directed": self.directed,
            "weights": self.has_weights, "memory": self.backend,
        }  # fmt: skip
        shown = "first", "owned", "arcs", "ghosts", "bytes"
        columns = {name: [getattr(rank, name) for rank in self.ranks] for name in shown}
        return html_table("PartitionedGraph", facts, columns)

    def sssp(
        self,
        source: Any,
        *,
        targets: Any = None,
        stop_at: str = "last",
        cutoff: float | None = None,
        delta: float | None = None,
        predecessors: bool = False,
        progress: TextIO | None = None,
    ) -> PartitionedPaths:
        """Shortest paths from one source, or from several at once.

        Parameters
        ----------
        source : int or array_like of int
            Vertices at distance 0.
        targets, stop_at, cutoff
            As for ``mgraph.sssp``.
        delta : float, optional
            The length of a step of distances; by default it adapts.
        predecessors : bool, default False
            Also find each vertex's predecessor.
        progress : TextIO, optional
            The stream for a progress line.

        Returns
        -------
        PartitionedPaths
        """
        from mgraph.shortest_paths.problem import check_delta, check_search

        check_delta(delta)
        request = check_search(
            self._weight_facts(), source, targets=targets, stop_at=stop_at, cutoff=cutoff,
        )  # fmt: skip
        plan = SearchPlan(
            f"paths-{time.time_ns()}",
            tuple(np.unique(request.sources).tolist()),
            tuple(request.targets.tolist()),
            request.stop_at_first,
            request.cutoff,
            request.dtype,
            delta,
            predecessors,
        )
        found = self.run(search_rank, "sssp", progress=progress, plan=plan)
        return PartitionedPaths(
            self,
            plan.name,
            plan.sources,
            sum(facts.reached for facts in found),
            max(facts.max_distance for facts in found),
            found[0].rounds,
            max(facts.seconds for facts in found),
            predecessors,
        )

    def connected_components(self, *, progress: TextIO | None = None) -> PartitionedComponents:
        """The connected components; of a directed graph the weakly connected ones.

        Parameters
        ----------
        progress : TextIO, optional
            The stream for a progress line.

        Returns
        -------
        PartitionedComponents
        """
        name = f"components-{time.time_ns()}"
        found = self.run(label_rank, "components", progress=progress, name=name)
        # Of equal ones that of the first rank, whose vertices are smaller.
        largest = max(found, key=lambda facts: facts.largest_size)
        return PartitionedComponents(
            self,
            name,
            sum(facts.num_components for facts in found),
            largest.largest,
            largest.largest_size,
            max(facts.seconds for facts in found),
        )

    def minimum_spanning_forest(self, *, progress: TextIO | None = None) -> PartitionedForest:
        """The minimum spanning forest, the same edges as ``mgraph.minimum_spanning_forest`` finds.

        Parameters
        ----------
        progress : TextIO, optional
            The stream for a progress line.

        Returns
        -------
        PartitionedForest

        Raises
        ------
        UsageError
            If the graph is directed, or a weight is infinite.

        Notes
        -----
        A worker needs memory for its edges beside its arcs: up to 40 bytes each with weights of 32
        bits, and 28 per vertex of the whole graph. ``mgraph.spanning_forest_dataset`` writes the
        forest of a dataset, and needs no partitioned graph.
        """
        from mgraph.core.exact_sum import rounded

        if self.directed:
            raise UsageError(
                "a spanning forest needs an undirected graph, and this one is directed; open it "
                "with `symmetrise=True`"
            )
        name = f"forest-{time.time_ns()}"
        found = self.run(span_graph_rank, "msf", progress=progress, name=name)
        num_edges = sum(facts.num_edges for facts in found)
        return PartitionedForest(
            self,
            name,
            num_edges,
            self.n - num_edges,
            rounded(sum(facts.total_weight for facts in found)),
            max(facts.seconds for facts in found),
        )

    def _build(self, shares: Sequence[Share], progress: Any) -> None:
        sizes = list(map(self._plan.edges_in, shares))
        self._facts = tuple(
            self._ranks.run(
                build_rank, shares, verb="partition", sizes=sizes, progress=progress,
                plan=self._plan,
            )
        )  # fmt: skip

    def run(self, program: Any, verb: str, progress: Any = None, **options: Any) -> list[Any]:
        """Return ``program(exchange, memory, None, **options)`` of all ranks, which begin at once.

        memory: what the rank keeps, its share of the graph under ``partitioned_tasks.GRAPH``.
        Raises UsageError if the graph is closed.
        """
        if not self.is_open:
            raise UsageError(
                "the workers hold the partitioned graph no longer: its `with` block has ended"
            )
        with self._lock:
            arcs = [facts.arcs for facts in self._facts]
            return self._ranks.run(
                program, [None] * self._ranks.size, verb=verb, sizes=arcs, unit="arcs",
                progress=progress, **options,
            )  # fmt: skip


@contextlib.contextmanager
def open_partitioned(
    location: str | os.PathLike[str] | CopyModel,
    *,
    cluster: ClusterLike = None,
    backend: Backend = "auto",
    symmetrise: bool = False,
    reading: Mapping[str, Any] | None = None,
    progress: TextIO | None = None,
) -> Iterator[PartitionedGraph]:
    """Open a dataset as a graph that is spread over the memory of all workers of a cluster.

    Parameters
    ----------
    location : path, ``s3://`` address or CopyModel
        A folder of Parquet files with columns ``src``, ``dst`` and, for weights, ``weight``, or one
        file, which every worker can read; or a model, whose edges the workers make.
    cluster : Cluster, ClusterSpec, or a client or cluster of Dask, optional
        By default what ``mgraph.connect()`` finds.
    backend : {"auto", "cpu", "gpu"}, default "auto"
        Where the workers hold the graph; ``auto`` is a GPU if every worker has one.
    symmetrise : bool, default False
        Add the reverse of every arc to a directed graph.
    reading : mapping, optional
        Any of the arguments src, dst, weight and drop_infinite of ``mgraph.read_graph``.
    progress : TextIO, optional
        The stream for a progress line, such as ``sys.stderr``.

    Yields
    ------
    PartitionedGraph
        The graph; the workers let go of it at the end of the block.

    Raises
    ------
    UsageError, DatasetError, ClusterError

    Notes
    -----
    Each worker reads its share of the files once; of a dataset that ``cuppa_hash`` or ``copy_hash``
    generated no file is read, since the workers make the same edges. Memory of a worker at rest: 4
    bytes and the weight per arc of its vertices, 8 bytes per vertex, and 4 for each vertex of
    another worker that its arcs lead to; while the graph is built, the edges that it has read.

    Examples
    --------
    >>> made = mgraph.generate("graph", mgraph.CopyModel(1000, 2))
    >>> with mgraph.open_partitioned("graph", cluster=mgraph.ClusterSpec(workers=2)) as graph:
    ...     paths = graph.sssp(0)
    ...     print(graph.num_arcs, paths.reached)
    3994 1000
    """
    if isinstance(location, CopyModel):
        check_model(location, reading, symmetrise)
        with open_cluster(cluster, backend=backend) as opened:
            plan = plan_model(location, _device(opened))
            with _built(opened, plan, None, progress) as graph:
                yield graph
        return
    dataset, options = open_streamed(location, reading, symmetrise, READING, "partitioned graph")
    directed = dataset.manifest.directed and not symmetrise
    with (
        open_cluster(cluster, backend=backend) as opened,
        partitioned(opened, dataset, options, directed=directed, progress=progress) as graph,
    ):
        yield graph


def partitioned(
    cluster: Cluster,
    dataset: EdgeDataset,
    options: ReadOptions,
    *,
    directed: bool,
    progress: TextIO | None,
    with_weights: bool = True,
) -> AbstractContextManager[PartitionedGraph]:
    """Hold the graph of a dataset over the workers of an open cluster for a block.

    options: how the dataset is read; directed: whether arcs may lack their mirrors.
    """
    plan = plan_dataset(
        dataset, options.drop_infinite, _device(cluster), directed=directed,
        with_weights=with_weights,
    )  # fmt: skip
    return _built(cluster, plan, dataset, progress)


@contextlib.contextmanager
def _built(
    cluster: Cluster, plan: BuildPlan, dataset: EdgeDataset | None, progress: TextIO | None
) -> Iterator[PartitionedGraph]:
    with ranks_of(cluster) as ranks:
        graph = PartitionedGraph(ranks, plan)
        graph._build(divide(plan, dataset, ranks.size), progress)
        try:
            yield graph
        finally:
            graph.is_open = False


def _device(cluster: Cluster) -> Device:
    return "gpu" if cluster.backend == "gpu" else "cpu"
