"""The front door of the 0/1 knapsack: checks, the choice of a method, and one form of answer."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgraph.core import backend as backends
from mgraph.core.choices import check_choice
from mgraph.core.memory import memory_guard
from mgraph.errors import OutOfMemoryError, UsageError
from mgraph.knapsacks.found import Found
from mgraph.knapsacks.instance import KnapsackInstance
from mgraph.knapsacks.problem import KnapsackProblem

METHODS = ("auto", "dynamic_program", "branch_and_bound")
KEYS = ("bound", "profit")


@dataclass(frozen=True)
class Knapsack:
    """A choice of items. profit, weight: their sums; items: their numbers, int64, ascending.

    optimal: whether no choice has more profit; bound: what no choice is above. nodes: partial
    solutions that were looked at; seconds: how long it took, without reading the instance.
    """

    profit: int
    weight: int
    items: np.ndarray
    optimal: bool
    bound: int
    nodes: int
    method: str
    backend: str
    seconds: float


def knapsack(
    profits: Any,
    weights: Any,
    capacity: int,
    *,
    method: str = "auto",
    backend: str = "auto",
    key: str = "bound",
    collect: bool = True,
    time_limit: float | None = None,
) -> Knapsack:
    """Choose items of most profit whose weights are within the capacity.

    profits, weights: whole numbers, 0 or more, shape (items,). method: ``dynamic_program``, on one
    core, ``branch_and_bound``, or ``auto``: branch and bound if backend is gpu, else the dynamic
    program, and branch and bound where that does not fit in memory; BENCHMARKS.md has both.
    backend: auto, cpu or gpu. key: what branch and bound looks at first, the nodes of the largest
    bound, or of the most profit. collect: whether nodes that lead to nothing better are taken out
    of its heap when that has grown. time_limit: seconds after which the best choice so far is
    given, with its bound.
    The profit is always the same, but for the time limit; which items have it may depend on the
    method and, on a GPU, on the order of events. Raises UsageError, DeviceError for ``gpu`` without
    a device, and OutOfMemoryError where a method would keep too much.
    """
    began = time.monotonic()
    instance = KnapsackInstance(profits, weights, capacity)
    check_options(method, backend, key, time_limit)
    methods = [method]
    if method == "auto":
        methods = (
            ["branch_and_bound"] if backend == "gpu" else ["dynamic_program", "branch_and_bound"]
        )
    problem = KnapsackProblem(instance)
    chosen = problem.certain.copy()
    bound, nodes = problem.certain_profit, 0
    deadline = math.inf if time_limit is None else began + time_limit
    for method in methods:
        on = backends.resolve("cpu" if method == "dynamic_program" else backend)
        if not problem.size:
            break
        solve = _solver(method, on, key == "bound", collect)
        instead = "use another method, or fewer at a time"
        try:
            with memory_guard(f"what {method} keeps of {problem.size:,} items", instead):
                found = solve(problem, deadline)
        except OutOfMemoryError:  # what the method kept goes with the exception
            if len(methods) == 1:
                raise
            if method == methods[-1]:
                raise OutOfMemoryError(
                    f"neither the dynamic program nor branch and bound has room for these "
                    f"{problem.size:,} items; use a machine with more memory, or a time limit"
                ) from None
            continue
        chosen[problem.item[found.chosen]] = True
        bound, nodes = bound + found.bound, found.nodes
        break
    profit, weight = instance.check_solution(chosen)
    return Knapsack(
        profit=profit,
        weight=weight,
        items=np.flatnonzero(chosen),
        optimal=profit == bound,
        bound=bound,
        nodes=nodes,
        method=method,
        backend=on,
        seconds=time.monotonic() - began,
    )


def check_options(method: str, backend: str, key: str, time_limit: float | None) -> None:
    """Raise UsageError for options that ``knapsack`` would not take."""
    check_choice("method", method, METHODS)
    if backend not in ("auto", "cpu", "gpu"):
        raise UsageError(f"backend must be auto, cpu or gpu, and is {backend!r}")
    if method == "dynamic_program" and backend == "gpu":
        raise UsageError("dynamic_program runs on a CPU; branch_and_bound runs on a GPU")
    check_choice("key", key, KEYS)
    if time_limit is None:
        return
    number = isinstance(time_limit, (int, float, np.number)) and not isinstance(time_limit, bool)
    if not number or not 0 <= time_limit < math.inf:
        raise UsageError(
            f"time_limit must be a number of seconds, 0 or more, or left out, and is {time_limit!r}"
        )


def _solver(
    method: str, backend: str, by_bound: bool, collect: bool
) -> Callable[[KnapsackProblem, float], Found]:
    if method != "branch_and_bound":
        from mgraph.knapsacks import dynamic_program

        return dynamic_program.solve
    solve: Any
    if backend == "gpu":
        from mgraph.knapsacks.branch_and_bound_gpu import solve
    else:
        from mgraph.knapsacks.branch_and_bound_cpu import solve
    return lambda problem, deadline: solve(problem, deadline, by_bound=by_bound, collect=collect)
