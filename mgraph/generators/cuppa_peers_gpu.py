"""cuPPA with several GPUs of one host: each reads the endpoints of the others in their memory.

The paper leaves this as future work (section 7). Stripes of 2^10 consecutive vertices belong to the
ranks in turn. Each rank launches the kernel of ``cuppa.cu`` for its own vertices; a copy of another
rank's vertex loads that endpoint from the other GPU, over NVLink or PCIe, and waits for it in the
same queues as for one of its own. No rank waits at a barrier of the others. The edges are those of
one GPU.

Cost per edge, beside that of one GPU: (1 - p)(1 - 1/r) reads of another GPU's memory for r ranks.
Device memory: the endpoints, shared evenly.
"""

import os
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.core import cancellation
from mgraph.core.memory import memory_guard
from mgraph.cuda import peer_memory
from mgraph.errors import UsageError
from mgraph.generators import cuppa_gpu
from mgraph.generators.cuppa_schedule import Schedule

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel
    from mgraph.partitioned.exchange import Exchange

PAUSE_SECONDS, CHECK_SECONDS = 0.0005, 0.5  # between two looks at the kernel; at the other ranks
_HEADER = 32  # elements before a share; by the last one a rank says that it has begun
REMEDY = "use method cuppa_hash, which generates any part of a graph by itself"
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


def share_bytes(model: "CopyModel", ranks: int) -> int:
    """Return the bytes of the largest share of the endpoints."""
    places = cuppa_gpu.count_places(max(0, model.n - model.d), 0, ranks)
    return places * model.d * model.dtype.itemsize


class PeerEndpoints:
    """A rank's view of the endpoints that all ranks hold, on the current device."""

    def __init__(self, exchange: "Exchange", model: "CopyModel") -> None:
        """Allocate this rank's share and open those of the others; all ranks do so at once.

        Raises OutOfMemoryError, UsageError if the ranks are on several hosts, and DeviceError if
        their GPUs cannot read each other's memory.
        """
        import cupy

        rank, ranks = exchange.rank, exchange.size
        places = cuppa_gpu.count_places(model.n - model.d, rank, ranks)
        cupy.get_default_memory_pool().free_all_blocks()
        with memory_guard(f"a GPU's share of the endpoints of {model.n:,} vertices", REMEDY):
            self._memory = peer_memory.allocate(_HEADER + places * model.d, model.dtype)
        device, address = cupy.cuda.runtime.getDevice(), self._memory.data.ptr
        facts = np.array([os.getpid(), device, address], np.int64)
        handle = np.frombuffer(peer_memory.export(self._memory), np.uint8)
        gathered = exchange.all_gather(_host_identity(), facts, handle)
        if any(not np.array_equal(host, gathered[0][0]) for host, _, _ in gathered):
            raise UsageError(
                f"the graph fits no single GPU, and the workers are on several hosts; {REMEDY}"
            )
        self._peers = [
            peer_memory.PeerArray(each.tobytes(), *map(int, numbers))
            for number, (_, numbers, each) in enumerate(gathered)
            if number != rank
        ]
        addresses = [peer.address for peer in self._peers]
        addresses.insert(rank, address)
        header_bytes = _HEADER * model.dtype.itemsize
        table = cupy.asarray(np.array(addresses, np.uint64) + np.uint64(header_bytes))
        self.endpoints = cuppa_gpu.Endpoints(self._memory[_HEADER:], rank, ranks, table)

    def generate(self, exchange: "Exchange", model: "CopyModel", **options: Any) -> None:
        """Generate the graph; all ranks do so at once. options: of a ``Schedule``.

        Raises ExchangeLostError if another rank fails.
        """
        import cupy
        import cupyx

        flag = cupyx.empty_pinned(1, np.uint32)
        flag[0] = 0
        stream = cupy.cuda.get_current_stream()
        cuppa_gpu.set_unknown(self._memory)
        stream.synchronize()
        _meet(exchange)  # before another rank reads
        cuppa_gpu.launch_fill(
            model, self.endpoints, model.n - model.d, Schedule(**options),
            np.uint64(flag.ctypes.data),
        )  # fmt: skip
        done = cupy.cuda.Event(disable_timing=True)
        done.record(stream)
        try:
            next_check = time.monotonic() + CHECK_SECONDS
            while not done.done:
                time.sleep(PAUSE_SECONDS)
                cancellation.raise_if_cancelled()
                if time.monotonic() > next_check:
                    next_check += CHECK_SECONDS
                    exchange.check()
        except BaseException:
            flag[0] = 1  # the kernel may be waiting for a rank that is gone
            stream.synchronize()
            raise
        _meet(exchange)  # no endpoint is unknown any more

    def close(self, exchange: "Exchange") -> None:
        """Let go of the memory; all ranks do so at once, when none reads any more."""
        for peer in self._peers:
            peer.close()
        _meet(exchange)  # an array is freed once no rank has it open
        del self._memory, self.endpoints


def _meet(exchange: "Exchange") -> None:
    """Wait until all ranks have called this."""
    exchange.all_gather(np.zeros(1, np.uint8))


def _host_identity() -> np.ndarray:
    """Return what differs between hosts."""
    boot = _BOOT_ID.read_bytes() if _BOOT_ID.exists() else b""
    return np.frombuffer(socket.gethostname().encode() + b" " + boot, np.uint8)
