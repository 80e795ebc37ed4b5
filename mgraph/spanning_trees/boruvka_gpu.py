"""Borůvka's algorithm in the paper's five steps on a GPU: the launches of ``boruvka.cu``.

Source and steps: see ``boruvka_cpu``. The paper tells how its program changed: a thread a vertex
everywhere (topology-driven); then the scan and step 5 on the host; step 5 back on the device; a
work-efficient scan there, for which CUB's stands here; step 5 with a thread an arc (data-driven).
``Variants`` has them all, so that what it found can be measured again; texture memory has gone.

Cost of a round: each arc is read in steps 1 (twice by edges), 5 (count) and 5 (write), with its
vertex by binary search where a thread has an arc; three waits for the device, and one for each jump
of step 3. Device bytes: 12 an arc of the graph, 32 an arc of the first round, 24 a vertex.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgraph.core import cancellation
from mgraph.cuda.source import Source
from mgraph.errors import UsageError

MOST_ARCS = (1 << 32) - (1 << 20)  # arcs are counted in words, by strides
NONE = 0xFFFFFFFF
STEPS = ("edge ids", "choose", "mirror", "colours", "rename", "count", "contract")

KERNELS = Source(__package__, "boruvka.cu")


@dataclass(frozen=True)
class Variants:
    """How each step is done.

    choose, count, contract: ``edge`` or ``vertex``, a thread each; contract (with count) also on
    the ``host``. colours: ``jump``, halving all ways at a time, or ``walk``, each vertex alone, as
    in the paper. scan: ``cub``, which is work-efficient, ``naive``, with O(n log n) additions, or
    ``host``.
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
    """The variants by name. Raises UsageError for a step or a variant that there is not."""
    for step, variant in variants.items():
        if variant not in CHOICES.get(step, ()):
            known = "; ".join(f"{name}: {', '.join(ways)}" for name, ways in CHOICES.items())
            raise UsageError(
                f"{step}={variant} is no variant of boruvka's steps, which are {known}"
            )
    return Variants(**variants)


class Clock:
    """Milliseconds of the device by step; waits for it after each."""

    def __init__(self) -> None:
        """Nothing has taken any time."""
        self.times = dict.fromkeys(STEPS, 0.0)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add what the block takes on the device."""
        import cupy

        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        yield
        end.record()
        end.synchronize()
        self.times[name] += cupy.cuda.get_elapsed_time(begin, end)


class _NoClock:
    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        yield


def run(
    indptr: Any, indices: Any, keys: Any, variants: Variants | None = None, clock: Any = None
) -> Any:
    """The forest's edges by id, uint32, in any order, on the device.

    indptr: int64; indices: int32, rows in ascending order; keys: uint32 weights. clock: a ``Clock``
    to be told how long each step takes.
    """
    import cupy

    how, clock = variants or Variants(), clock or _NoClock()
    ids = cupy.empty(indices.size, np.uint32)
    with clock.step("edge ids"):
        n, m = indptr.size - 1, indices.size
        KERNELS.launch("boruvka_edge_ids", (indptr, indices, keys, np.uint32(n), np.uint32(m), ids))
    chosen = []
    while indices.size:
        cancellation.raise_if_cancelled()
        n = np.uint32(indptr.size - 1)
        graph = indptr, indices, keys, ids
        with clock.step("choose"):
            candidate = _choose(graph, n, how.choose)
        with clock.step("mirror"):
            KERNELS.launch("boruvka_remove_mirrored", (indices, n, candidate))
            chosen.append(ids[candidate[candidate != NONE]])
        with clock.step("colours"):
            colour = _colours(indices, candidate, n, how.colours)
        with clock.step("rename"):
            new_id, roots = _new_ids(colour, n, how.scan)
        if how.contract == "host":
            with clock.step("contract"):
                indptr, indices, keys, ids = _contract_on_host(graph, colour, new_id, roots)
        else:
            with clock.step("count"):
                new_indptr = _count(graph, colour, new_id, n, roots, how)
            with clock.step("contract"):
                made = _contract(graph, colour, new_id, n, new_indptr, how.contract)
                indptr, (indices, keys, ids) = new_indptr, made
    return cupy.concatenate(chosen) if chosen else cupy.empty(0, np.uint32)


def _choose(graph: tuple[Any, ...], n: Any, variant: str) -> Any:
    """Step 1: each vertex's lightest arc, uint32."""
    import cupy

    best, candidate = 0, cupy.full(int(n), NONE, np.uint32)
    if variant == "edge":
        best = cupy.full(int(n), (1 << 64) - 1, np.uint64)
    arguments = (*graph, n, np.uint32(graph[1].size), best, candidate)
    KERNELS.launch(f"boruvka_choose_{variant}", arguments)
    if variant == "edge":
        KERNELS.launch("boruvka_chosen_edge", arguments)
    return candidate


def _colours(indices: Any, candidate: Any, n: Any, variant: str) -> Any:
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
    """The inclusive scan."""
    import cupy

    if variant == "host":
        return cupy.asarray(np.cumsum(values.get(), dtype=dtype))
    if variant == "naive":
        sums, back = values.astype(np.uint64), 1
        while back < values.size:
            added = cupy.empty_like(sums)
            KERNELS.launch("boruvka_scan", (sums, np.int64(sums.size), np.int64(back), added))
            sums, back = added, 2 * back
        return sums.astype(dtype)
    return cupy.cumsum(values, dtype=dtype)


def _new_ids(colour: Any, n: Any, scan: str) -> tuple[Any, int]:
    """Step 4: each root's new id, uint32, and how many roots there are."""
    import cupy

    flag = cupy.empty(int(n), np.uint32)
    KERNELS.launch("boruvka_flag", (colour, n, flag))
    ends = _scan(flag, np.uint32, scan)
    return ends - flag, int(ends[-1])


def _count(
    graph: tuple[Any, ...], colour: Any, new_id: Any, n: Any, roots: int, how: Variants
) -> Any:
    """Step 5, its first half: the contracted graph's indptr."""
    import cupy

    degree = cupy.zeros(roots, np.uint64)
    m = np.uint32(graph[1].size)
    KERNELS.launch(f"boruvka_count_{how.count}", (*graph[:2], colour, new_id, n, m, degree))
    indptr = cupy.zeros(roots + 1, np.int64)
    indptr[1:] = _scan(degree, np.int64, how.scan)
    return indptr


def _contract(
    graph: tuple[Any, ...], colour: Any, new_id: Any, n: Any, indptr: Any, variant: str
) -> tuple[Any, Any, Any]:
    """Step 5, its second half: indices, keys and edge ids of the contracted graph."""
    import cupy

    m = int(indptr[-1])
    made = cupy.empty(m, np.int32), cupy.empty(m, np.uint32), cupy.empty(m, np.uint32)
    arguments = (*graph, colour, new_id, n, np.uint32(graph[1].size), indptr[:-1].copy(), *made)
    KERNELS.launch(f"boruvka_contract_{variant}", arguments)
    return made


def _contract_on_host(
    graph: tuple[Any, ...], colour: Any, new_id: Any, roots: int
) -> tuple[Any, Any, Any, Any]:
    """Step 5 as the paper's hybrid version had it: the arrays go to the host and back."""
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
