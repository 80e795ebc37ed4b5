"""The front door of the generators: check the request, choose a backend, call the method."""

import dataclasses
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from mgraph import timings
from mgraph.core import backend as backends
from mgraph.core import cancellation
from mgraph.core.choices import Backend, Device
from mgraph.core.edges import EdgeList
from mgraph.core.host import available_cores, available_memory
from mgraph.errors import UsageError

if TYPE_CHECKING:
    from mgraph.generators.copy_model import CopyModel

CHECKSUM_MASK = (1 << 64) - 1
_PIECE_EDGES = 1 << 22  # at most, between two checks for cancellation


class GeneratedEdges(NamedTuple):
    """Edges and the sum of their hashes modulo 2^64."""

    edges: EdgeList
    checksum: int


def resolve(model: "CopyModel", backend: Backend) -> Device:
    """The backend on which a model's method runs: ``cpu`` or ``gpu``.

    Raises UsageError for ``gpu`` if the method runs on CPUs only, DeviceError if there is no GPU.
    """
    if model.runs_on_gpu:
        return backends.resolve(backend)
    if backend == "gpu":
        same = {"copy": "cuppa", "copy_hash": "cuppa_hash"}.get(model.method)
        raise UsageError(
            f'method {model.method} runs on CPUs; use backend="cpu"'
            + (f", or method {same}, which makes the same edges on a GPU" if same else "")
        )
    backends.resolve("cpu" if backend == "auto" else backend)
    return "cpu"


def _check_part(model: "CopyModel", part: range | None) -> range:
    """The range of vertices, by default all. Raises UsageError unless they are the model's."""
    part = range(model.n) if part is None else part
    if part.step != 1 or not 0 <= part.start <= part.stop <= model.n:
        raise UsageError(f"part must be a range of vertices within [0, {model.n}] (got {part})")
    return part


def _allocate(model: "CopyModel", rows: int) -> EdgeList:
    """Uninitialised host arrays for this number of edges."""
    return EdgeList(*(np.empty(rows, dtype) for dtype in model.columns.values()))


def generate_endpoints(
    model: "CopyModel",
    stop: int | None = None,
    *,
    backend: Backend = "auto",
    extra_bytes: int = 0,
    threads: int | None = None,
) -> Any:
    """The endpoints, ``dst``, of all edges of vertices below ``stop``, by default n.

    For methods that store all endpoints. threads: of cuppa on CPUs, by default one per core; copy
    and ba have one. Returns an array of shape (edges of these vertices,) and
    dtype ``model.dtype``: NumPy's from the CPU, CuPy's from the GPU. Raises OutOfMemoryError,
    before any work, if it and ``extra_bytes`` more do not fit in memory, UsageError for another
    method or a ``stop`` above n, and what ``resolve`` raises.
    """
    stop = model.n if stop is None else stop
    if not model.stores_endpoints:
        raise UsageError(f"method {model.method} stores no endpoints; cuppa, copy and ba do")
    _check_part(model, range(stop))
    if resolve(model, backend) == "gpu":
        from mgraph.generators import preferential_attachment_gpu

        return preferential_attachment_gpu.generate_endpoints(model, stop, extra_bytes)
    from mgraph.generators import ba_cpu, copy_cpu, copy_model_cpu, cuppa_cpu

    model.check_memory(stop, available_memory(), "this machine", extra_bytes)
    dst = np.empty(model.edges_before(stop), model.dtype)
    copy_model_cpu.fill_clique(range(min(model.d, stop)), dst)
    if model.method == "cuppa":
        cuppa_cpu.fill_endpoints(model, dst, threads or available_cores())
    else:
        (ba_cpu if model.method == "ba" else copy_cpu).fill_endpoints(model, dst)
    return dst


