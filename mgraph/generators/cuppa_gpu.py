"""cuPPA on a GPU: device memory, and the one launch of ``cuppa.cu``.

Source: "Novel parallel algorithms for fast multi-GPU-based generation of massive scale-free
networks", section 3. The vertices are cut into segments, one after another; a segment's are dealt
to teams of threads in turn, a thread a slot. Phase 1 draws: a direct edge is known, a copy is where
its source has its endpoint already. A vertex with a copy that cannot be read yet waits in its
team's queue, in shared memory; phase 2 finishes the queues. A team is a warp for as many vertices
as it has lanes for, and above 32 slots a block for one.

What differs from the paper. Its endpoints depend on which thread came first; here slot s is
accepted when it differs from the final endpoints of the vertex's lower slots, and drawn again with
the next attempt where not, so the graph is that of ``copy_cpu``, to the bit. Nothing behind a slot
that waits can be accepted before it, so a vertex waits as a whole, as one item, where the paper
queues up to d copies. While phase 1 goes on, a team looks at its queue after each step, and takes
up one of those whose source has come: otherwise they would keep others waiting until the segment's
end. A queue that is full is finished there and then: no edge is lost. Above 32 slots a block works
on one vertex, which often waits for several sources; looking again and again beats putting it by,
so it is queued after ``PATIENCE`` looks only. Blocks wait for each other, which is safe since all
are resident (a cooperative launch, the paper's section 3.4), and since a team waits only for
vertices below all that it has yet to begin.

Segments. ``fixed``, as the paper has it: as many vertices as the queues have places for d copies
each. ``dynamic``: the first is such; as long as no queue was half full they grow, twofold at least,
and more where the queues had room for more, until one takes some tenths of a second: between two
the device looks whether the graph is still wanted.

Cost of an edge: one draw, 1 - p random reads of a 32-byte sector, 4 or 8 bytes written twice (once
as unknown); a barrier of the whole device a segment. Device bytes: the endpoints alone.
Deterministic.
"""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mgraph.core import cancellation_gpu
from mgraph.core.graph import MAX_N
from mgraph.core.numbers import check_integer
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, launch_resident, resident_blocks
from mgraph.errors import OutOfMemoryError, UsageError
from mgraph.generators.copy_model_gpu import (
    WARP_SLOTS,
    hash_table_size,
    model_defines,
    model_values,
)

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

QUEUE = 32  # vertices that may wait in a team's queue
ITEM_BYTES = 16
PATIENCE = 10_000  # looks at what a vertex of many slots waits for before it is queued
SHORT_THREADS, MOST_THREADS = 256, 1024  # a block
_LOGGED = 5  # words of a round in the kernel's log
_MOST_EDGES = 1 << 29  # of a segment that has grown


def defines(d: int, dtype: Any, block_threads: int, start: str = "paper") -> dict[str, str]:
    """The kernels' macros."""
    return model_defines(d, dtype, start) | {
        "MGRAPH_QUEUE": str(QUEUE),
        "MGRAPH_PATIENCE": str(PATIENCE),
        "MGRAPH_THREADS": str(block_threads),
    }


KERNELS = Source(
    __package__,
    "cuppa.cu",
    check=tuple(
        tuple(defines(d, dtype, threads, start).items())
        for d, threads, start in (
            (1, 256, "paper"),
            (4, 256, "paper"),
            (7, 256, "paper"),
            (32, 1024, "paper"),
            (33, 64, "paper"),
            (4096, 1024, "paper"),
            (4, 256, "ba"),
            (33, 64, "ba"),
        )
        for dtype in ("int32", "int64")
    ),
)


class Launch(NamedTuple):
    """How a graph is made: threads a block, blocks, teams in all, vertices of the first segment."""

    block_threads: int
    blocks: int
    teams: int
    segment: int


class QueueRound(NamedTuple):
    """A segment, vertices ``first`` to ``stop - 1``, and what waited in it.

    longest: vertices in one queue, at most; waited: in all queues; overflows: how often a queue had
    no room for what its team would work on next. They depend on the order of events. seconds: not
    known of the first round, and 0 there.
    """

    first: int
    stop: int
    longest: int
    waited: int
    overflows: int
    seconds: float


