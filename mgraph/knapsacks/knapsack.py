"""The front door of the 0/1 knapsack: checks, the choice of a method, and one form of answer."""

import math
import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from mgraph.core import backend as backends
from mgraph.errors import UsageError
from mgraph.knapsacks import dynamic_program
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
    seconds: float


def knapsack(
    profits: Any,
    weights: Any,
    capacity: int,
    *,
    method: str = "auto",
    key: str = "bound",
    collect: bool = True,
    time_limit: float | None = None,
    backend: str = "auto",
) -> Knapsack:
    """Choose items of most profit whose weights are within the capacity.

    profits, weights: whole numbers, 0 or more, shape (items,). method: ``dynamic_program``,
    ``branch_and_bound``, or ``auto``, which is the first. key, collect: of branch and bound,
    whether the node of the largest bound or of the most profit comes first, and whether dead nodes
    are taken out of its heap when it has grown. time_limit: seconds after which the best choice so
    far is given, with its bound. Deterministic but for the time limit. Raises UsageError, and
    OutOfMemoryError where a method would keep too much.
    """
    began = time.monotonic()
    instance = KnapsackInstance(profits, weights, capacity)
    if method not in METHODS:
        raise UsageError(f"method must be one of {', '.join(METHODS)}, and is {method!r}")
    if key not in KEYS:
        raise UsageError(f"key must be bound or profit, and is {key!r}")
    if time_limit is not None and not 0 <= time_limit < math.inf:
        raise UsageError(f"time_limit must be 0 seconds or more, and is {time_limit}")
    problem = KnapsackProblem(instance)
    deadline = math.inf if time_limit is None else began + time_limit
    chosen = problem.certain.copy()
    bound, nodes = 0, 0
    if problem.size:
        if method == "branch_and_bound":
            solve = _branch_and_bound(backends.resolve(backend))
            found = solve(problem, deadline, by_bound=key == "bound", collect=collect)
        else:
            found = dynamic_program.solve(problem, deadline)
        chosen[problem.item[found.chosen]] = True
        bound, nodes = found.bound, found.nodes
    profit, weight = instance.check_solution(chosen)
    bound += problem.certain_profit
    return Knapsack(
        profit=profit,
        weight=weight,
        items=np.flatnonzero(chosen),
        optimal=profit == bound,
        bound=bound,
        nodes=nodes,
        method="dynamic_program" if method == "auto" else method,
        seconds=time.monotonic() - began,
    )


def _branch_and_bound(backend: str) -> Any:
    if backend == "gpu":
        from mgraph.knapsacks import branch_and_bound_gpu

        return branch_and_bound_gpu.solve
    from mgraph.knapsacks import branch_and_bound_cpu

    return branch_and_bound_cpu.solve
