"""cuPPA on a GPU: device memory, and the one launch of ``cuppa.cu``.

Source: Alam, Perumalla, Sanders, "Novel parallel algorithms for fast multi-GPU-based generation of
massive scale-free networks", section 3. The vertices are cut into consecutive segments; the
vertices of a segment are dealt to teams of threads in turn, one thread per slot. Phase 1 executes
the copy model: a direct edge is final, a copy reads the endpoint of its source if that is known. A
vertex with a copy that cannot be read yet goes to its team's waiting queue, in shared memory; phase
2 resolves the queues. A team is a warp for as many vertices as it has lanes for, and above 32 slots
a block for one vertex.

Departures from the paper. Its edges depend on which thread came first. Here slot s accepts an
endpoint if it differs from the final endpoints of the vertex's lower slots, and draws again with
the next attempt if not, so the graph is that of ``copy_cpu``, bit for bit. No slot behind a waiting
slot can be accepted before it, so a vertex waits as one item, where the paper queues up to d
copies. During phase 1 a team checks its queue after each step and takes up a vertex whose source is
known by now; otherwise such vertices would keep others waiting until the end of the segment. A full
queue is resolved at once, so no edge is lost. Above 32 slots a vertex often waits for several
sources; polling them is faster than queueing the vertex, so it is queued only after ``MAX_POLLS``
polls. Blocks wait for each other, which is safe because all are resident (a cooperative launch; the
paper's section 3.4) and because a team waits only for vertices below all those it has not begun.

Segments. ``fixed``, as in the paper: a block has C places of 8 bytes, 48 KiB by default, so its
share of a segment is C/d vertices. ``dynamic``: the first segment is smaller, as many vertices as
our queues have room for d copies each; while no queue was half full, segments grow at least
twofold, and further if the queues have room, until one takes some tenths of a second: between two
segments the device checks for cancellation. With ``growth``, the paper's f, they begin as the fixed
ones and grow f-fold while no queue had more than its f-th part. A segment's vertices are dealt to
the teams in turn, or with the partition ``consecutive`` in ranges.

Cost per edge: one draw, 1 - p random reads of a 32-byte sector, 4 or 8 bytes written twice (first
as unknown); one grid barrier per segment. Device memory: the endpoints. Deterministic.
"""

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mgraph.core import cancellation_gpu, primitives_gpu
from mgraph.core.graph import MAX_N
from mgraph.core.numbers import check_integer
from mgraph.cuda.declarations import StructType
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, launch_resident, resident_blocks
from mgraph.errors import OutOfMemoryError, UsageError
from mgraph.generators.copy_model_gpu import WARP_SLOTS, model_defines, model_values

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

QUEUE_CAPACITY = 32  # vertices in a team's waiting queue
PLACES = 48 * 1024 // 8  # the paper's C: of a block, in its waiting queue
PARTITIONS = "round_robin", "consecutive"
MAX_POLLS = 10_000  # of the source that a vertex of many slots waits for, before it is queued
WARP_TEAM_THREADS, MAX_THREADS = 256, 1024  # per block
_MAX_SEGMENT_EDGES = 1 << 29  # of a dynamic segment
_MIN_LOG_ROUNDS = 3  # a round is written while the next one's entry is cleared
_UNKNOWN_BYTE = 0xFF  # every byte of `unknown`, -1


def defines(d: int, dtype: Any, block_threads: int, start: str = "paper") -> dict[str, str]:
    """The kernels' macros."""
    return model_defines(d, dtype, start) | {
        "MGRAPH_QUEUE_CAPACITY": str(QUEUE_CAPACITY),
        "MGRAPH_MAX_POLLS": str(MAX_POLLS),
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
            (8, 256, "paper"),
            (32, 256, "paper"),
            (32, 1024, "paper"),
            (33, 64, "paper"),
            (4096, 1024, "paper"),
            (4, 256, "ba"),
            (8, 256, "ba"),
            (33, 64, "ba"),
        )
        for dtype in ("int32", "int64")
    ),
)


class Declared(NamedTuple):
    """What ``cuppa.cu`` declares: its arguments, a round of the log, and sizes in shared memory."""

    cuppa_launch: StructType
    segment_plan: StructType
    launch_state: StructType
    round_log: np.dtype
    queue_item_bytes: int
    scratch_bytes: int


