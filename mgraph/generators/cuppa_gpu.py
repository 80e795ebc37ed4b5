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

``cuppa_peers_gpu`` generates a graph with several GPUs of one host, each a rank of the others.
"""

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mgraph.core import cancellation_gpu, primitives_gpu
from mgraph.cuda.declarations import StructType
from mgraph.cuda.memory import free_bytes
from mgraph.cuda.source import Source, launch_resident, resident_blocks
from mgraph.errors import OutOfMemoryError, UsageError
from mgraph.generators.copy_model_gpu import WARP_SLOTS, model_defines, model_values
from mgraph.generators.cuppa_schedule import QueueRound, Schedule, read_rounds

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

QUEUE_CAPACITY = 32  # vertices in a team's waiting queue
PLACES = 48 * 1024 // 8  # the paper's C: of a block, in its waiting queue
MAX_POLLS = 10_000  # of the source that a vertex of many slots waits for, before it is queued
WARP_TEAM_THREADS, MAX_THREADS = 256, 1024  # per block
STRIPE_BITS = 10  # of the number of consecutive vertices that a rank has
_MAX_SEGMENT_EDGES = 1 << 29  # of a dynamic segment
_MIN_LOG_ROUNDS = 3  # a round is written while the next one's entry is cleared
_UNKNOWN_BYTE = 0xFF  # every byte of `unknown`, -1


def defines(
    d: int, dtype: Any, block_threads: int, start: str = "paper", ranks: int = 1
) -> dict[str, str]:
    """The kernels' macros."""
    return model_defines(d, dtype, start) | {
        "MGRAPH_QUEUE_CAPACITY": str(QUEUE_CAPACITY),
        "MGRAPH_MAX_POLLS": str(MAX_POLLS),
        "MGRAPH_THREADS": str(block_threads),
        "MGRAPH_RANKS": str(ranks),
        "MGRAPH_STRIPE_BITS": str(STRIPE_BITS),
    }


KERNELS = Source(
    __package__,
    "cuppa.cu",
    check=tuple(
        tuple(defines(d, dtype, threads, start, ranks).items())
        for d, threads, start, ranks in (
            (1, 256, "paper", 1),
            (4, 256, "paper", 1),
            (7, 256, "paper", 1),
            (8, 256, "paper", 1),
            (32, 256, "paper", 1),
            (32, 1024, "paper", 1),
            (33, 64, "paper", 1),
            (4096, 1024, "paper", 1),
            (4, 256, "ba", 1),
            (8, 256, "ba", 1),
            (33, 64, "ba", 1),
            (8, 256, "paper", 2),
            (33, 64, "paper", 2),
        )
        for dtype in ("int32", "int64")
    ),
)


class Declared(NamedTuple):
    """What ``cuppa.cu`` declares: its arguments, a round of the log, and sizes in shared memory."""

    cuppa_launch: StructType
    endpoint_memory: StructType
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
        endpoint_memory=struct("endpoint_memory"),
        segment_plan=struct("segment_plan"),
        launch_state=struct("launch_state"),
        round_log=struct("round_log").dtype,
        queue_item_bytes=struct("waiting_vertex").dtype.itemsize,
        scratch_bytes=0 if d <= WARP_SLOTS else struct("block_scratch").dtype.itemsize,
    )


class Endpoints(NamedTuple):
    """The endpoints of the vertices from d on, on one GPU or on several of a host.

    own: CuPy array of this rank's. table: CuPy array of the addresses of all ranks' arrays, or None
    for one rank.
    """

    own: Any
    rank: int = 0
    ranks: int = 1
    table: Any = None

    @property
    def values(self) -> dict[str, Any]:
        """The members of the struct ``endpoint_memory``, for ``pack``."""
        return {"ends": self.own, "shares": self.table, "rank": self.rank}


def count_places(vertices: int, rank: int, ranks: int) -> int:
    """The number of a rank's vertices, of so many from d on: stripes belong to ranks in turn."""
    if ranks == 1:
        return vertices
    stripe = 1 << STRIPE_BITS
    turns, rest = divmod(vertices, stripe * ranks)
    return turns * stripe + min(max(rest - rank * stripe, 0), stripe)


class Launch(NamedTuple):
    """A launch: threads per block, blocks, teams in all blocks, vertices of the first segment."""

    block_threads: int
    blocks: int
    teams: int
    segment: int


