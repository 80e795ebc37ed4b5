"""Borůvka's algorithm in the paper's five steps on a GPU: the launches of ``boruvka.cu``.

Source and steps: see ``boruvka_cpu``. The paper reports how its program evolved: one thread per
vertex in every kernel (topology-driven); then the scan and step 5 on the host; step 5 on the device
again; a work-efficient scan there, for which CUB's is used here; step 5 with one thread per arc
(data-driven). ``Variants`` selects any of these, so that the paper's findings can be measured
again. Texture memory is not used: it no longer exists as the paper used it.

Cost of a round: step 1 reads each arc (twice by edges), and so do both halves of step 5; with one
thread per arc its vertex is found by binary search. The host waits for the device three times, and
once per jump of step 3. Device memory: 12 bytes per arc of the graph, 32 per arc of the first
round, 24 per vertex.
"""

import functools
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.cuda.source import Source
from mgraph.errors import UsageError

MAX_ARCS = (1 << 32) - (1 << 20)  # an arc plus the number of threads must fit 32 bits
STEPS = ("edge ids", "choose", "mirror", "colours", "rename", "count", "contract")

KERNELS = Source(__package__, "boruvka.cu")


@dataclass(frozen=True)
class Variants:
    """The variant of each step.

    choose, count, contract: one thread per ``edge`` or per ``vertex``; contract, together with
    count, also on the ``host``. colours: ``jump``, which halves all paths in each launch, or
    ``walk``, one path per thread, as in the paper. scan: ``cub``, which is work-efficient,
    ``naive``, with O(n log n) additions, or ``host``.
    """

    choose: str = "edge"
    colours: str = "jump"
    scan: str = "cub"
    count: str = "edge"
    contract: str = "edge"


CHOICES = {
    "choose": ("edge", "vertex"),
    "colours": ("jump", "walk"),
    "scan": ("cub", "naive", "host"),
    "count": ("edge", "vertex"),
    "contract": ("edge", "vertex", "host"),
}


def check_variants(variants: dict[str, str]) -> Variants:
    """The variants as ``Variants``. Raises UsageError for an unknown step or variant."""
    for step, variant in variants.items():
        if variant not in CHOICES.get(step, ()):
            known = "; ".join(f"{name}: {', '.join(values)}" for name, values in CHOICES.items())
            raise UsageError(
                f"variants must name steps of boruvka and variants of them (got {step}={variant}); "
                f"there are {known}"
            )
    return Variants(**variants)


class StepClock:
    """Milliseconds of device time per step; it waits for the device after each."""

    def __init__(self) -> None:
        """Set all times to 0."""
        self.times = dict.fromkeys(STEPS, 0.0)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add the device time of the block to a step."""
        import cupy

        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        yield
        end.record()
        end.synchronize()
        self.times[name] += cupy.cuda.get_elapsed_time(begin, end)


def _ignore_step(name: str) -> AbstractContextManager[None]:
    return nullcontext()


@functools.cache
def _no_arc() -> int:
    return KERNELS.constant("no_arc")


@functools.cache
def _no_edge() -> int:
    return KERNELS.constant("no_edge")


def run(
    indptr: Any,
    indices: Any,
    keys: Any,
    variants: Variants | None = None,
    clock: StepClock | None = None,
) -> Any:
    """Compute the forest's edges by id, uint32, in any order, on the device.

    indptr: int64; indices: int32, rows in ascending order; keys: uint32 weights. clock: where to
    record the time of each step.
    """
    import cupy

    variants = variants or Variants()
    step = clock.step if clock else _ignore_step
    ids = cupy.empty(indices.size, np.uint32)
    with step("edge ids"):
        n, m = indptr.size - 1, indices.size
        KERNELS.launch("boruvka_edge_ids", (indptr, indices, keys, np.uint32(n), np.uint32(m), ids))
    chosen = []
    while indices.size:
        cancellation.raise_if_cancelled()
        n = np.uint32(indptr.size - 1)
        graph = indptr, indices, keys, ids
        with step("choose"):
            candidate = _choose(graph, n, variants.choose)
        with step("mirror"):
            KERNELS.launch("boruvka_remove_mirrored", (indices, n, candidate))
            chosen.append(ids[candidate[candidate != _no_arc()]])
        with step("colours"):
            colour = _propagate_colours(indices, candidate, n, variants.colours)
        with step("rename"):
            new_id, roots = _rename(colour, n, variants.scan)
        if variants.contract == "host":
            with step("contract"):
                indptr, indices, keys, ids = _contract_on_host(graph, colour, new_id, roots)
        else:
            with step("count"):
                new_indptr = _count(graph, colour, new_id, n, roots, variants)
            with step("contract"):
                arcs = _contract(graph, colour, new_id, n, new_indptr, variants.contract)
                indptr, (indices, keys, ids) = new_indptr, arcs
    return cupy.concatenate(chosen) if chosen else cupy.empty(0, np.uint32)


def _choose(graph: tuple[Any, ...], n: Any, variant: str) -> Any:
    """Step 1: each vertex's minimum arc, uint32."""
    import cupy

    min_edge, candidate = 0, cupy.full(int(n), _no_arc(), np.uint32)
    if variant == "edge":
        min_edge = cupy.full(int(n), _no_edge(), np.uint64)
    arguments = (*graph, n, np.uint32(graph[1].size), min_edge, candidate)
    KERNELS.launch(f"boruvka_choose_{variant}", arguments)
    if variant == "edge":
        KERNELS.launch("boruvka_chosen_edge", arguments)
    return candidate


