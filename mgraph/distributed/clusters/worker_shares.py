"""How this machine's cores and memory are divided among workers that are started on it.

Dask divides them, too, but it sees fewer limits: only the CPU quota of the innermost cgroup, and
only the memory limit of the outermost one. So workers are told.
"""

from collections.abc import Iterator

from mgraph.core.formatting import pluralize
from mgraph.core.host import available_cores, measure_cores, measure_memory, memory_limit
from mgraph.distributed.protocol.dask_internals import detected_memory_limit

WORKER_BYTES = 256 << 20  # what a worker takes that has loaded all it needs, and little more


def memory_of_each(workers: int) -> int:
    """Bytes for each worker: equal shares of all that this process may use."""
    return max(2, min(memory_limit(), detected_memory_limit()) // workers)  # 1 would mean all of it


def memory_by_threads(workers: int, threads: int) -> int:
    """The same, where few workers leave to others what the other cores stand for, as Dask does."""
    return memory_of_each(-(-max(available_cores(), workers * threads) // threads))


def warnings(workers: int, threads: int = 1) -> Iterator[str]:
    """What there is to say of more workers than this machine has cores or memory for."""
    cores, memory = measure_cores(), measure_memory()
    if workers > 1 and workers * threads > cores.amount:
        each = f" of {threads:,} threads" if threads > 1 else ""
        enough = max(1, cores.amount // threads)
        yield (
            f"warning: {workers:,} workers{each} are more than the "
            f"{pluralize(cores.amount, 'core')} here ({cores.reason}); they take memory "
            f"and time to start, and compute no faster: --workers {enough} is enough"
        )
    share = min(memory_of_each(workers), memory.amount // workers)
    if share < WORKER_BYTES:
        fitting = max(1, memory.amount // WORKER_BYTES)
        fewer = f"use --workers {fitting}" if fitting < workers else "give this machine more memory"
        yield (
            f"warning: {pluralize(workers, 'worker')} with {share >> 20:,} MiB of memory each "
            f"(free: {memory.amount >> 20:,} MiB {memory.reason}) may be too small: one takes "
            f"about 200 MiB before it computes anything; {fewer}"
        )
