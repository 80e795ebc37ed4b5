"""How ``mgraph generate`` cuts a graph into parts and blocks, and what each part's footer says."""

from dataclasses import dataclass

from mgraph.core.choices import Backend, Compression
from mgraph.distributed.clusters.connect import Cluster
from mgraph.distributed.operations.resume import Footer
from mgraph.generators.copy_model import CopyModel
from mgraph.io.dataset import part_name
from mgraph.io.folder import Folder
from mgraph.io.manifest import PartRecord

# Edges per block, which is a row group; more on a GPU, whose threads share one interpreter.
BLOCK_EDGES = {"cpu": 1 << 20, "gpu": 1 << 23}
MIN_BLOCK_EDGES = 1 << 14
BLOCK_BYTES_PER_EDGE = 96  # arrays, pinned and device copies, the encoder's buffers
MIN_PART_EDGES, MAX_PART_EDGES = 1 << 20, 1 << 26
PARTS_PER_THREAD = {"cpu": 8, "gpu": 3}


@dataclass(frozen=True)
class Plan:
    """The data of every task of a run; it is sent with each, so it is small.

    holder: the name under which each worker holds the graph, for a method that makes it as a whole.
    """

    model: CopyModel
    parts: int
    folder: Folder
    compression: Compression
    backend: Backend
    block_edges: int
    holder: str | None = None

    def part(self, index: int) -> range:
        """Return the vertices of part ``index``."""
        return self.model.part(index, self.parts)

    def edges(self, index: int) -> int:
        """Return the number of rows of part ``index``."""
        return self.model.edges_in(self.part(index))

    def footer(self, index: int) -> Footer:
        """Return the footer of a part without its checksum: its output and its position."""
        part = self.part(index)
        return {
            **self.model.to_json(),
            "compression": self.compression,
            "parts": self.parts,
            "part": index,
            "first": part.start,
            "stop": part.stop,
        }

    def record(self, index: int, checksum: int) -> PartRecord:
        """Return the manifest's entry for a part that is written."""
        part, name = self.part(index), part_name(index)
        size = self.folder.size(name)
        return PartRecord(name, self.edges(index), part.start, part.stop, checksum, size)


def choose_ranks(model: CopyModel, cluster: Cluster) -> int:
    """Choose how many workers share a graph: one if each worker holds it as a whole, or all.

    They are GPUs that share it where it fits no single one. Raises OutOfMemoryError for a whole
    graph that does not fit.
    """
    if not model.stores_endpoints:
        return 1
    on_gpu, ranks = cluster.backend == "gpu", len(cluster.workers)
    shared = held_bytes(model, ranks) if on_gpu else model.endpoint_bytes(model.n)
    is_shared = False
    for address, worker in cluster.workers.items():
        free = worker.device_bytes if on_gpu else worker.host_bytes
        location = f"the GPU of worker {address}" if on_gpu else f"worker {address}"
        blocks = worker.threads * MIN_BLOCK_EDGES * BLOCK_BYTES_PER_EDGE
        if shared + blocks > free:
            model.check_memory(model.n, free, location, blocks)
        is_shared |= model.endpoint_bytes(model.n) + blocks > free
    return ranks if is_shared else 1


def held_bytes(model: CopyModel, ranks: int) -> int:
    """Return the bytes that one of so many GPUs holds of a graph that is made as a whole."""
    if ranks == 1:
        return model.endpoint_bytes(model.n)
    from mgraph.generators.cuppa_peers_gpu import share_bytes

    return share_bytes(model, ranks)


def choose_part_count(model: CopyModel, threads: int, backend: Backend) -> int:
    """Choose a few tasks per thread, of 1 to 64 Mi edges each: an even load in few files."""
    parts = max(-(-model.num_edges // MAX_PART_EDGES), PARTS_PER_THREAD[backend] * threads)
    return max(1, min(parts, model.num_edges // MIN_PART_EDGES, model.n))


def choose_block_edges(cluster: Cluster, model: CopyModel | None) -> int:
    """Choose the largest block that leaves three quarters of each worker's free memory free.

    The memory of a graph that the worker holds as a whole does not count as free.
    """
    held = {"cpu": 0, "gpu": 0}
    if model and model.stores_endpoints:
        held[cluster.backend] = held_bytes(model, choose_ranks(model, cluster))
    shares = []
    for worker in cluster.workers.values():
        shares.append((worker.host_bytes - held["cpu"]) // worker.threads)
        if cluster.backend == "gpu":
            shares.append((worker.device_bytes - held["gpu"]) // worker.threads)
    fitting = min(shares) // (4 * BLOCK_BYTES_PER_EDGE)
    return max(MIN_BLOCK_EDGES, min(BLOCK_EDGES[cluster.backend], fitting))
