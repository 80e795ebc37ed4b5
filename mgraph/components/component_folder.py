"""A folder of components: ``vertex, component`` in parts, the sizes in a table, a manifest last."""

import json
import os
from collections.abc import Callable
from typing import Any

import numpy as np

import mgraph
from mgraph.components.component_sizes import ComponentSizes
from mgraph.components.edge_components_cpu import order_by_size
from mgraph.core import cancellation
from mgraph.core.choices import Compression
from mgraph.core.edges import EdgeList
from mgraph.core.host import available_cores
from mgraph.errors import UsageError
from mgraph.io import manifest as manifests
from mgraph.io import ownership
from mgraph.io.dataset import part_name, replaceable_parts
from mgraph.io.folder import Folder
from mgraph.io.graph_writer import check_name
from mgraph.io.parquet import check_compression, writing_part
from mgraph.io.tables.id_columns import Ids, to_column

FORMAT, VERSION = "mgraph components", 1
TABLE = "_components.parquet"
_MIN_ROWS, _MAX_ROWS = 1 << 20, 1 << 24  # of a part
_BLOCK_ROWS = 1 << 20


class ComponentFolder:
    """Writes components into a folder that holds nothing else."""

    def __init__(self, folder: Folder | str | os.PathLike[str], compression: Compression) -> None:
        """Name the folder."""
        check_compression(compression)
        self.folder = folder if isinstance(folder, Folder) else Folder(folder)
        self._compression = compression

    def check(self, overwrite: bool) -> list[str]:
        """Return the parts that are replaced. Raises UsageError for content that must be kept."""
        check_name(self.folder.location)
        self.folder.check_writable()
        ownership.check_unowned(self.folder)
        parts, is_complete = replaceable_parts(self.folder, FORMAT, (TABLE,))
        if (parts or is_complete) and not overwrite:
            raise UsageError(
                f"{self.folder} already holds components; pass `overwrite=True` to replace them"
            )
        return parts

    def claim(self, overwrite: bool) -> None:
        """Make the folder, and remove the components that it holds. Raises as ``check`` does."""
        parts = self.check(overwrite)
        self.folder.create()
        self.folder.remove(manifests.NAME, TABLE, *parts)

    def write(
        self,
        labels: np.ndarray,
        sizes: ComponentSizes,
        ids: Ids | None = None,
        threads: int | None = None,
        identity: dict[str, Any] | None = None,
    ) -> None:
        """Write all files, the manifest last.

        ids: of all vertices, if those are written. threads: by default one per core. identity: for
        the manifest.
        """
        names = None if ids is None else to_column(ids)
        starts = self.part_starts(range(labels.size), threads)
        jobs: list[Callable[[], Any]] = [
            lambda: self.write_table(sizes, labels.dtype, names),  # takes a thread, and longer
            lambda: self.write_parts(labels, starts, names=names, threads=threads),
        ]
        _, parts = cancellation.map_in_threads(lambda job: job(), jobs, len(jobs))
        self.write_manifest(labels.size, sizes.summary(), parts, identity)

    @staticmethod
    def part_starts(vertices: range, threads: int | None = None) -> range:
        """Return where the parts of some vertices begin. threads: as for ``write``."""
        share = -(-len(vertices) // (threads or available_cores()))
        return vertices[:: max(_MIN_ROWS, min(_MAX_ROWS, share))]

    def write_parts(
        self,
        labels: np.ndarray,
        starts: range,
        *,
        first_part: int = 0,
        names: Any = None,
        threads: int | None = None,
    ) -> list[dict[str, Any]]:
        """Write the components of neighbouring vertices; return the parts as in the manifest.

        labels: of vertices from the first of ``starts`` on. first_part: the number of its part.
        """
        stops = [*starts[1:], starts.start + labels.size]

        def write_part(index: int) -> dict[str, Any]:
            file, vertices = part_name(first_part + index), range(starts[index], stops[index])
            own = labels[vertices.start - starts.start : vertices.stop - starts.start]
            checksum = self._write_part(file, own, vertices, names)
            return {
                "file": file, "rows": len(vertices), "first": vertices.start,
                "stop": vertices.stop, "checksum": f"{checksum:016x}",
                "bytes": self.folder.size(file),
            }  # fmt: skip

        threads = threads or available_cores()
        return cancellation.map_in_threads(write_part, range(len(starts)), threads)

    def write_manifest(
        self,
        n: int,
        summary: dict[str, Any],
        parts: list[dict[str, Any]],
        identity: dict[str, Any] | None = None,
    ) -> None:
        """Write the manifest. summary: of the sizes; parts: all, in order of their vertices."""
        checksum = sum(int(part["checksum"], 16) for part in parts) % (1 << 64)
        content: dict[str, Any] = {
            "format": FORMAT,
            "version": VERSION,
            **(identity or {}),
            "n": n,
            **summary,
            "checksum": f"{checksum:016x}",
            "parts": parts,
            "table": TABLE,
            "created_by": f"mgraph {mgraph.__version__}",
        }
        self.folder.write(manifests.NAME, (json.dumps(content, indent=1) + "\n").encode())

    def _write_part(self, file: str, labels: np.ndarray, vertices: range, names: Any) -> int:
        """Write the components of some vertices; return the checksum of the numbers.

        labels: of these vertices.
        """
        from mgraph.core.edge_list_cpu import checksum

        total = 0
        column_type = labels.dtype if names is None else names.type
        columns = dict.fromkeys(("vertex", "component"), column_type)
        with writing_part(self.folder, file, columns, self._compression) as writer:
            for start in range(vertices.start, vertices.stop, _BLOCK_ROWS):
                cancellation.raise_if_cancelled()
                stop = min(start + _BLOCK_ROWS, vertices.stop)
                vertex = np.arange(start, stop, dtype=labels.dtype)
                component = labels[start - vertices.start : stop - vertices.start]
                total += checksum(EdgeList(vertex, component))
                writer.write([_name(vertex, names), _name(component, names)])
            writer.close({"components": True})
        return total % (1 << 64)

    def write_table(self, sizes: ComponentSizes, dtype: Any, names: Any = None) -> None:
        """Write the table of components, the largest first. dtype: of labels."""
        column_type = dtype if names is None else names.type
        columns = {"component": column_type, "vertices": np.dtype(np.int64)}
        count = sizes.roots.size
        order = None if sizes.by_size else order_by_size(sizes.sizes)
        with writing_part(self.folder, TABLE, columns, self._compression) as writer:
            for piece in cancellation.chunks(count, _BLOCK_ROWS):
                chosen = piece if order is None else order[piece]
                writer.write([_name(sizes.roots[chosen], names), sizes.sizes[chosen]])
            writer.close({"components": True})


def _name(vertices: np.ndarray, names: Any) -> Any:
    """Return vertices as they are written: numbers, or their names as an Arrow array."""
    import pyarrow as pa

    if names is None:
        return np.ascontiguousarray(vertices)
    taken = names.take(pa.array(vertices))
    return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken
