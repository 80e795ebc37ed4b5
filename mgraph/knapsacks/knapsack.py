"""The 0/1 knapsack problem: checks, the choice of a method, and its result."""

import functools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mgraph.core import backend as backends
from mgraph.core.choices import Backend, Device, KnapsackKey, KnapsackMethod, check_choice
from mgraph.core.html import html_table
from mgraph.core.memory import memory_guard
from mgraph.errors import OutOfMemoryError, UsageError
from mgraph.knapsacks.instance import KnapsackInstance
from mgraph.knapsacks.problem import KnapsackProblem
from mgraph.knapsacks.solution import Solution

METHODS = ("auto", "dynamic_program", "branch_and_bound", "plain_branch_and_bound")
KEYS = ("bound", "profit")


@dataclass(frozen=True, eq=False, repr=False)
class Knapsack:
    """A choice of items, as ``mgraph.knapsack`` returns it.

    Attributes
    ----------
    profit, weight : int
        The total profit and weight of the chosen items.
    items : numpy.ndarray of int64
        The chosen items, in ascending order.
    optimal : bool
        Whether no choice has a larger profit.
    bound : int
        An upper bound on the profit of every choice; equal to ``profit`` if that is optimal.
    nodes : int
        The number of partial solutions that were explored.
    method : str
        The method that ran.
    backend : str
        ``cpu`` or ``gpu``: where it ran.
    seconds : float
        The time that the call took.

    Examples
    --------
    >>> result = mgraph.knapsack([6, 10, 12], [1, 2, 3], 5)
    >>> result
    Knapsack(profit=22, weight=5, 2 items, optimal, dynamic_program on cpu)
    >>> result.items
    array([1, 2])
    >>> result.to_pandas()
       item
    0     1
    1     2
    """

    profit: int
    weight: int
    items: np.ndarray
    optimal: bool
    bound: int
    nodes: int
    method: str
    backend: Device
    seconds: float

    def __repr__(self) -> str:
        """The profit and weight, the number of items, the bound, the method and the backend."""
        bound = "optimal" if self.optimal else f"bound={self.bound}"
        return (
            f"Knapsack(profit={self.profit}, weight={self.weight}, {self.items.size:,} items, "
            f"{bound}, {self.method} on {self.backend})"
        )

    def _repr_html_(self) -> str:
        """Return the same as a table, for notebooks."""
        facts = {
            "profit": self.profit, "weight": self.weight, "items": self.items.size,
            "proved optimal": self.optimal, "bound": None if self.optimal else self.bound,
            "method": f"{self.method} on the {self.backend}",
        }  # fmt: skip
        return html_table("Knapsack", facts)

    def to_pandas(self) -> Any:
        """A ``pandas.DataFrame`` with the column ``item`` (int64), one row per chosen item."""
        import pandas as pd

        return pd.DataFrame({"item": self.items})

    def to_arrow(self) -> Any:
        """A ``pyarrow.Table`` with the column ``item`` (int64), one row per chosen item."""
        import pyarrow as pa

        return pa.table({"item": self.items})