@functools.cache
def read_declarations(d: int, dtype: str, block_threads: int, start: str) -> Declared:
    """Read the kernels' source, once per variant."""
    macros = defines(d, dtype, block_threads, start)

    def struct(name: str) -> StructType:
        return KERNELS.struct(name, None, **macros)

    return Declared(
        cuppa_launch=struct("cuppa_launch"),
        segment_plan=struct("segment_plan"),
        launch_state=struct("launch_state"),
        round_log=struct("round_log").dtype,
        queue_item_bytes=struct("waiting_vertex").dtype.itemsize,
        scratch_bytes=0 if d <= WARP_SLOTS else struct("block_scratch").dtype.itemsize,
    )


class Schedule(NamedTuple):
    """How the vertices are dealt; no edge depends on it.

    segments: ``dynamic``, ``fixed``, or the number of vertices per segment. block_threads: a
    multiple of 32, by default 256 and, above d = 32, one thread per slot (the paper's τ). places:
    of a block, by which segments are cut (C), by default 6,144 where segments are those of the
    paper. growth: of dynamic segments (f), at least 2; 0: as far as queues have room. partition:
    ``round_robin`` or ``consecutive``.
    """

    segments: str | int = "dynamic"
    block_threads: int = 0
    places: int | None = None
    growth: int = 0
    partition: str = "round_robin"

    def check(self) -> None:
        """Raise UsageError unless the options are right."""
        if self.segments not in ("dynamic", "fixed"):
            check_integer("segments, if not dynamic or fixed,", self.segments, 1, MAX_N)
        if self.places is not None:
            check_integer("places", self.places, 1, 1 << 20)
        if self.growth:
            check_integer("growth", self.growth, 2, QUEUE_CAPACITY)
        if self.growth and self.segments != "dynamic":
            raise UsageError(f"growth belongs to dynamic segments (they are {self.segments})")
        if self.partition not in PARTITIONS:
            raise UsageError(
                f"partition must be one of {', '.join(PARTITIONS)} (got {self.partition})"
            )


class Launch(NamedTuple):
    """A launch: threads per block, blocks, teams in all blocks, vertices of the first segment."""

    block_threads: int
    blocks: int
    teams: int
    segment: int


class QueueRound(NamedTuple):
    """A round: its segment, vertices ``first`` to ``stop - 1``, and the queues.

    longest: the maximum number of vertices in one queue. waited: vertices in all queues. overflows:
    how often a queue had no room for its team's next vertices. These depend on the order of events.
    seconds: unknown for the first round, and 0 there.
    """

    first: int
    stop: int
    longest: int
    waited: int
    overflows: int
    seconds: float


