"""The self-tuning controller of the paper, with what mgraph's does otherwise added bit by bit."""

import time
from typing import Any

import numpy as np

from mgraph.core.graph import Graph
from mgraph.errors import UsageError


def compare_controllers(
    graph: Graph, source: int, set_point: float, *, max_iterations: int = 400_000
) -> Any:
    """Search with the paper's controller, with each change alone, with all, and with mgraph's.

    Parameters
    ----------
    graph : Graph
        Searched where it is, on the CPU or a GPU, there with one hop per iteration.
    source : int
        Where each search begins.
    set_point : float
        P.
    max_iterations : int, default 400,000
        After which a search is given up.

    Returns
    -------
    pandas.DataFrame
        A row per controller: its name, whether the search ended, iterations, expansions per vertex
        reached, the mean, median and deciles of X2, as the controller counts it, and milliseconds.

    Raises
    ------
    UsageError
        If a parameter is wrong.

    Notes
    -----
    Source: S. Karamati, J. Young, R. Vuduc, "An energy-efficient single-source shortest path
    algorithm" (IPDPS 2018). ``mgraph.shortest_paths.paper_controller_cpu`` lists the changes.
    """
    import pandas as pd

    from mgraph.shortest_paths.paper_controller_cpu import CHANGES
    from mgraph.shortest_paths.problem import check_request
    from mgraph.shortest_paths.sssp import check_options, sssp

    check_options("self_tuning", set_point=set_point)
    if max_iterations < 1:
        raise UsageError(f"max_iterations must be at least 1 (got {max_iterations})")
    request = check_request(graph, source, joint=False, targets=None, stop_at="last", cutoff=None)
    expected = sssp(graph, source, method="self_tuning", backend=graph.backend)
    reached = int((expected.distance != expected.infinity).sum())
    chosen: dict[str, tuple[str, ...]] = {"the paper": ()}
    chosen |= {f"with {name}": (name,) for name in CHANGES}
    chosen |= {"with sign, nearest": ("sign", "nearest"), "with all": tuple(CHANGES)}
    _search(request, (), set_point, 2)  # compiles
    rows = []
    for name, changes in chosen.items():
        began = time.perf_counter()
        distance, trace, is_finished = _search(request, changes, set_point, max_iterations)
        seconds = time.perf_counter() - began
        assert not is_finished or bool((distance == expected.distance).all())
        rows.append(_row(name, trace, reached, seconds, is_finished=is_finished))
    for _ in range(2):  # the first one may compile
        began = time.perf_counter()
        paths = sssp(
            graph, source, method="self_tuning", set_point=set_point, backend=graph.backend,
            trace=True, hops=1,
        )  # fmt: skip
    seconds = time.perf_counter() - began
    rows.append(_row("mgraph", paths.trace, reached, seconds, is_finished=True))
    return pd.DataFrame(rows)


def _search(
    request: Any, changes: tuple[str, ...], set_point: float, max_iterations: int
) -> tuple[Any, Any, bool]:
    """Return distances, the trace, and whether the search came to an end."""
    if request.graph.backend == "gpu":
        return _search_gpu(request, changes, set_point, max_iterations)
    from mgraph.shortest_paths import near_far_cpu, paper_controller_cpu, self_tuning, sssp_cpu
    from mgraph.shortest_paths.paper_search_cpu import find_distances_traced

    distance = np.full(request.graph.n, request.infinity, request.dtype)
    state = near_far_cpu.new_search(
        *sssp_cpu.rows_of(request), distance, paper_controller_cpu.PARTITIONS
    )
    mean_weight = request.mean_weight
    controller = paper_controller_cpu.new_controller(
        max(request.mean_degree, 1.0), mean_weight, changes
    )
    min_step = self_tuning.min_step(mean_weight, 1.0, is_integer=request.dtype.kind == "i")
    trace, is_finished = find_distances_traced(
        state, request.sources[0], controller, float(set_point), request.targets,
        request.stop_at_first, request.cutoff, request.infinity, min_step,
        max_iterations=max_iterations,
    )  # fmt: skip
    return distance, trace, is_finished


def _search_gpu(
    request: Any, changes: tuple[str, ...], set_point: float, max_iterations: int
) -> tuple[Any, Any, bool]:
    from mgraph.shortest_paths.paper_search_gpu import Searcher, find_distances

    searcher = Searcher(request.graph, request.dtype)
    distance = searcher.new_distances()
    trace, is_finished = find_distances(
        searcher, request, request.sources[0], distance, float(set_point), trace=True,
        changes=changes, max_iterations=max_iterations,
    )  # fmt: skip
    return distance, trace, is_finished


def _row(
    name: str, trace: Any, reached: int, seconds: float, *, is_finished: bool
) -> dict[str, Any]:
    low, median, high = np.percentile(trace["x2"], [10, 50, 90])
    return {
        "controller": name,
        "ends": is_finished,
        "iterations": len(trace),
        "expansions per vertex": trace["x1"].sum() / reached,
        "mean X2": trace["x2"].mean(),
        "median X2": median,
        "10 % of X2 below": low,
        "10 % of X2 above": high,
        "ms": 1e3 * seconds,
    }
