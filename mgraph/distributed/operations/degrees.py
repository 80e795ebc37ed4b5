"""The degree distribution of a dataset, over a cluster.

Data flow: the vertices are cut into slices whose counters fit a worker's memory, and the parts into
groups, one per thread. A task counts one slice's endpoints in one group of files; the counters of a
slice are added up in pairs on the workers, and only their histogram comes back. A worker with a GPU
counts there, while all of its threads read. Cost: every file is read once per slice (not at all if
its ``src`` lies below the slice), and a few bytes per vertex and thread, or 4 per vertex on a GPU.

If there are many more vertices than edges (three edges with ids near 2^35, say), a task sorts the
endpoints of its files instead, and the workers merge the vertices that have edges: 64 bytes per
edge and thread, and every file is read once.
"""

import functools
import itertools
import math
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TextIO

import numpy as np

from mgraph.core.choices import Backend
from mgraph.core.html import Tabular
from mgraph.core.power_law import PowerLaw, fit, import_libraries
from mgraph.distributed.clusters.connect import Cluster, ClusterLike
from mgraph.distributed.operations.degrees_tasks import (
    add_slices,
    as_it_is,
    count_ends,
    count_group,
    count_group_on_gpu,
    merge_counts,
    merge_histograms,
    summarize_counts,
    summarize_on_gpu,
    summarize_slice,
)
from mgraph.distributed.operations.operation import Operation, Run, Work
from mgraph.distributed.operations.tasks import fetch_result, follow_parts, spans, submit_parts
from mgraph.distributed.operations.verify import read_model
from mgraph.errors import DatasetError
from mgraph.io.dataset import EdgeDataset, Part
from mgraph.io.figure import FigureFile, drawing, ink

COUNTER_SHARE = 8  # a counter array takes at most one eighth of a thread's memory
_BYTES_PER_EDGE = 64  # while the vertices that have edges are merged


@dataclass(frozen=True, repr=False)
class Degrees(Tabular):
    """A degree distribution: ``count[i]`` vertices have degree ``degree[i]``.

    Attributes
    ----------
    location : str
        The dataset's folder.
    n, num_edges : int
        Vertices and edges.
    degree, count : numpy.ndarray, int64
        The degrees that occur, ascending, and how many vertices have each.
    power_law : PowerLaw or None
        The fit to the tail: ``exponent``, ``standard_error``, ``k_min``, ``tail`` (vertices in it).
    predicted : float or None
        The exponent to which the model of a generated dataset tends as n grows; infinite if that is
        no power law.
    """

    location: str
    n: int
    num_edges: int
    degree: np.ndarray
    count: np.ndarray
    power_law: PowerLaw | None
    predicted: float | None = None

    def __repr__(self) -> str:
        """Return the least and the greatest degree, and the exponent of the tail."""
        span = f", degrees {self.degree[0]:,} to {self.degree[-1]:,}" if self.n else ""
        law = self.power_law
        tail = f", exponent {law.exponent:.3f} ± {law.standard_error:.3f}" if law else ""
        return f"Degrees({self.n:,} vertices, {self.num_edges:,} edges{span}{tail})"

    def _columns(self) -> dict[str, np.ndarray]:
        return {"degree": self.degree, "vertices": self.count}

    def to_json(self) -> dict[str, Any]:
        """Return the distribution as JSON; ``power_law`` is null if no tail can be fitted."""
        return {
            "n": self.n,
            "num_edges": self.num_edges,
            "min": int(self.degree[0]) if self.n else None,
            "max": int(self.degree[-1]) if self.n else None,
            "mean": 2 * self.num_edges / self.n if self.n else None,
            "power_law": self.power_law._asdict() if self.power_law else None,
            "predicted_exponent": None if self.predicted == math.inf else self.predicted,
            "degree": self.degree.tolist(),
            "count": self.count.tolist(),
        }

    def plot(self, file: FigureFile | None = None, *, ax: Any = None, title: str = "") -> Any:
        """Draw the distribution on logarithmic axes, with the fitted tail.

        Parameters
        ----------
        file : str, path-like, or a list of these, optional
            Also write the figure there, as ``.png``, ``.svg`` or ``.pdf``.
        ax : matplotlib.axes.Axes, optional
            The axes to draw on, instead of new ones.
        title : str, optional
            By default how many vertices and edges there are.

        Returns
        -------
        matplotlib.axes.Axes
            The axes, on which a program may go on.

        Raises
        ------
        UsageError
            If matplotlib is not installed, or does not know the file's format.
        """
        from scipy.special import zeta

        shown = self.degree > 0
        degree, count = self.degree[shown], self.count[shown]
        law = self.power_law
        with drawing(file, ax) as axes:
            axes.set(xscale="log", yscale="log")
            at_least = np.cumsum(count[::-1])[::-1] / self.n
            dots = {
                "color": "C0",
                "alpha": 0.45,
                "label": "share with degree k",
                "rasterized": True,
            }
            axes.plot(degree, count / self.n, ".", ms=4, **dots)
            label = "share with degree k or more"
            axes.plot(degree, at_least, drawstyle="steps-post", color="C0", label=label)
            if law:
                k = np.geomspace(law.k_min, degree[-1], 200)
                tail = law.tail / self.n * zeta(law.exponent, k) / zeta(law.exponent, law.k_min)
                error = f"{law.exponent:.3f} ± {law.standard_error:.3f}"
                label = f"power law, γ = {error}, k ≥ {law.k_min:,}"
                axes.plot(k, tail, "--", color="C1", label=label)
                if self.predicted and self.predicted < math.inf:
                    model = tail[0] * (k / k[0]) ** (1 - self.predicted)
                    label = f"the model's exponent, γ = {self.predicted:.3g}"
                    axes.plot(k, model, ":", color=ink(), label=label)
            axes.set_xlabel("degree k")
            axes.set_ylabel("share of the vertices")
            axes.set_title(title or f"{self.n:,} vertices, {self.num_edges:,} edges")
            axes.legend()
        return axes