def _fill_block(model: "CopyModel", block: range, edges: EdgeList, ends: np.ndarray | None) -> int:
    """Write the edges of a block of vertices and return their checksum.

    ends: the endpoints of all vertices, of a method that stores them.
    """
    from mgraph.core.edge_list_cpu import checksum
    from mgraph.generators import copy_hash_cpu, copy_model_cpu, cuppa_hash_cpu, edge_weights_cpu

    src, dst = np.asarray(edges.src), np.asarray(edges.dst)
    if model.method == "cuppa_hash":
        total = cuppa_hash_cpu.fill_range(model, block, src, dst)
        return edge_weights_cpu.fill(model, edges) if model.weights else total
    copy_model_cpu.fill_sources(model, block, src)
    if ends is not None:
        dst[:] = ends[model.edges_before(block.start) : model.edges_before(block.stop)]
    else:
        clique_stop = min(max(block.start, model.d), block.stop)
        copy_model_cpu.fill_clique(range(block.start, clique_stop), dst)
        rows = model.edges_in(range(block.start, clique_stop))
        copy_hash_cpu.fill_endpoints(model, clique_stop, dst[rows:])
    return edge_weights_cpu.fill(model, edges) if model.weights else checksum(edges)


def generate_edges(
    model: "CopyModel",
    part: range | None = None,
    *,
    backend: Backend = "auto",
    threads: int | None = None,
) -> GeneratedEdges:
    """See ``CopyModel.edges``."""
    part = _check_part(model, part)
    if resolve(model, backend) == "gpu":
        from mgraph.generators import preferential_attachment_gpu

        return GeneratedEdges(*preferential_attachment_gpu.generate_edges(model, part))
    ends = None
    if model.stores_endpoints:
        extra_bytes = model.source_and_weight_bytes(part)
        ends = generate_endpoints(
            model, part.stop, backend="cpu", extra_bytes=extra_bytes, threads=threads
        )
    rows = model.edges_in(part)
    edges = _allocate(model, rows)
    if ends is not None:
        edges = dataclasses.replace(edges, dst=ends[model.edges_before(part.start) :])
    threads = min(threads or available_cores(), max(1, rows >> 16))
    share = min(-(-rows // threads), _PIECE_EDGES) if rows else 1

    def fill(block: range) -> int:
        row = model.edges_in(range(part.start, block.start))
        return _fill_block(model, block, edges.rows(row, row + model.edges_in(block)), ends)

    with ThreadPoolExecutor(threads) as pool:
        checksum = sum(pool.map(cancellation.with_token(fill), model.blocks(part, share)))
    return GeneratedEdges(edges, checksum & CHECKSUM_MASK)


def stream(
    model: "CopyModel",
    part: range,
    *,
    backend: Backend = "cpu",
    block_edges: int = 1 << 20,
    ends: Any = None,
) -> Iterator[GeneratedEdges]:
    """Generate the same edges as ``CopyModel.edges`` in blocks, in host memory that is reused.

    Blocks have the edges of consecutive vertices, about ``block_edges`` each, in order. A block is
    valid until the next one is requested. The checksums of all blocks add up to that of the part;
    a GPU accumulates them and returns the sum with the last block.

    ends: for a method that stores endpoints, what ``generate_endpoints`` returned on the same
    backend; by default they are generated here, up to the end of the part. Memory besides ``ends``,
    whatever the size of the part: one block on the CPU; two pinned and two device blocks on a GPU.
    """
    part = _check_part(model, part)
    backend = resolve(model, backend)
    if model.stores_endpoints and ends is None:
        ends = generate_endpoints(model, part.stop, backend=backend)
    if backend == "gpu":
        from mgraph.generators import preferential_attachment_gpu

        generated = preferential_attachment_gpu.stream(model, part, block_edges, ends)
        while True:
            cancellation.raise_if_cancelled()
            with timings.step(timings.COMPUTING):
                block_of_gpu = next(generated, None)
            if block_of_gpu is None:
                return
            yield GeneratedEdges(*block_of_gpu)
    blocks = model.blocks(part, block_edges)
    capacity = max((model.edges_in(block) for block in blocks), default=0)
    buffer = _allocate(model, capacity)
    for block in blocks:
        cancellation.raise_if_cancelled()
        edges = buffer.rows(0, model.edges_in(block))
        with timings.step(timings.COMPUTING):
            checksum = _fill_block(model, block, edges, ends)
        yield GeneratedEdges(edges, checksum)
