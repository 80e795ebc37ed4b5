"""Row groups read to a GPU that decodes them: the host moves their bytes as they are in the file.

Cost: the compressed bytes once into pinned memory and once over the bus; see ``parquet_pages.cu``
for the device. Its memory: per thread that reads, the bytes of a call, what they are decompressed
to, and 1 % more.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mgraph import timings
from mgraph.cuda.source import Source
from mgraph.cuda.transfer import staging_memory
from mgraph.io.parquet import RowGroup

KERNELS = Source(__package__, "parquet_pages.cu")
_BLOCKS, _THREADS = 256, 128
_ALIGNMENT = 256
_PAGE_BYTES = 4096  # pages may be smaller on average, but then Arrow decodes them


def decode(
    groups: Sequence[RowGroup],
    columns: Sequence[Any],
    read_into: Callable[[int, Any], None],
) -> bool:
    """Decode row groups that have chunks, one behind the other, into columns on the device.

    columns: one CuPy array per column, of the rows in sum. read_into(begin, memory): reads from the
    file. Returns False if there is something that only Arrow understands, or can explain.
    """
    layout = _Layout(groups, [column.itemsize for column in columns])
    pinned, memory, stream = staging_memory(layout.host_size, layout.device_size)
    with timings.step(timings.READING):
        for chunk, place in layout.chunks:
            read_into(chunk.begin, pinned[place : place + chunk.size])
    address = memory.data.ptr
    layout.describe(address, [column.data.ptr for column in columns], pinned)
    pages, counts = address + layout.pages, memory[layout.counts :][:12].view(np.uint32)
    with timings.step(timings.COPYING), stream:
        memory[: layout.host_size].set(pinned[: layout.host_size], stream=stream)
        chunk_count = np.int32(len(layout.chunks))
        capacity = np.uint32(layout.page_capacity)
        arguments = (memory[layout.table :], chunk_count, np.uint64(pages), capacity, counts)
        KERNELS.kernel("find_pages")((-(-len(layout.chunks) // 32),), (32,), arguments)
        for kernel in ("decompress_pages", "write_values"):
            KERNELS.kernel(kernel)((_BLOCKS,), (_THREADS,), (np.uint64(pages), counts))
        found = counts.get(stream=stream)  # waits
    return not found[KERNELS.constant("error_count")]


class _Layout:
    """Where things lie in the memory of a call; what lies before ``host_size`` is copied."""

    def __init__(self, groups: Sequence[RowGroup], widths: Sequence[int]) -> None:
        """Lay out the chunks' bytes, their descriptions, the counts, the pages and the scratch."""
        self._chunk = KERNELS.struct("chunk").dtype
        self._groups, self._widths = groups, widths
        self.chunks, end = [], 0
        for group in groups:
            assert group.chunks is not None
            for chunk in group.chunks:
                self.chunks.append((chunk, end))
                end = _aligned(end + chunk.size + 3)  # of which whole words are read
        self.table = end
        self.counts = _aligned(end + self._chunk.itemsize * len(self.chunks))
        self.host_size = self.pages = _aligned(self.counts + 4 * KERNELS.constant("counts"))
        row_bytes = sum(widths) * sum(group.rows for group in groups)
        self.page_capacity = row_bytes // _PAGE_BYTES + 4 * len(self.chunks)
        page = KERNELS.struct("page").dtype.itemsize
        self._scratch = _aligned(self.pages + page * self.page_capacity)
        self.device_size = self._scratch + row_bytes + _ALIGNMENT * len(self.chunks)

    def describe(self, address: int, columns: Sequence[int], pinned: np.ndarray) -> None:
        """Write the chunks' descriptions and the counts. address: of the device's memory."""
        table = np.zeros(len(self.chunks), self._chunk)
        row, scratch, index = 0, self._scratch, 0
        for group in self._groups:
            for column, width in zip(columns, self._widths, strict=True):
                chunk, place = self.chunks[index]
                size = group.rows * width
                values = (
                    address + place, chunk.size, address + scratch, size, column + row * width,
                    group.rows, width, chunk.is_compressed,
                )  # fmt: skip
                table[index] = values
                scratch += _aligned(size)
                index += 1
            row += group.rows
        described = table.view(np.uint8).reshape(-1)
        pinned[self.table : self.table + described.size] = described
        pinned[self.counts : self.host_size] = 0


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
