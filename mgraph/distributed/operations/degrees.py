"""The degree distribution of a dataset, over a cluster.

Data flow: the vertices are cut into slices whose counters fit a worker's memory; the parts into
groups, one a thread. A task counts one slice's endpoints in one group of files; counters of a
slice are summed pair by pair on the workers, and only their histogram comes back. Cost: every
file is read once a slice (files whose ``src`` lies below a slice not at all), and 4 bytes a vertex
and thread, times a few. Where the vertices are many more than the edges (ids near 2^35 of three
edges, say) a task sorts the ends of its files instead, and what the workers merge are the vertices
that have edges: 64 bytes an edge and thread, and every file is read once.
"""

import functools
import itertools
import math
import os
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from mgraph.core.memory import memory_guard
from mgraph.core.power_law import PowerLaw, fit
from mgraph.distributed.clusters.connect import Cluster, ClusterLike, open_cluster
from mgraph.distributed.operations.tasks import follow_parts, result_of, spans, submit_parts
from mgraph.distributed.operations.verify import model_of
from mgraph.errors import DatasetError
from mgraph.io.dataset import EdgeDataset, Part
from mgraph.io.figure import new_figure, save_figure

COUNTER_SHARE = 8  # a counter array takes at most this part of a thread's memory
_BYTES_AN_EDGE = 64  # of vertices that have edges, while they are merged
_LESS = "use fewer --workers, or a machine with more memory"


@dataclass(frozen=True)
class Degrees:
    """A degree distribution: ``count[i]`` vertices have degree ``degree[i]`` (int64, ascending).

    power_law: the fit to the tail; predicted: the exponent that the model of a generated dataset
    tends to with n, infinite where that is no power law; each None where there is none.
    """

    location: str
    n: int
    num_edges: int
    degree: np.ndarray
    count: np.ndarray
    power_law: PowerLaw | None
    predicted: float | None = None

    def to_json(self) -> dict[str, Any]:
        """For programs; ``power_law`` is null where no tail can be fitted."""
        return {
            "n": self.n,
            "num_edges": self.num_edges,
            "least": int(self.degree[0]) if self.n else None,
            "largest": int(self.degree[-1]) if self.n else None,
            "mean": 2 * self.num_edges / self.n if self.n else None,
            "power_law": self.power_law._asdict() if self.power_law else None,
            "predicted_exponent": None if self.predicted == math.inf else self.predicted,
            "degree": self.degree.tolist(),
            "count": self.count.tolist(),
        }

    def plot(self, file: str | os.PathLike[str]) -> None:
        """Draw the distribution, log by log, with the fitted tail, into a ``.png`` or ``.svg``.

        Raises UsageError where matplotlib is not installed or the file's kind is unknown to it.
        """
        from scipy.special import zeta

        shown = self.degree > 0
        degree, count = self.degree[shown], self.count[shown]
        figure, axes = new_figure()
        axes.set_xscale("log")
        axes.set_yscale("log")
        at_least = np.cumsum(count[::-1])[::-1] / self.n
        axes.plot(degree, count / self.n, ".", ms=4, alpha=0.5, label="share with degree k")
        axes.plot(degree, at_least, drawstyle="steps-post", label="share with degree k or more")
        law = self.power_law
        if law:
            k = np.geomspace(law.k_min, degree[-1], 200)
            tail = law.tail / self.n * zeta(law.exponent, k) / zeta(law.exponent, law.k_min)
            label = f"power law, γ = {law.exponent:.3f} ± {law.standard_error:.3f}, k ≥ {law.k_min}"
            axes.plot(k, tail, "k--", lw=1, label=label)
        axes.set_xlabel("degree k")
        axes.set_ylabel("share of the vertices")
        axes.set_title(f"{self.n:,} vertices, {self.num_edges:,} edges")
        axes.grid(alpha=0.3)
        axes.legend()
        save_figure(figure, file)


def count_group(job: tuple[range, list[Part]], dtype: str) -> np.ndarray:
    """The task: how often each vertex of a slice is an endpoint in a group of files."""
    from mgraph.core.degrees_cpu import count_endpoints
    from mgraph.distributed.monitoring.counters import count_edges

    vertices, parts = job
    with memory_guard(f"counters of {len(vertices):,} vertices", _LESS):
        counts = np.zeros(len(vertices), dtype)
    for part in parts:
        for block in part.blocks():
            count_endpoints(block.dst, vertices.start, counts)
            if part.record.first < vertices.stop:
                count_endpoints(block.src, vertices.start, counts)
            count_edges(block.src.size)
    return counts


