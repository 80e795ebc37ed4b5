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


def _empty(model: CopyModel, rows: int) -> EdgeList:
    """Host arrays for so many edges, uninitialised."""
    return EdgeList(*(np.empty(rows, dtype) for dtype in model.columns.values()))


def _fill(model: CopyModel, block: range, made: EdgeList, row: int, end: int) -> int:
    """Make a block's edges at ``made``'s rows ``row`` to ``end``; returns their checksum."""
    from mgraph.generators import cuppa_hash_cpu, edge_weights_cpu

    here = made.rows(row, end)
    checksum = cuppa_hash_cpu.fill_range(model, block, here.src, here.dst)
    return edge_weights_cpu.fill(model, here) if model.weights else checksum


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
    ``src`` and ``dst`` of shape (edges of the range,) and ``model.dtype``, ``src`` ascending, with
    ``weight`` where the model has weights; NumPy arrays from the CPU and CuPy arrays from the GPU,
    equal to the bit.
    Raises UsageError for a bad range, DeviceError for ``gpu`` without a device.
    """
    part = _checked(model, part)
    if backends.resolve(backend) == "gpu":
        from mgraph.generators import cuppa_hash_gpu

        return Generated(*cuppa_hash_gpu.edges(model, part))
    rows = model.edges_in(part)
    made = _empty(model, rows)
    threads = min(threads or len(os.sched_getaffinity(0)), max(1, rows >> 16))
    share = -(-rows // threads) if rows else 1

    def fill(block: range) -> int:
        row = model.edges_in(range(part.start, block.start))
        end = row + model.edges_in(block)
        return _fill(model, block, made, row, end)

    with ThreadPoolExecutor(threads) as pool:
        checksum = sum(pool.map(fill, model.blocks(part, share)))
    return Generated(made, checksum & CHECKSUM_MASK)


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

        for on_gpu in cuppa_hash_gpu.stream(model, part, block_edges):
            yield Generated(*on_gpu)
        return
    blocks = model.blocks(part, block_edges)
    capacity = max((model.edges_in(block) for block in blocks), default=0)
    made = _empty(model, capacity)
    for block in blocks:
        rows = model.edges_in(block)
        checksum = _fill(model, block, made, 0, rows)
        yield Generated(made.rows(0, rows), checksum)
