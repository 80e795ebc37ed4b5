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
from mgraph.cuda.transfer import device_memory, fill_device
from mgraph.io.parquet import ColumnChunk, RowGroup

KERNELS = Source(__package__, "parquet_pages.cu")
_BLOCKS, _THREADS = 256, 128
_ALIGNMENT = 256
_PAGE_BYTES = 4096  # pages may be smaller on average, but then Arrow decodes them


def decode(
    groups: Sequence[RowGroup], columns: Sequence[Any], read_into: Callable[[int, Any], None]
) -> bool:
    """Decode row groups that have chunks, one behind the other, into columns on the device.

    columns: one CuPy array per column, of the rows in sum. read_into(begin, memory): reads from the
    file. Returns False if there is something that only Arrow understands, or can explain.
    """
    layout = _Layout(groups, [column.itemsize for column in columns])
    memory, stream = device_memory(layout.size)
    for chunk, place in layout.chunks:
        fill_device(memory[place : place + chunk.size], chunk.begin, read_into)
    address = memory.data.ptr
    table = layout.describe(address, [column.data.ptr for column in columns])
    pages, counts = np.uint64(address + layout.pages), memory[layout.counts :][:12].view(np.uint32)
    with timings.step(timings.COPYING), stream:
        memory[layout.table :][: table.size].set(table, stream=stream)
        chunk_count, capacity = np.int32(len(layout.chunks)), np.uint32(layout.page_capacity)
        arguments = memory[layout.table :], chunk_count, pages, capacity, counts
        KERNELS.kernel("find_pages")((-(-len(layout.chunks) // 32),), (32,), arguments)
        for kernel in ("decompress_pages", "write_values"):
            KERNELS.kernel(kernel)((_BLOCKS,), (_THREADS,), (pages, counts))
        found = counts.get(stream=stream)  # waits
    return not found[KERNELS.constant("error_count")]


class _Layout:
    """Where things lie in the device's memory of a call.

    chunks: and where the bytes of each begin. table: the chunks' descriptions, and directly behind
    them, at ``counts``, the kernels' counts.
    """

    def __init__(self, groups: Sequence[RowGroup], widths: Sequence[int]) -> None:
        self._chunk = KERNELS.struct("chunk").dtype
        self._groups, self._widths = groups, widths
        self.chunks: list[tuple[ColumnChunk, int]] = []
        end = 0
        for group in groups:
            assert group.chunks is not None
            for chunk in group.chunks:
                self.chunks.append((chunk, end))
                end = _aligned(end + chunk.size + 3)  # of which whole words are read
        self.table = end
        self.counts = end + self._chunk.itemsize * len(self.chunks)
        self.pages = _aligned(self.counts + 4 * KERNELS.constant("counts"))
        row_bytes = sum(widths) * sum(group.rows for group in groups)
        self.page_capacity = row_bytes // _PAGE_BYTES + 4 * len(self.chunks)
        page = KERNELS.struct("page").dtype.itemsize
        self._scratch = _aligned(self.pages + page * self.page_capacity)
        self.size = self._scratch + row_bytes + _ALIGNMENT * len(self.chunks)

    def describe(self, address: int, columns: Sequence[int]) -> np.ndarray:
        """Return the bytes of the chunks' descriptions and of the counts, which are 0.

        address: of the memory. columns: the addresses of the columns.
        """
        table = np.zeros(len(self.chunks), self._chunk)
        row, scratch, index = 0, self._scratch, 0
        for group in self._groups:
            for column, width in zip(columns, self._widths, strict=True):
                chunk, place = self.chunks[index]
                size = group.rows * width
                table[index] = (
                    address + place, chunk.size, address + scratch, size, column + row * width,
                    group.rows, width, chunk.is_compressed,
                )  # fmt: skip
                scratch += _aligned(size)
                index += 1
            row += group.rows
        counts = np.zeros(4 * KERNELS.constant("counts"), np.uint8)
        return np.concatenate([table.view(np.uint8).reshape(-1), counts])


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
