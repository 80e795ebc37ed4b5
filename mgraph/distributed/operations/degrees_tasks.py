"""The tasks of ``mgraph degrees``: count a group of files, add up the counts, summarize them."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph import timings
from mgraph.core import cancellation
from mgraph.core.memory import memory_guard
from mgraph.io.dataset import Part, read_row_groups

if TYPE_CHECKING:
    from mgraph.core.degrees_cpu import EndpointCounts

_REMEDY = "use fewer `workers`, or a machine with more memory"


def count_group(job: tuple[range, list[Part]]) -> "EndpointCounts":
    """Count how often each vertex of a slice is an endpoint in a group of files."""
    from mgraph.core.degrees_cpu import EndpointCounter
    from mgraph.distributed.monitoring.counters import count_edges

    vertices, parts = job
    with memory_guard(f"counters of {len(vertices):,} vertices", _REMEDY):
        counter = EndpointCounter(vertices)
    for part in parts:
        for block in part.blocks():
            with timings.step(timings.COMPUTING):
                counter.add(block.dst)
                if part.record.first < vertices.stop:
                    counter.add(block.src)
            count_edges(block.src.size)
    return counter.counts()


def count_group_on_gpu(job: tuple[range, list[Part]]) -> "EndpointCounts":
    """Do the same on the worker's GPU, while all of its threads read."""
    from mgraph.core.degrees_cpu import split_counts

    return split_counts(_count_on_gpu(job).counts.get())


def summarize_on_gpu(job: tuple[range, list[Part]]) -> tuple[np.ndarray, np.ndarray]:
    """Return the degrees of a slice in all files, and how often each occurs."""
    return _count_on_gpu(job).histogram()


def _count_on_gpu(job: tuple[range, list[Part]]) -> Any:
    from distributed import get_worker

    from mgraph.core.degrees_gpu import DegreeCounter
    from mgraph.distributed.monitoring.counters import count_edges, for_this_task

    vertices, parts = job
    with memory_guard(f"counters of {len(vertices):,} vertices", _REMEDY):
        counter = DegreeCounter(vertices)

    def count(job: tuple[Part, int]) -> None:
        part, group = job
        for block in part.blocks(group):
            is_within = part.record.first < vertices.stop
            counter.add(block.dst, *([block.src] if is_within else []))
            count_edges(block.src.size)

    threads = get_worker().state.nthreads
    all_groups = read_row_groups(parts, threads)
    jobs = [
        (part, group)
        for part, groups in zip(parts, all_groups, strict=True)
        for group in range(len(groups.rows))
    ]
    cancellation.map_in_threads(for_this_task(count), jobs, threads)
    return counter


def as_it_is(histogram: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Return the histogram of a slice that one task counted."""
    return histogram


def add_slices(one: "EndpointCounts", other: "EndpointCounts") -> "EndpointCounts":
    """Add up a slice's counts in two groups of files."""
    from mgraph.core.degrees_cpu import add_counts

    with (
        memory_guard(f"counters of {one.low.size:,} vertices", _REMEDY),
        timings.step(timings.COMPUTING),
    ):
        return add_counts(one, other)


def summarize_slice(counts: "EndpointCounts") -> tuple[np.ndarray, np.ndarray]:
    """Return the degrees of a slice, and how often each occurs."""
    from mgraph.core.degrees_cpu import histogram

    with (
        memory_guard(f"the degrees of {counts.low.size:,} vertices", _REMEDY),
        timings.step(timings.COMPUTING),
    ):
        return histogram(counts)


def count_ends(job: list[Part], n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the vertices below n that have edges in a group of files, and their counts."""
    from mgraph.distributed.monitoring.counters import count_edges

    counts = np.empty(0, np.int64), np.empty(0, np.int64)
    with memory_guard("the vertices that have edges", _REMEDY):
        for part in job:
            for block in part.blocks():
                with timings.step(timings.COMPUTING):
                    ends = np.concatenate([block.src, block.dst])
                    ends = ends[(ends >= 0) & (ends < n)].astype(np.int64, copy=False)
                    counts = merge_histograms([counts, np.unique(ends, return_counts=True)])
                count_edges(block.src.size)
    return counts


def merge_counts(*counted: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Add up the counts of groups of files."""
    with memory_guard("the vertices that have edges", _REMEDY):
        return merge_histograms(counted)


def summarize_counts(
    counted: tuple[np.ndarray, np.ndarray], n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the degrees of n vertices, given the counts of those that have edges."""
    vertices, ends = counted
    isolated = np.zeros(1, np.int64), np.array([n - vertices.size])
    with_edges = np.unique(ends, return_counts=True)
    return merge_histograms([isolated, with_edges] if n > vertices.size else [with_edges])


def merge_histograms(
    histograms: Iterable[tuple[np.ndarray, np.ndarray]],
) -> tuple[np.ndarray, np.ndarray]:
    """Add up histograms; return the distinct values, ascending, and their total counts."""
    values, counts = (np.concatenate(column) for column in zip(*histograms, strict=True))
    distinct, inverse = np.unique(values, return_inverse=True)
    total = np.zeros(len(distinct), np.int64)
    np.add.at(total, inverse, counts)
    return distinct, total
