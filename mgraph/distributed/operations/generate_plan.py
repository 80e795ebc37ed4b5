"""What a run of ``mgraph generate`` will make, and what of it a folder already holds."""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mgraph.core.formatting import pluralize
from mgraph.distributed.clusters.connect import Cluster
from mgraph.errors import DatasetError, UsageError
from mgraph.generators.copy_model import CopyModel
from mgraph.io import manifest as manifests
from mgraph.io import untrusted
from mgraph.io.dataset import part_name, replaceable_parts
from mgraph.io.folder import Folder
from mgraph.io.manifest import PartRecord

# A block is a row group. A GPU's is larger, since its threads share one Python interpreter.
BLOCK_EDGES = {"cpu": 1 << 20, "gpu": 1 << 23}
MIN_BLOCK_EDGES = 1 << 14
BLOCK_BYTES_PER_EDGE = 96  # arrays, pinned and device copies, the encoder's buffers
MIN_PART_EDGES, MAX_PART_EDGES = 1 << 20, 1 << 26
PARTS_PER_THREAD = {"cpu": 8, "gpu": 3}


@dataclass(frozen=True)
class Plan:
    """What every task of a run knows; small, since it travels with each.

    holder: the name of the plugin that has the graph, of a method that makes it as a whole.
    """

    model: CopyModel
    parts: int
    folder: Folder
    compression: str
    backend: str
    block_edges: int
    holder: str | None = None

    def part(self, index: int) -> range:
        """The vertices of part ``index``."""
        return self.model.part(index, self.parts)

    def edges(self, index: int) -> int:
        """The rows of part ``index``."""
        return self.model.edges_in(self.part(index))

    def footer(self, index: int) -> dict[str, Any]:
        """What the part's footer says, but for its checksum: whose it is and where it belongs."""
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
        """The manifest's line for a part that is written."""
        part, name = self.part(index), part_name(index)
        size = self.folder.size(name)
        return PartRecord(name, self.edges(index), part.start, part.stop, checksum, size)


def existing_parts(
    folder: Folder,
    resume: bool,
    overwrite: bool,
    kind: str = manifests.FORMAT,
    also: tuple[str, ...] = (),
) -> list[str]:
    """The part files in the folder. Raises UsageError where they must not be touched.

    kind: what the folder's manifest would say it holds; also: files that belong to it.
    """
    if resume and overwrite:
        raise UsageError("resume keeps what is there and overwrite replaces it: choose one")
    parts, complete = replaceable_parts(folder, kind, also)
    if (parts or complete) and not (resume or overwrite):
        found = pluralize(len(parts), "part")
        state = "a dataset" if complete else f"{found} of an unfinished dataset"
        raise UsageError(
            f"{folder} already holds {state}; --resume makes what is missing, --overwrite "
            "replaces it"
        )
    return parts


def footers(folder: Folder, names: list[str]) -> dict[str, dict[str, Any]]:
    """What the parts say of themselves; one that is damaged is left out, to be made again.

    Raises UsageError for a part that another program wrote, StorageError for one that cannot be
    read.
    """
    from mgraph.io.parquet import ForeignFileError, read_metadata

    def footer(name: str) -> dict[str, Any] | None:
        try:
            return read_metadata(folder, name)
        except ForeignFileError as error:
            raise UsageError(
                f"{error}, and would be replaced: move it out, give another folder, or --overwrite"
            ) from None
        except DatasetError:
            return None

    found = zip(names, folder.call_each(footer, names), strict=True)
    return {name: told for name, told in found if told is not None}


def kept_parts(plan: Plan, found: dict[str, dict[str, Any]]) -> dict[int, PartRecord]:
    """The parts that need not be made again. Raises UsageError for parts of another graph."""
    kept = {}
    for index, footer in matching(plan.folder, found, plan.footer, plan.parts).items():
        if footer["rows"] == plan.edges(index):
            kept[index] = plan.record(index, untrusted.parse_checksum(footer["checksum"]))
    return kept


def previous_value(found: dict[str, dict[str, Any]], key: str, most: int) -> int | None:
    """How many ``key`` the parts of an earlier run say there are; None where they make no sense."""
    for footer in found.values():
        with contextlib.suppress(ValueError):
            return untrusted.parse_int(key, footer.get(key), 1, most)
        break
    return None


def matching(
    folder: Folder,
    found: dict[str, dict[str, Any]],
    expected_of: Callable[[int], dict[str, Any]],
    parts: int,
) -> dict[int, dict[str, Any]]:
    """Footers that say what they should, by part. Raises UsageError for those of another run.

    One whose checksum is none is left out, as if it were not there.
    """
    same = {}
    for name, footer in found.items():
        index = footer.get("part")
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < parts:
            index = 0
        expected = expected_of(index)
        differing = [
            f"{key} is {footer.get(key)} there and {value} here"
            for key, value in expected.items()
            if footer.get(key) != value
        ]
        if differing:
            raise UsageError(
                f"{folder} holds parts of another dataset ({differing[0]}); give the same "
                "parameters to resume, or --overwrite"
            )
        with contextlib.suppress(ValueError):
            untrusted.parse_checksum(footer.get("checksum"))
            if name == part_name(index):
                same[index] = footer
    return same


def check_room(model: CopyModel, cluster: Cluster) -> None:
    """Raise OutOfMemoryError for a whole graph that a worker of the cluster has no room for."""
    if not model.whole:
        return
    for address, worker in cluster.workers.items():
        on_gpu = cluster.backend == "gpu"
        free = worker.device_bytes if on_gpu else worker.host_bytes
        where = f"the GPU of worker {address}" if on_gpu else f"worker {address}"
        blocks = worker.threads * MIN_BLOCK_EDGES * BLOCK_BYTES_PER_EDGE
        model.check_room(model.n, free, where, blocks)


def default_parts(model: CopyModel, threads: int, backend: str) -> int:
    """A few tasks a thread, of 1 to 64 Mi edges each: an even load, and not too many files."""
    wanted = max(-(-model.num_edges // MAX_PART_EDGES), PARTS_PER_THREAD[backend] * threads)
    return max(1, min(wanted, model.num_edges // MIN_PART_EDGES, model.n))


def block_edges(cluster: Cluster, model: CopyModel | None) -> int:
    """The largest block that leaves three quarters of each worker's free memory free.

    What a model's graph takes that a worker holds as a whole is not free.
    """
    held = {"cpu": 0, "gpu": 0}
    if model and model.whole:
        held[cluster.backend] = model.endpoint_bytes(model.n)
    room = []
    for worker in cluster.workers.values():
        room.append((worker.host_bytes - held["cpu"]) // worker.threads)
        if cluster.backend == "gpu":
            room.append((worker.device_bytes - held["gpu"]) // worker.threads)
    fitting = min(room) // (4 * BLOCK_BYTES_PER_EDGE)
    return max(MIN_BLOCK_EDGES, min(BLOCK_EDGES[cluster.backend], fitting))
