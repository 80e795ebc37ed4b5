"""How the cores and memory of this machine are divided among the workers that are started on it.

Dask divides them as well, but it sees fewer limits: only the CPU quota of the innermost cgroup, and
only the memory limit of the outermost one. So the workers are given their shares explicitly.
"""

from collections.abc import Iterator

from mgraph.core.formatting import pluralize
from mgraph.core.host import available_cores, measure_cores, measure_memory, memory_limit
from mgraph.distributed.protocol.dask_internals import detected_memory_limit

LITTLE_EDGES = 1 << 22
WORKER_BYTES = 256 << 20  # what a worker uses after its imports, and a little more


def memory_per_worker(workers: int) -> int:
    """Return the bytes for each worker: equal shares of all that this process may use."""
    # Dask takes a limit of 1 for all of the memory.
    return max(2, min(memory_limit(), detected_memory_limit()) // workers)


def memory_by_threads(workers: int, threads: int) -> int:
    """Return the bytes for each worker, in proportion to its share of the cores, as Dask does.

    So a few workers leave the memory of the other cores free.
    """
    return memory_per_worker(-(-max(available_cores(), workers * threads) // threads))


def warnings(workers: int, threads: int = 1) -> Iterator[str]:
    """Yield a warning each if there are more workers than cores, or too little memory for them."""
    cores, memory = measure_cores(), measure_memory()
    if workers > 1 and workers * threads > cores.amount:
        each = f" of {threads:,} threads" if threads > 1 else ""
        enough = max(1, cores.amount // threads)
        yield (
            f"warning: {workers:,} workers{each} are more than the "
            f"{pluralize(cores.amount, 'core')} here ({cores.reason}); they take memory "
            f"and time to start, and compute no faster; {pluralize(enough, 'worker')} "
            f"{'is' if enough == 1 else 'are'} enough"
        )
    share = min(memory_per_worker(workers), memory.amount // workers)
    if share < WORKER_BYTES:
        fitting = max(1, memory.amount // WORKER_BYTES)
        remedy = (
            f"use {pluralize(fitting, 'worker')}"
            if fitting < workers
            else "use a machine with more memory"
        )
        yield (
            f"warning: {pluralize(workers, 'worker')} with {share >> 20:,} MiB of memory each "
            f"(free: {memory.amount >> 20:,} MiB {memory.reason}) may be too small: a worker uses "
            f"about 200 MiB before it computes anything; {remedy}"
        )


def is_little(edges: int | None) -> bool:
    """Return whether a graph of so many edges, if that is known, is not worth worker processes.

    They take one to three seconds to start; two cores make, check or count so many edges in less.
    """
    return edges is not None and edges <= LITTLE_EDGES
