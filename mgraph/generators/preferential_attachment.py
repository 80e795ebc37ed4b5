"""The front door of the preferential-attachment generators: validate, choose a backend, call."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from mgraph.core import backend as backends
from mgraph.core.edges import EdgeList
from mgraph.errors import UsageError
from mgraph.generators.copy_model import CopyModel

CHECKSUM_MASK = (1 << 64) - 1


class Generated(NamedTuple):
    """Edges with the sum modulo 2^64 of their hashes."""

    edges: EdgeList
    checksum: int


def _checked(model: CopyModel, part: range | None) -> range:
    part = range(model.n) if part is None else part
    if part.step != 1 or not 0 <= part.start <= part.stop <= model.n:
        raise UsageError(f"part must be a range of vertices within [0, {model.n}], and is {part}")
    return part


def edges(
    model: CopyModel,
    part: range | None = None,
    *,
    backend: str = "auto",
    threads: int | None = None,
) -> Generated:
    """The edges whose source lies in a range of vertices, as arrays, without Dask.

    part: a range of vertices, by default all; ``model.split(k)`` gives k of them. backend: auto,
    cpu or gpu. threads: CPU threads, by default one a core. Returns ``(edges, checksum)``:
    ``src`` and ``dst`` of shape (edges of the range,) and ``model.dtype``, ``src`` ascending,
    NumPy arrays from the CPU and CuPy arrays from the GPU, equal to the bit.
    Raises UsageError for a bad range, DeviceError for ``gpu`` without a device.
    """
    part = _checked(model, part)
    if backends.resolve(backend) == "gpu":
        from mgraph.generators import cuppa_hash_gpu

        return Generated(*cuppa_hash_gpu.edges(model, part))
    from mgraph.generators import cuppa_hash_cpu

    rows = model.edges_in(part)
    src, dst = np.empty(rows, model.dtype), np.empty(rows, model.dtype)
    threads = min(threads or len(os.sched_getaffinity(0)), max(1, rows >> 16))
    share = -(-rows // threads) if rows else 1

    def fill(block: range) -> int:
        row = model.edges_in(range(part.start, block.start))
        end = row + model.edges_in(block)
        return cuppa_hash_cpu.fill_range(model, block, src[row:end], dst[row:end])

    with ThreadPoolExecutor(threads) as pool:
        checksum = sum(pool.map(fill, model.blocks(part, share)))
    return Generated(EdgeList(src, dst), checksum & CHECKSUM_MASK)


def stream(
    model: CopyModel, part: range, *, backend: str = "cpu", block_edges: int = 1 << 20
) -> Iterator[Generated]:
    """The same edges in blocks of whole vertices, in order, in host memory that is used again.

    A block is valid until the next is asked for; the checksums of all blocks add up to the part's
    (a GPU adds its edges up as it goes, and gives the sum with the last block). Memory, whatever
    the part's size: one block on the CPU; with the GPU two pinned and two on the device.
    """
    part = _checked(model, part)
    if backends.resolve(backend) == "gpu":
        from mgraph.generators import cuppa_hash_gpu

        for made in cuppa_hash_gpu.stream(model, part, block_edges):
            yield Generated(*made)
        return
    from mgraph.generators import cuppa_hash_cpu

    blocks = model.blocks(part, block_edges)
    capacity = max((model.edges_in(block) for block in blocks), default=0)
    src, dst = np.empty(capacity, model.dtype), np.empty(capacity, model.dtype)
    for block in blocks:
        rows = model.edges_in(block)
        checksum = cuppa_hash_cpu.fill_range(model, block, src[:rows], dst[:rows])
        yield Generated(EdgeList(src[:rows], dst[:rows]), checksum)
