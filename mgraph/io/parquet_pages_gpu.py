"""Row groups read to a GPU that decodes them: the host moves their bytes as they are in the file.

Cost: the compressed bytes once into pinned memory and once over the bus; see ``parquet_pages.cu``
for the device. Its memory: per thread that reads, the bytes of a call, what they are decompressed
to, and 1 % more.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mgraph import timings
from mgraph.cuda.source import Source
from mgraph.cuda.transfer import FileBytes, device_memory, fill_device
from mgraph.io.parquet_groups import ColumnChunk, RowGroup

KERNELS = Source(__package__, "parquet_pages.cu")
_BLOCKS, _THREADS = 256, 128
_ALIGNMENT = 256
_PAGE_BYTES = 4096  # pages may be smaller on average, but then Arrow decodes them


class Decoder:
    """Decodes row groups on the current device; several threads may do so at a time."""

    def __init__(self) -> None:
        """Load the kernels."""
        self._find, self._decompress, self._write = (
            KERNELS.kernel(name) for name in ("find_pages", "decompress_pages", "write_values")
        )
        self._chunk = KERNELS.struct("chunk").dtype
        self._page_size = KERNELS.struct("page").dtype.itemsize
        self._errors, self._counts = map(KERNELS.constant, ("error_count", "counts"))

    def decode(
        self,
        groups: Sequence[RowGroup],
        columns: Sequence[Any],
        file: FileBytes,
    ) -> bool:
        """Decode row groups that have chunks, one behind the other, into columns on the device.

        columns: one CuPy array per column, of the rows in sum. Returns False if there is something
        that only Arrow understands, or can explain.
        """
        chunks, places, end = [], [], 0
        for group in groups:
            assert group.chunks is not None
            for chunk in group.chunks:
                chunks.append(chunk)
                places.append(end)
                end = _aligned(end + chunk.size + 3)  # of which whole words are read
        # Behind the chunks' bytes lie their descriptions, the counts, the pages, and the scratch.
        row_bytes = sum(group.rows * column.itemsize for group in groups for column in columns)
        page_capacity = row_bytes // _PAGE_BYTES + 4 * len(chunks)
        table_begin = end
        counts_begin = table_begin + self._chunk.itemsize * len(chunks)
        pages_begin = _aligned(counts_begin + 4 * self._counts)
        scratch_begin = _aligned(pages_begin + self._page_size * page_capacity)
        memory, stream = device_memory(scratch_begin + row_bytes + _ALIGNMENT * len(chunks))
        address = memory.data.ptr
        table = self._describe(chunks, places, groups, columns, address, address + scratch_begin)
        counts = memory[counts_begin:][: 4 * self._counts].view(np.uint32)
        pages = np.uint64(address + pages_begin)
        ranges = [
            (address + place, chunk.begin, chunk.size)
            for chunk, place in zip(chunks, places, strict=True)
        ]
        with timings.step(timings.READING), stream:
            is_read = fill_device(ranges, file)
            memory[table_begin:][: table.size].set(table, stream=stream)
            capacity = np.uint32(page_capacity)
            arguments = memory[table_begin:], np.int32(len(chunks)), pages, capacity, counts
            self._find((-(-len(chunks) // 32),), (32,), arguments)
            self._decompress((_BLOCKS,), (_THREADS,), (pages, counts))
            self._write((_BLOCKS,), (_THREADS,), (pages, counts))
            found = counts.get(stream=stream)  # waits
        return is_read and not found[self._errors]

    def _describe(
        self,
        chunks: Sequence[ColumnChunk],
        places: Sequence[int],
        groups: Sequence[RowGroup],
        columns: Sequence[Any],
        address: int,
        scratch: int,
    ) -> np.ndarray:
        """Return the bytes of the chunks' descriptions, and behind them the counts, which are 0.

        address, scratch: of the device's memory, to which places are relative, and of the scratch.
        """
        table = np.zeros(len(chunks), self._chunk)
        row = index = 0
        for group in groups:
            for column in columns:
                chunk, width = chunks[index], column.itemsize
                size, target = group.rows * width, column.data.ptr + row * width
                table[index] = (
                    address + places[index], chunk.size, scratch, size, target, group.rows, width,
                    chunk.is_compressed,
                )  # fmt: skip
                scratch += _aligned(size)
                index += 1
            row += group.rows
        return np.concatenate(
            [table.view(np.uint8).reshape(-1), np.zeros(4 * self._counts, np.uint8)]
        )


def _aligned(size: int) -> int:
    return -(-size // _ALIGNMENT) * _ALIGNMENT