def _counter_bytes(cluster: Cluster) -> int:
    """Return the bytes that a task's counters may take."""
    free = min(worker.host_bytes // worker.threads for worker in cluster.workers.values())
    return free // COUNTER_SHARE


def has_few_edges(dataset: EdgeDataset, cluster: Cluster) -> bool:
    """Return whether vertices with edges take less memory than a counter for every vertex."""
    return _BYTES_PER_EDGE * dataset.num_edges <= min(_counter_bytes(cluster), dataset.n)


def plan_jobs(
    dataset: EdgeDataset, cluster: Cluster, on_gpus: bool = False
) -> list[list[tuple[range, list[Part]]]]:
    """Return the jobs of each slice of the vertices: the slice, and a group of files to count.

    A job per core, or one per GPU, whose worker reads with all of its threads.
    """
    length = _counter_bytes(cluster)  # of a byte each
    if on_gpus:
        free_bytes = min(worker.device_bytes for worker in cluster.workers.values())
        length = free_bytes // COUNTER_SHARE // np.dtype(np.uint32).itemsize
    length = max(1, length)
    groups = min(len(cluster.workers) if on_gpus else cluster.threads, len(dataset))
    slices = []
    for start in range(0, dataset.n, length):
        vertices = range(start, min(start + length, dataset.n))
        parts = (dataset[group::groups] for group in range(groups))
        slices.append([(vertices, [p for p in group if p.record.stop > start]) for group in parts])
    return slices


def _submit_histograms(
    cluster: Cluster,
    layers: dict[int, list[Any]],
    add: Callable[..., Any],
    summarize: Callable[..., Any],
) -> dict[int, Any]:
    """Submit the tasks of each slice's histogram; return the futures by part number.

    layers: the futures of each slice's counters, which are added up in pairs. These tasks have
    priority, since counters wait for them in memory.
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


class DegreesOperation(Operation):
    """``mgraph degrees``: counts per slice and group of files, added up in pairs on the workers."""

    verb = "degrees"
    slices: list[range]
    add: Callable[..., Any]
    summarize: Callable[..., Any]

    def __init__(self, location: str | os.PathLike[str], backend: Backend) -> None:
        """Read the manifest. Raises DatasetError."""
        super().__init__(backend=backend, threaded=True)  # counts are added up where they are
        self.dataset = EdgeDataset(location)
        self.edges = self.dataset.num_edges

    @property
    def subject(self) -> str:
        """The dataset."""
        return self.dataset.location

    def work(self, run: Run) -> Work:
        """Return one task per group of files and, unless edges are few, per slice."""
        dataset = self.dataset
        threading.Thread(target=import_libraries, daemon=True).start()  # while the workers count
        if has_few_edges(dataset, run.cluster):
            groups = max(1, min(run.cluster.threads, len(dataset)))
            jobs = [dataset[number::groups] for number in range(groups)]
            self.slices = [range(groups)]
            summarize = functools.partial(summarize_counts, n=dataset.n)
            self.add, self.summarize = merge_counts, summarize
            return Work(count_ends, jobs, [sum(map(len, job)) for job in jobs], {"n": dataset.n})
        on_gpus = run.cluster.backend == "gpu" and dataset.n < 1 << 31
        slices = plan_jobs(dataset, run.cluster, on_gpus)
        jobs = [job for slice_jobs in slices for job in slice_jobs]
        bounds = np.cumsum([0, *map(len, slices)]).tolist()
        self.slices = [range(*pair) for pair in itertools.pairwise(bounds)]
        self.add, self.summarize = add_slices, summarize_slice
        count: Callable[..., Any] = count_group
        if on_gpus and all(len(slice_jobs) == 1 for slice_jobs in slices):
            count, self.summarize = summarize_on_gpu, as_it_is
        elif on_gpus:
            count = count_group_on_gpu
        sizes = [sum(map(len, parts)) for _, parts in jobs]
        return Work(count, jobs, sizes, {})

    def fan_out(self, run: Run, work: Work) -> list[Any]:
        """Compute each slice's histogram; counters stay on the workers until they are added up."""
        jobs, verb = dict(enumerate(work.arguments)), self.verb
        futures = submit_parts(run.cluster, work.task, jobs, verb=verb, **work.shared)
        layers = {
            len(jobs) + i: [futures[number] for number in numbers]
            for i, numbers in enumerate(self.slices)
        }
        with spans(verb):
            futures |= _submit_histograms(run.cluster, layers, self.add, self.summarize)
        sizes = dict(enumerate(work.sizes)) | dict.fromkeys(layers, 0)
        summaries = set(layers)
        del layers  # counters are dropped when they are added up
        following = follow_parts(run.cluster, futures, sizes, verb=verb, progress=run.progress)
        return [fetch_result(done, verb) for number, done in following if number in summaries]


def degrees(
    location: str | os.PathLike[str],
    *,
    cluster: ClusterLike = None,
    backend: Backend = "auto",
    progress: TextIO | None = None,
) -> Degrees:
    """The degree distribution of a dataset's graph; each edge counts at both its ends.

    Parameters
    ----------
    location : path or ``s3://`` address
        The dataset's folder.
    cluster, backend, progress
        As for ``mgraph.generate``.

    Returns
    -------
    Degrees

    Raises
    ------
    DatasetError
        If there is no dataset, a part is missing or damaged, or a vertex is not below n.

    Notes
    -----
    Every file is read once per slice of the vertices; counters take a byte per vertex and thread.

    Examples
    --------
    >>> run = mgraph.generate("graph", mgraph.CopyModel(1000, 2))
    >>> found = mgraph.degrees("graph")
    >>> int(found.count.sum()), int(found.degree.min())
    (1000, 2)
    """
    operation = DegreesOperation(location, backend)
    outcome, dataset = operation.run(cluster, progress), operation.dataset
    degree, count = merge_histograms(outcome.results)
    ends = int((degree * count).sum())
    if ends != 2 * dataset.num_edges:
        raise DatasetError(
            f"the manifest of {dataset.location} declares {dataset.num_edges:,} edges on "
            f"{dataset.n:,} vertices, so {2 * dataset.num_edges:,} endpoints, and its parts hold "
            f"{ends:,}; run mgraph verify to find the damaged parts"
        )
    model = read_model(dataset)
    return Degrees(
        dataset.location,
        dataset.n,
        dataset.num_edges,
        degree,
        count,
        fit(degree, count),
        model[0].exponent if model else None,
    )