def plan(model: "CopyModel", schedule: Schedule) -> Launch:
    """The launch that ``fill`` makes on the current device with this schedule."""
    schedule.check()
    block_threads = _check_threads(model, schedule.block_threads)
    kernel = KERNELS.kernel(
        "cuppa_generate", **defines(model.d, model.dtype, block_threads, model.start)
    )
    shared = shared_bytes(model, block_threads)
    purpose = f"cuppa with d = {model.d}"
    blocks = resident_blocks(kernel, block_threads, shared, purpose, "use method cuppa_hash")
    teams = blocks * (block_threads // 32 if model.d <= WARP_SLOTS else 1)
    segment = choose_segment(model.d, schedule, blocks, teams)
    return Launch(block_threads, blocks, teams, segment)


def choose_segment(d: int, schedule: Schedule, blocks: int, teams: int) -> int:
    """The number of vertices of the first segment."""
    if isinstance(schedule.segments, int):
        return schedule.segments
    is_the_papers = schedule.segments == "fixed" or schedule.growth > 0
    if schedule.places is None and not is_the_papers:
        return max(1, teams * QUEUE_CAPACITY // d)
    return blocks * max(1, (schedule.places or PLACES) // d)


def fill(
    model: "CopyModel",
    stop: int,
    dst: Any,
    *,
    rounds: list[QueueRound] | None = None,
    **options: Any,
) -> None:
    """Write the endpoints of vertices d to ``stop - 1``, on the current stream.

    dst: CuPy array of dtype ``model.dtype`` and shape (edges of vertices below ``stop``,); the
    clique's endpoints come first and are not written. options: of a ``Schedule``. rounds: a list to
    which the rounds are appended; the call then waits for the device, and otherwise does not.
    Device memory beside ``dst``: with ``rounds``, 40 bytes per segment of the first one's size;
    OutOfMemoryError if there is not enough.
    """
    import cupy

    schedule = Schedule(**options)
    launch = plan(model, schedule)
    declared = read_declarations(model.d, str(model.dtype), launch.block_threads, model.start)
    first = model.d
    max_rounds = -(-(stop - first) // launch.segment)
    log_rounds = _MIN_LOG_ROUNDS if rounds is None else max_rounds + 2
    if declared.round_log.itemsize * log_rounds > free_bytes():
        raise OutOfMemoryError(
            f"this GPU has too little memory for a log of up to {max_rounds:,} segments; make the "
            "segments larger"
        )
    log = cupy.zeros((log_rounds, declared.round_log.itemsize // 8), np.uint64)
    arrived = cupy.zeros(1, np.uint64)
    cancelled_round = primitives_gpu.full(1, np.iinfo(np.uint64).max, np.uint64)
    ends = dst[model.edges_before(first) :]
    stream = cupy.cuda.get_current_stream()
    cupy.cuda.runtime.memsetAsync(ends.data.ptr, _UNKNOWN_BYTE, ends.nbytes, stream.ptr)
    arguments = (
        declared.cuppa_launch.pack({"model": model_values(model), "n": stop, "ends": ends}),
        declared.segment_plan.pack(
            {
                "size": launch.segment,
                "dynamic": schedule.segments == "dynamic",
                "growth": schedule.growth,
                "consecutive": schedule.partition == "consecutive",
                "max_size": _MAX_SEGMENT_EDGES // model.d,
            }
        ),
        declared.launch_state.pack(
            {
                "log": log,
                "log_rounds": log_rounds,
                "arrived": arrived,
                "cancel_flag": cancellation_gpu.cancel_flag(),
                "cancelled_round": cancelled_round,
            }
        ),
    )
    macros = defines(model.d, model.dtype, launch.block_threads, model.start)
    kernel = KERNELS.kernel("cuppa_generate", **macros)
    shared = shared_bytes(model, launch.block_threads)
    launch_resident(kernel, launch.blocks, launch.block_threads, arguments, shared)
    if rounds is not None:
        rounds += read_rounds(log.get(), first, declared.round_log)


def fill_rows(
    model: "CopyModel", part: range, ends: Any, src: Any, dst: Any, checksum: Any
) -> None:
    """Write a vertex range's edges, on the current stream.

    ends: the endpoints of all vertices from 0 on. src, dst: CuPy arrays of shape (edges of the
    range,); dst may be the same rows of ``ends``. checksum: uint64 of shape (1,), to which the
    edges' hashes are added.
    """
    first, count = model.edges_before(part.start), model.edges_in(part)
    KERNELS.launch(
        "cuppa_list",
        (np.int64(first), np.int64(count), ends[first:], src, dst, checksum),
        **defines(model.d, model.dtype, _check_threads(model, 0), model.start),
    )


def _check_threads(model: "CopyModel", block_threads: int) -> int:
    """The number of threads per block; 0 means the default. Raises UsageError for a wrong one."""
    if block_threads % 32 or not 0 <= block_threads <= MAX_THREADS:
        raise UsageError(
            f"block_threads must be a multiple of 32 up to {MAX_THREADS} (got {block_threads})"
        )
    if model.d <= WARP_SLOTS:
        return block_threads or WARP_TEAM_THREADS
    return min(block_threads or MAX_THREADS, -(-model.d // 32) * 32)


def shared_bytes(model: "CopyModel", block_threads: int) -> int:
    """Dynamic shared memory per block: each team's waiting queue and, above d = 32, the scratch."""
    declared = read_declarations(model.d, str(model.dtype), block_threads, model.start)
    queue_bytes = QUEUE_CAPACITY * declared.queue_item_bytes
    if model.d <= WARP_SLOTS:
        return block_threads // 32 * queue_bytes
    return queue_bytes + -(-declared.scratch_bytes // 8) * 8


def read_rounds(log: np.ndarray, first: int, round_log: np.dtype) -> list[QueueRound]:
    """The rounds of a log, whose first segment begins at vertex ``first``."""
    records = log.view(round_log).ravel()
    rounds: list[QueueRound] = []
    previous = 0
    for record in records[records["stop"] > 0]:
        stop, nanoseconds = int(record["stop"]), int(record["nanoseconds"])
        seconds = (nanoseconds - previous) / 1e9 if previous else 0.0
        rounds.append(
            QueueRound(
                first,
                stop,
                longest=int(record["longest"]),
                waited=int(record["waited"]),
                overflows=int(record["overflows"]),
                seconds=seconds,
            )
        )
        first, previous = stop, nanoseconds
    return rounds