def plan(model: "CopyModel", schedule: Schedule, ranks: int = 1) -> Launch:
    """The launch that ``fill`` makes on the current device with this schedule."""
    schedule.check()
    block_threads = _check_threads(model, schedule.block_threads)
    kernel = KERNELS.kernel(
        "cuppa_generate", **defines(model.d, model.dtype, block_threads, model.start, ranks)
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
    first = model.d
    ends = Endpoints(dst[model.edges_before(first) :])
    log = launch_fill(
        model, ends, stop - first, Schedule(**options), cancellation_gpu.cancel_flag(),
        is_logged=rounds is not None,
    )  # fmt: skip
    if rounds is not None:
        declared = read_declarations(model.d, str(model.dtype), WARP_TEAM_THREADS, model.start)
        rounds += read_rounds(log.get(), first, declared.round_log)


def launch_fill(
    model: "CopyModel",
    ends: Endpoints,
    vertices: int,
    schedule: Schedule,
    cancel_flag: Any,
    *,
    is_logged: bool = False,
) -> Any:
    """Launch the kernel that writes a rank's endpoints of the first ``vertices`` from d on.

    cancel_flag: the address of a word, or 0. Returns the log of the launch.
    """
    import cupy

    launch = plan(model, schedule, ends.ranks)
    declared = read_declarations(model.d, str(model.dtype), launch.block_threads, model.start)
    places = count_places(vertices, ends.rank, ends.ranks)
    max_rounds = -(-places // launch.segment)
    log_rounds = max_rounds + 2 if is_logged else _MIN_LOG_ROUNDS
    if declared.round_log.itemsize * log_rounds > free_bytes():
        raise OutOfMemoryError(
            f"this GPU has too little memory for a log of up to {max_rounds:,} segments; make the "
            "segments larger"
        )
    log = cupy.zeros((log_rounds, declared.round_log.itemsize // 8), np.uint64)
    arrived = cupy.zeros(1, np.uint64)
    cancelled_round = primitives_gpu.full(1, np.iinfo(np.uint64).max, np.uint64)
    if ends.ranks == 1:
        set_unknown(ends.own)
    arguments = (
        declared.cuppa_launch.pack(
            {
                "model": model_values(model),
                "places": places,
                "memory": ends.values,
                "cancel_flag": cancel_flag,
            }
        ),
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
                "cancelled_round": cancelled_round,
            }
        ),
    )
    macros = defines(model.d, model.dtype, launch.block_threads, model.start, ends.ranks)
    kernel = KERNELS.kernel("cuppa_generate", **macros)
    shared = shared_bytes(model, launch.block_threads)
    launch_resident(kernel, launch.blocks, launch.block_threads, arguments, shared)
    return log


def set_unknown(ends: Any) -> None:
    """Set endpoints to ``unknown``, on the current stream."""
    import cupy

    stream = cupy.cuda.get_current_stream()
    cupy.cuda.runtime.memsetAsync(ends.data.ptr, _UNKNOWN_BYTE, ends.nbytes, stream.ptr)


def fill_rows(
    model: "CopyModel", part: range, ends: Any, src: Any, dst: Any, checksum: Any
) -> None:
    """Write a vertex range's edges, on the current stream.

    ends: the endpoints of all vertices from 0 on, or ``Endpoints``. src, dst: CuPy arrays of shape
    (edges of the range,); dst may be the same rows of ``ends``. checksum: uint64 of shape (1,), to
    which the edges' hashes are added.
    """
    first, count = model.edges_before(part.start), model.edges_in(part)
    is_same = False
    if not isinstance(ends, Endpoints):
        is_same = ends[first:].data.ptr == dst.data.ptr
        ends = Endpoints(ends[model.edges_before(min(model.d, model.n)) :])
    block_threads = _check_threads(model, 0)
    declared = read_declarations(model.d, str(model.dtype), block_threads, model.start)
    memory = declared.endpoint_memory.pack(ends.values)
    KERNELS.launch(
        "cuppa_list",
        (np.int64(first), np.int64(count), memory, src, np.uint64(0) if is_same else dst, checksum),
        **defines(model.d, model.dtype, block_threads, model.start, ends.ranks),
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