def knapsack(
    profits: ArrayLike,
    weights: ArrayLike,
    capacity: int,
    *,
    method: KnapsackMethod = "auto",
    backend: Backend = "auto",
    key: KnapsackKey = "bound",
    collect: bool = True,
    time_limit: float | None = None,
) -> Knapsack:
    """Choose items of maximum total profit whose total weight is within the capacity.

    Parameters
    ----------
    profits, weights : array_like of int, shape (items,)
        Whole numbers of at least 0.
    capacity : int
        The total weight that the choice may have.
    method : {"auto", "dynamic_program", "branch_and_bound", "plain_branch_and_bound"}
        ``dynamic_program`` runs on one CPU core, ``branch_and_bound`` on a core or a GPU. ``auto``,
        the default, is branch and bound if ``backend="gpu"``; otherwise the dynamic program, and
        branch and bound if that does not fit in memory. ``plain_branch_and_bound`` is the paper's
        own, on a core or a GPU, by profit, for comparison: give it a ``time_limit``.
    backend : {"auto", "cpu", "gpu"}, default "auto"
        Where branch and bound runs.
    key : {"bound", "profit"}, default "bound"
        What ``branch_and_bound`` explores first: the partial solutions with the largest bound, or
        those with the largest profit, as the paper does.
    collect : bool, default True
        Whether branch and bound removes useless nodes from its heap once that has grown (the
        paper's garbage collection).
    time_limit : float, optional
        Seconds after which the best choice so far is returned, with a bound.

    Returns
    -------
    Knapsack
        The chosen items, their profit and weight, and whether they are optimal.

    Raises
    ------
    UsageError
        If an array, the capacity or an option is not as above.
    DeviceError
        If ``backend="gpu"`` and there is no GPU.
    OutOfMemoryError
        If a method needs more memory than there is.

    Notes
    -----
    Without a time limit the profit is the same for every method and backend. Which items have it
    may depend on the method and, on a GPU, on the order of events. Memory: 5 bytes per state for
    the dynamic program, 32 bytes per node for branch and bound; either may be exponential in the
    number of items, and ``BENCHMARKS.md`` beside the source has figures. Sources: D. Pisinger, "A
    minimal algorithm for the 0-1 knapsack problem", 1997 (dynamic program); Y. Chen et al.,
    "Accelerating concurrent heap on GPUs", 2019, section 5.7.2 (branch and bound).

    Examples
    --------
    >>> mgraph.knapsack([6, 10, 12], [1, 2, 3], 5).items
    array([1, 2])
    >>> mgraph.knapsack([6, 10, 12], [1, 2, 3], 5, method="branch_and_bound", backend="cpu").profit
    22
    """
    began = time.monotonic()
    instance = KnapsackInstance(profits, weights, capacity)
    check_options(method, backend, key, time_limit)
    methods = [method]
    if method == "auto":
        methods = (
            ["branch_and_bound"] if backend == "gpu" else ["dynamic_program", "branch_and_bound"]
        )
    problem = KnapsackProblem(instance, is_plain=method == "plain_branch_and_bound")
    chosen = problem.fixed.copy()
    bound, nodes = problem.fixed_profit, 0
    deadline = math.inf if time_limit is None else began + time_limit
    for method in methods:
        used_backend = backends.resolve("cpu" if method == "dynamic_program" else backend)
        if not problem.size:
            break
        solve = _select_solver(method, used_backend, key == "bound", collect)
        purpose = f"{method}'s partial solutions of {problem.size:,} items"
        remedy = "use another method, or solve fewer instances at a time"
        try:
            with memory_guard(purpose, remedy):
                solution = solve(problem, deadline)
        except OutOfMemoryError:  # the method's memory is freed with the exception
            if len(methods) == 1:
                raise
            if method == methods[-1]:
                raise OutOfMemoryError(
                    f"neither the dynamic program nor branch and bound of these {problem.size:,} "
                    "items fits in memory; use a machine with more memory, or set time_limit"
                ) from None
            continue
        chosen[problem.item_ids[solution.chosen]] = True
        bound, nodes = bound + solution.bound, solution.nodes
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
        backend=used_backend,
        seconds=time.monotonic() - began,
    )


def check_options(method: str, backend: Backend, key: str, time_limit: float | None) -> None:
    """Raise UsageError for options that ``knapsack`` would not take."""
    check_choice("method", method, METHODS)
    check_choice("backend", backend, backends.BACKENDS)
    if method == "dynamic_program" and backend == "gpu":
        raise UsageError(
            "method dynamic_program runs on a CPU (got backend 'gpu'); use method branch_and_bound"
        )
    check_choice("key", key, KEYS)
    if time_limit is None:
        return
    number = isinstance(time_limit, (int, float, np.number)) and not isinstance(time_limit, bool)
    if not number or not 0 <= time_limit < math.inf:
        raise UsageError(
            f"time_limit must be a number of seconds of at least 0, or None (got {time_limit!r})"
        )


def _select_solver(
    method: str, backend: Backend, by_bound: bool, collect: bool
) -> Callable[[KnapsackProblem, float], Solution]:
    """The function that solves a problem by a method, given a deadline."""
    options: dict[str, bool] = {"collect": collect}
    if method != "plain_branch_and_bound":
        options["by_bound"] = by_bound
    solve: Any
    if method == "dynamic_program":
        from mgraph.knapsacks.dynamic_program import solve

        options = {}
    elif backend == "gpu":
        from mgraph.knapsacks.branch_and_bound_gpu import solve
    elif method == "plain_branch_and_bound":
        from mgraph.knapsacks.plain_branch_and_bound_cpu import solve
    else:
        from mgraph.knapsacks.branch_and_bound_cpu import solve
    return functools.partial(solve, **options)
