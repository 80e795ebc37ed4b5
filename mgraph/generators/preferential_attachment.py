"""The front door of the preferential-attachment generators: validate, choose a backend, call."""

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np

from mgraph.core import backend as backends
from mgraph.core import cancellation
from mgraph.core.edges import EdgeList
from mgraph.core.host import available_cores, available_memory
from mgraph.errors import UsageError
from mgraph.generators.copy_model import ON_GPU, WHOLE, CopyModel

CHECKSUM_MASK = (1 << 64) - 1
_PIECE_EDGES = 1 << 22  # made between two looks whether they are wanted


class Generated(NamedTuple):
    """Edges with the sum modulo 2^64 of their hashes."""

    edges: EdgeList
    checksum: int


def resolve(model: CopyModel, backend: str) -> str:
    """Where a model's method runs: ``backend``, or what ``auto`` finds for it.

    Raises UsageError for ``gpu`` and a method of CPUs, DeviceError for ``gpu`` without a device.
    """
    if model.method in ON_GPU:
        return backends.resolve(backend)
    if backend == "gpu":
        same = {"copy": "cuppa", "copy_hash": "cuppa_hash"}.get(model.method)
        raise UsageError(
            f"method {model.method} runs on CPUs; use --backend cpu"
            + (f", or method {same}, which makes the same edges on a GPU" if same else "")
        )
    backends.resolve("cpu" if backend == "auto" else backend)
    return "cpu"


def _checked(model: CopyModel, part: range | None) -> range:
    part = range(model.n) if part is None else part
    if part.step != 1 or not 0 <= part.start <= part.stop <= model.n:
        raise UsageError(f"part must be a range of vertices within [0, {model.n}], and is {part}")
    return part


def _empty(model: CopyModel, rows: int) -> EdgeList:
    """Host arrays for so many edges, uninitialised."""
    return EdgeList(*(np.empty(rows, dtype) for dtype in model.columns.values()))


def endpoints(
    model: CopyModel, stop: int | None = None, *, backend: str = "auto", beside: int = 0
) -> Any:
    """The endpoints, ``dst``, of all edges of vertices below ``stop``, by default n.

    For methods that make a graph as a whole (``model.whole``). Returns an array of shape (edges of
    these vertices,) and ``model.dtype``, NumPy's from the CPU and CuPy's from the GPU. Raises
    OutOfMemoryError, before anything is made, where it and ``beside`` bytes more do not fit,
    UsageError for another method or too large a ``stop``, and what ``resolve`` raises.
    """
    stop = model.n if stop is None else stop
    if not model.whole:
        raise UsageError(f"method {model.method} keeps no endpoints; {', '.join(WHOLE)} do")
    _checked(model, range(stop))
    if resolve(model, backend) == "gpu":
        from mgraph.generators import preferential_attachment_gpu

        return preferential_attachment_gpu.endpoints(model, stop, beside)
    from mgraph.generators import ba_cpu, copy_cpu, copy_model_cpu

    model.check_room(stop, available_memory(), "this machine", beside)
    dst = np.empty(model.edges_before(stop), model.dtype)
    copy_model_cpu.fill_clique(range(min(model.d, stop)), dst)
    (ba_cpu if model.method == "ba" else copy_cpu).endpoints(model, dst)
    return dst


def _fill(model: CopyModel, block: range, made: EdgeList, ends: np.ndarray | None) -> int:
    """Make a block's edges; returns their checksum. ends: all endpoints, where there are some."""
    from mgraph.core.edge_list_cpu import checksum
    from mgraph.generators import copy_hash_cpu, copy_model_cpu, cuppa_hash_cpu, edge_weights_cpu

    if model.method == "cuppa_hash":
        total = cuppa_hash_cpu.fill_range(model, block, made.src, made.dst)
        return edge_weights_cpu.fill(model, made) if model.weights else total
    copy_model_cpu.fill_sources(model, block, made.src)
    if ends is not None:
        made.dst[:] = ends[model.edges_before(block.start) : model.edges_before(block.stop)]
    else:
        middle = min(max(block.start, model.d), block.stop)
        copy_model_cpu.fill_clique(range(block.start, middle), made.dst)
        rows = model.edges_in(range(block.start, middle))
        copy_hash_cpu.endpoints(model, middle, made.dst[rows:])
    return edge_weights_cpu.fill(model, made) if model.weights else checksum(made)


def edges(
    model: CopyModel,
    part: range | None = None,
    *,
    backend: str = "auto",
    threads: int | None = None,
) -> Generated:
    """The edges whose source lies in a range of vertices, as arrays, without Dask.

    part: a range of vertices, by default all; ``model.split(k)`` gives k of them. A method that
    makes a graph as a whole makes all vertices before the range, too. backend: auto, cpu or gpu.
    threads: CPU threads, by default one a core. Returns ``(edges, checksum)``: ``src`` and ``dst``
    of shape (edges of the range,) and ``model.dtype``, ``src`` ascending, with ``weight`` where the
    model has weights; NumPy arrays from the CPU and CuPy arrays from the GPU, equal to the bit.
    Raises UsageError for a bad range or a backend that the method lacks, DeviceError for ``gpu``
    without a device, OutOfMemoryError where a whole graph does not fit.
    """
    part = _checked(model, part)
    if resolve(model, backend) == "gpu":
        from mgraph.generators import preferential_attachment_gpu

        return Generated(*preferential_attachment_gpu.edges(model, part))
    ends = None
    if model.whole:
        ends = endpoints(model, part.stop, backend="cpu", beside=model.other_bytes(part))
    rows = model.edges_in(part)
    made = _empty(model, rows)
    if ends is not None:
        made = dataclasses.replace(made, dst=ends[model.edges_before(part.start) :])
    threads = min(threads or available_cores(), max(1, rows >> 16))
    share = min(-(-rows // threads), _PIECE_EDGES) if rows else 1

    def fill(block: range) -> int:
        row = model.edges_in(range(part.start, block.start))
        return _fill(model, block, made.rows(row, row + model.edges_in(block)), ends)

    with ThreadPoolExecutor(threads) as pool:
        checksum = sum(pool.map(cancellation.with_token(fill), model.blocks(part, share)))
    return Generated(made, checksum & CHECKSUM_MASK)


def stream(
    model: CopyModel,
    part: range,
    *,
    backend: str = "cpu",
    block_edges: int = 1 << 20,
    ends: Any = None,
) -> Iterator[Generated]:
    """The same edges in blocks of whole vertices, in order, in host memory that is used again.

    ends: what ``endpoints`` returned on the same backend, of a method that makes a graph as a
    whole; without it they are made here, up to the part's end. A block is valid until the next is
    asked for; the checksums of all blocks add up to the part's (a GPU adds its edges up as it goes,
    and gives the sum with the last block). Memory beside ``ends``, whatever the part's size: one
    block on the CPU; with the GPU two pinned and two on the device.
    """
    part = _checked(model, part)
    backend = resolve(model, backend)
    if model.whole and ends is None:
        ends = endpoints(model, part.stop, backend=backend)
    if backend == "gpu":
        from mgraph.generators import preferential_attachment_gpu

        for on_gpu in preferential_attachment_gpu.stream(model, part, block_edges, ends):
            cancellation.raise_if_cancelled()
            yield Generated(*on_gpu)
        return
    blocks = model.blocks(part, block_edges)
    capacity = max((model.edges_in(block) for block in blocks), default=0)
    made = _empty(model, capacity)
    for block in blocks:
        cancellation.raise_if_cancelled()
        here = made.rows(0, model.edges_in(block))
        checksum = _fill(model, block, here, ends)
        yield Generated(here, checksum)