def histogram_of(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The task: a slice's degrees and how often each occurs."""
    from mgraph.core.degrees_cpu import histogram

    with memory_guard(f"the degrees of {counts.size:,} vertices", _LESS):
        return histogram(counts)


def count_ends(job: list[Part], n: int) -> tuple[np.ndarray, np.ndarray]:
    """The task: the vertices below n that have edges in a group of files, and how many ends."""
    from mgraph.distributed.monitoring.counters import count_edges

    found = np.empty(0, np.int64), np.empty(0, np.int64)
    with memory_guard("the vertices that have edges", _LESS):
        for part in job:
            for block in part.blocks():
                ends = np.concatenate([block.src, block.dst])
                ends = ends[(ends >= 0) & (ends < n)].astype(np.int64, copy=False)
                found = merged([found, np.unique(ends, return_counts=True)])
                count_edges(block.src.size)
    return found


def merged_ends(*counted: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """The task: the vertices of two groups of files, and their ends."""
    with memory_guard("the vertices that have edges", _LESS):
        return merged(counted)


def histogram_of_ends(
    counted: tuple[np.ndarray, np.ndarray], n: int
) -> tuple[np.ndarray, np.ndarray]:
    """The task: the degrees of n vertices, of which those that have edges are counted."""
    vertices, ends = counted
    isolated = np.zeros(1, np.int64), np.array([n - vertices.size])
    with_edges = np.unique(ends, return_counts=True)
    return merged([isolated, with_edges] if n > vertices.size else [with_edges])


def merged(histograms: Iterable[tuple[np.ndarray, np.ndarray]]) -> tuple[np.ndarray, np.ndarray]:
    """The sum of histograms: distinct values, ascending, and how often each occurs in all."""
    values, counts = (np.concatenate(column) for column in zip(*histograms, strict=True))
    distinct, inverse = np.unique(values, return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, inverse, counts)
    return distinct, total


def _share(cluster: Cluster) -> int:
    """The bytes that a task may take for what it counts."""
    room = min(worker.host_bytes // worker.threads for worker in cluster.workers.values())
    return room // COUNTER_SHARE


def few_edges(dataset: EdgeDataset, cluster: Cluster, dtype: Any) -> bool:
    """Whether the vertices that have edges take less memory than a counter for every vertex."""
    return _BYTES_AN_EDGE * dataset.num_edges <= min(_share(cluster), dataset.n * dtype.itemsize)


def plan_jobs(
    dataset: EdgeDataset, cluster: Cluster, dtype: Any
) -> list[dict[int, tuple[range, list[Part]]]]:
    """For each slice of the vertices, its numbered jobs: the slice and the files to count."""
    length = max(1, _share(cluster) // dtype.itemsize)
    groups = min(cluster.threads, len(dataset))
    slices, number = [], 0
    for start in range(0, dataset.n, length):
        vertices = range(start, min(start + length, dataset.n))
        jobs = {}
        for group in range(groups):
            jobs[number] = vertices, [p for p in dataset[group::groups] if p.record.stop > start]
            number += 1
        slices.append(jobs)
    return slices


def _histograms(
    cluster: Cluster,
    layers: dict[int, list[Any]],
    add: Callable[..., Any],
    summarize: Callable[..., Any],
) -> dict[int, Any]:
    """Futures of each slice's histogram, of those of its counters, which are added up in pairs.

    By the part that it is of the operation. They go before what others have on the cluster, since
    counters wait for them in memory.
    """
    submit = functools.partial(cluster.client.submit, priority=1)
    sums, histograms = itertools.count(), {}
    for part, layer in layers.items():
        operation = layer[0].key[0]
        while len(layer) > 1:
            pairs = zip(layer[::2], layer[1::2], strict=False)
            odd = layer[-1:] if len(layer) % 2 else []
            keys = ((operation, "sum", number) for number in sums)
            layer = [submit(add, *pair, key=next(keys)) for pair in pairs] + odd
        histograms[part] = submit(summarize, layer[0], key=(operation, part))
    return histograms


def degrees(
    location: str | os.PathLike[str],
    *,
    cluster: ClusterLike = None,
    backend: str = "auto",
    progress: TextIO | None = sys.stderr,
) -> Degrees:
    """The degree distribution of a dataset's graph, each edge counted at both its ends.

    cluster, backend: as for ``mgraph.generate``; the counting itself is done on cores.
    Raises DatasetError where there is no dataset, a part is missing or damaged, or an id is not
    below n.
    """
    dataset = EdgeDataset(location)
    dtype = np.dtype(np.uint32 if dataset.n < 1 << 31 else np.int64)
    with open_cluster(cluster, backend=backend) as cluster:
        add: Callable[..., Any] = np.add
        summarize: Callable[..., Any] = histogram_of
        if few_edges(dataset, cluster, dtype):
            add, summarize = merged_ends, functools.partial(histogram_of_ends, n=dataset.n)
            groups = max(1, min(cluster.threads, len(dataset)))
            grouped = {number: dataset[number::groups] for number in range(groups)}
            edges = {number: sum(map(len, parts)) for number, parts in grouped.items()}
            futures = submit_parts(cluster, count_ends, grouped, verb="degrees", n=dataset.n)
            layers = [list(futures.values())]
        else:
            slices = plan_jobs(dataset, cluster, dtype)
            jobs = {number: job for slice_jobs in slices for number, job in slice_jobs.items()}
            edges = {number: sum(map(len, parts)) for number, (_, parts) in jobs.items()}
            futures = submit_parts(cluster, count_group, jobs, verb="degrees", dtype=dtype.str)
            layers = [[futures[number] for number in slice_jobs] for slice_jobs in slices]
        summaries = range(len(edges), len(edges) + len(layers))
        with spans("degrees"):
            by_part = dict(zip(summaries, layers, strict=True))
            futures |= _histograms(cluster, by_part, add, summarize)
            del by_part
        sizes = edges | dict.fromkeys(summaries, 0)
        del layers  # counters go when they are added up
        following = follow_parts(cluster, futures, sizes, verb="degrees", progress=progress)
        found = [result_of(done, "degrees") for number, done in following if number in summaries]
    degree, count = merged(found)
    ends = int((degree * count).sum())
    if ends != 2 * dataset.num_edges:
        raise DatasetError(
            f"The manifest of {dataset.location} declares {dataset.num_edges:,} edges on "
            f"{dataset.n:,} vertices, so {2 * dataset.num_edges:,} endpoints, but its parts hold "
            f"{ends:,}. Run mgraph verify to find the damaged parts."
        )
    made_by = model_of(dataset)
    return Degrees(
        dataset.location,
        dataset.n,
        dataset.num_edges,
        degree,
        count,
        fit(degree, count),
        made_by[0].exponent if made_by else None,
    )