def plan(model: "CopyModel", segments: str | int = "dynamic", block_threads: int = 0) -> Launch:
    """What ``fill`` will launch on the current device; its options are ``fill``'s."""
    block_threads = _threads(model, block_threads)
    kernel = KERNELS.kernel(
        "cuppa_generate", **defines(model.d, model.dtype, block_threads, model.start)
    )
    shared = _shared_bytes(model, block_threads)
    what = f"cuppa with d = {model.d}"
    blocks = resident_blocks(kernel, block_threads, shared, what, "use method cuppa_hash")
    teams = blocks * (block_threads // 32 if model.d <= WARP_SLOTS else 1)
    segment = max(1, teams * QUEUE // model.d)
    if segments not in ("dynamic", "fixed"):
        segment = check_integer("segments, if not dynamic or fixed,", segments, 1, MAX_N)
    return Launch(block_threads, blocks, teams, segment)


def fill(
    model: "CopyModel",
    stop: int,
    dst: Any,
    *,
    segments: str | int = "dynamic",
    block_threads: int = 0,
    told: list[QueueRound] | None = None,
) -> None:
    """Write the endpoints of vertex d to ``stop - 1``, on the current stream.

    dst: CuPy array of ``model.dtype`` and shape (edges of vertices below ``stop``,), the clique's
    first, which are not written. segments: ``dynamic``, ``fixed``, or how many vertices each has.
    block_threads: a multiple of 32, by default 256 and, above d = 32, a thread a slot. told: a list
    that the rounds are added to, which waits for them; without it nothing is waited for.
    Device memory beside ``dst``: with ``told`` 40 bytes for each segment of the first one's size,
    OutOfMemoryError where there is no room for it.
    """
    import cupy

    launch = plan(model, segments, block_threads)
    first = model.d
    most_rounds = -(-(stop - first) // launch.segment)
    logged = 3 if told is None else most_rounds + 2
    if 8 * _LOGGED * logged > free_bytes():
        raise OutOfMemoryError(
            f"this GPU has no room to tell of up to {most_rounds:,} segments; make them larger"
        )
    log = cupy.zeros((logged, _LOGGED), np.uint64)
    ends = dst[model.edges_before(first) :]
    stream = cupy.cuda.get_current_stream()
    cupy.cuda.runtime.memsetAsync(ends.data.ptr, 0xFF, ends.nbytes, stream.ptr)  # unknown
    arguments = {
        "cuppa_launch": {"model": model_values(model), "n": stop, "ends": ends},
        "segment_plan": {
            "size": launch.segment,
            "dynamic": segments == "dynamic",
            "most": _MOST_EDGES // model.d,
        },
        "launch_state": {
            "log": log,
            "logged": len(log),
            "arrived": cupy.zeros(1, np.uint64),
            "stop": cancellation_gpu.cancel_flag(),
            "stopped_at": cupy.full(1, np.iinfo(np.uint64).max, np.uint64),
        },
    }
    macros = defines(model.d, model.dtype, launch.block_threads, model.start)
    packed = [KERNELS.struct(name, None, **macros).pack(arguments[name]) for name in arguments]
    kernel = KERNELS.kernel("cuppa_generate", **macros)
    shared = _shared_bytes(model, launch.block_threads)
    launch_resident(kernel, launch.blocks, launch.block_threads, packed, shared)
    if told is not None:
        told += _rounds(log.get(), first)


def fill_rows(
    model: "CopyModel", part: range, ends: Any, src: Any, dst: Any, checksum: Any
) -> None:
    """Write a vertex range's edges, on the current stream.

    ends: all endpoints from vertex 0 on. src, dst: CuPy arrays of shape (edges of the range,); dst
    may be the same rows of ``ends``. checksum: uint64 of shape (1,), to which hashes are added.
    """
    first, count = model.edges_before(part.start), model.edges_in(part)
    KERNELS.launch(
        "cuppa_list",
        (np.int64(first), np.int64(count), ends[first:], src, dst, checksum),
        **defines(model.d, model.dtype, _threads(model, 0), model.start),
    )


def _threads(model: "CopyModel", asked: int) -> int:
    if asked % 32 or not 0 <= asked <= MOST_THREADS:
        raise UsageError(f"threads a block must be a multiple of 32 up to 1024, and are {asked}")
    if model.d <= WARP_SLOTS:
        return asked or SHORT_THREADS
    return min(asked or MOST_THREADS, -(-model.d // 32) * 32)


def _shared_bytes(model: "CopyModel", block_threads: int) -> int:
    """Each team's queue; above d = 32 also its hash table, and 20 bytes and an id a thread."""
    if model.d <= WARP_SLOTS:
        return block_threads // 32 * QUEUE * ITEM_BYTES
    own = 8 * hash_table_size(model.d) + (20 + model.dtype.itemsize) * block_threads + 64
    return QUEUE * ITEM_BYTES + own


def _rounds(log: np.ndarray, first: int) -> list[QueueRound]:
    rounds: list[QueueRound] = []
    before = 0
    for stop, nanoseconds, longest, waited, overflows in log[log[:, 0] > 0].tolist():
        seconds = (nanoseconds - before) / 1e9 if before else 0.0
        rounds.append(QueueRound(first, stop, longest, waited, overflows, seconds))
        first, before = stop, nanoseconds
    return rounds