def _propagate_colours(indices: Any, candidate: Any, n: Any, variant: str) -> Any:
    """Step 3: each vertex's root, int32."""
    import cupy

    colour, changed = cupy.empty(int(n), np.int32), cupy.zeros(1, np.int32)
    KERNELS.launch("boruvka_initialise_colours", (indices, candidate, n, colour))
    KERNELS.launch(f"boruvka_{variant}", (n, colour, changed))
    while int(changed[0]):
        changed.fill(0)
        KERNELS.launch(f"boruvka_{variant}", (n, colour, changed))
    return colour


def _scan(values: Any, dtype: Any, variant: str) -> Any:
    """The inclusive scan of an array."""
    import cupy

    if variant == "host":
        return cupy.asarray(np.cumsum(values.get(), dtype=dtype))
    if variant == "naive":
        sums, distance = values.astype(np.uint64), 1
        while distance < values.size:
            next_sums = cupy.empty_like(sums)
            arguments = (sums, np.int64(sums.size), np.int64(distance), next_sums)
            KERNELS.launch("boruvka_scan", arguments)
            sums, distance = next_sums, 2 * distance
        return sums.astype(dtype)
    return cupy.cumsum(values, dtype=dtype)


def _rename(colour: Any, n: Any, scan: str) -> tuple[Any, int]:
    """Step 4: each root's new id, uint32, and the number of roots."""
    import cupy

    flag = cupy.empty(int(n), np.uint32)
    KERNELS.launch("boruvka_flag", (colour, n, flag))
    sums = _scan(flag, np.uint32, scan)
    return sums - flag, int(sums[-1])


def _count(
    graph: tuple[Any, ...], colour: Any, new_id: Any, n: Any, roots: int, variants: Variants
) -> Any:
    """Step 5, first half: the contracted graph's indptr."""
    import cupy

    degree = cupy.zeros(roots, np.uint64)
    m = np.uint32(graph[1].size)
    KERNELS.launch(f"boruvka_count_{variants.count}", (*graph[:2], colour, new_id, n, m, degree))
    indptr = cupy.zeros(roots + 1, np.int64)
    indptr[1:] = _scan(degree, np.int64, variants.scan)
    return indptr


def _contract(
    graph: tuple[Any, ...], colour: Any, new_id: Any, n: Any, indptr: Any, variant: str
) -> tuple[Any, Any, Any]:
    """Step 5, second half: the contracted graph's indices, keys and edge ids."""
    import cupy

    m = int(indptr[-1])
    arcs = cupy.empty(m, np.int32), cupy.empty(m, np.uint32), cupy.empty(m, np.uint32)
    cursor = indptr[:-1].copy()
    arguments = (*graph, colour, new_id, n, np.uint32(graph[1].size), cursor, *arcs)
    KERNELS.launch(f"boruvka_contract_{variant}", arguments)
    return arcs


def _contract_on_host(
    graph: tuple[Any, ...], colour: Any, new_id: Any, roots: int
) -> tuple[Any, Any, Any, Any]:
    """Step 5 as in the paper's hybrid version: the arrays are copied to the host and back."""
    import cupy

    indptr, indices, keys, ids, colour, new_id = (a.get() for a in (*graph, colour, new_id))
    tails = np.repeat(np.arange(indptr.size - 1), np.diff(indptr))
    src, dst = new_id[colour[tails]], new_id[colour[indices]]
    kept = np.flatnonzero(src != dst)
    kept = kept[np.argsort(src[kept], kind="stable")]
    new_indptr = np.zeros(roots + 1, np.int64)
    np.cumsum(np.bincount(src[kept], minlength=roots), out=new_indptr[1:])
    arrays = new_indptr, dst[kept].astype(np.int32), keys[kept], ids[kept]
    return tuple(map(cupy.asarray, arrays))
