"""The parallelism of shortest paths: near_far's deltas against self_tuning's set-points.

    python workflows/sssp_parallelism.py GRAPH OUT --source 1 [--set-points 5000,20000,80000]

It searches from one source with several deltas and several set-points, writes every search's trace
as Parquet into OUT, a table of all, searches.parquet and tables.md, and as PNG and SVG the figures
of the paper on self-tuning shortest paths: profiles with their densities (figure 1), mean
parallelism and frontiers against delta (2, 3), distributions (5). An iteration has one hop, as in
the paper; with ``--hops 128`` a GPU searches roads faster. With ``--controller paper`` set-points
are held by the paper's controller in place of mgraph's; searches that it does not end are left out.
"""

import argparse
import sys
from pathlib import Path
from typing import Any

import pandas as pd

import mgraph
from mgraph import experiments


def parse_numbers(text: str) -> list[float]:
    """Parse ``1,2.5,1e4`` into numbers."""
    return [float(word.replace("_", "")) for word in text.split(",")]


def summarize(name: str, trace: Any) -> dict[str, Any]:
    """Return a search's row; columns x1 to x4 of a trace are the paper's."""
    row = {"search": name, "iterations": len(trace)}
    for column in ("x1", "x2", "x3", "x4"):
        values = pd.Series(trace[column])
        row |= {f"mean {column}": values.mean(), f"median {column}": values.median()}
    return row | {"largest x2": trace["x2"].max(), "ms": trace["nanoseconds"].sum() / 1e6}


def main(argv: list[str] | None = None) -> int:
    """Run the job; return 0 once all is drawn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("graph", help="a dataset or a graph file")
    parser.add_argument("out", type=Path)
    parser.add_argument("--source", type=int, default=0)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--symmetrise", action="store_true")
    parser.add_argument(
        "--deltas", type=parse_numbers, default=[1 / 16, 1 / 4, 1, 4, 16, 64],
        help="times 32·w/d of the graph",
    )  # fmt: skip
    parser.add_argument("--set-points", type=parse_numbers, default=[5_000, 20_000, 80_000])
    parser.add_argument("--hops", type=int, default=1, help="per iteration, on a GPU up to 128")
    parser.add_argument("--controller", choices=("mgraph", "paper"), default="mgraph")
    options = parser.parse_args(argv)

    try:
        options.out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        print(f"sssp_parallelism: {options.out} cannot be written to: {error}", file=sys.stderr)
        return 1
    try:
        graph = mgraph.read_graph(
            options.graph, symmetrise=options.symmetrise, backend=options.backend
        )
        unit = 32 * graph.mean_weight * graph.n / max(graph.num_arcs, 1)
        settings = {f"delta {d * unit:,.6g}": {"delta": d * unit} for d in options.deltas}
        held = {"controller": options.controller}
        settings |= {f"P = {p:,.6g}": {"set_point": p} | held for p in options.set_points}
        traces, rows = {}, []
        for name, setting in settings.items():
            try:
                paths = mgraph.sssp(
                    graph, options.source, backend=options.backend, trace=True, hops=options.hops,
                    **setting,
                )  # fmt: skip
            except mgraph.MgraphError as error:
                if setting.get("controller") != "paper":
                    raise
                print(f"{name}: left out, since {error}")
                continue
            traces[name] = paths.trace
            work = paths.trace["x2"]
            print(f"{name}: {len(work):,} iterations, {work.mean():,.0f} arcs on average")
            rows.append(summarize(name, paths.trace))
            key, value = next(iter(setting.items()))
            file = f"{key}-{value:.6g}"
            paths.write_trace(options.out / f"{file}.parquet")
            experiments.plot_profile(
                paths.trace, experiments.figure_files(options.out, file),
                title=f"{Path(options.graph).name}, {name}", set_point=setting.get("set_point"),
            )  # fmt: skip
    except mgraph.MgraphError as error:
        print(f"sssp_parallelism: {error}", file=sys.stderr)
        return error.exit_status
    by_delta = {s["delta"]: traces[name] for name, s in settings.items() if "delta" in s}
    title = Path(options.graph).name
    report = experiments.TableReport(options.out, "Parallelism of shortest paths")
    report.add("searches", f"{title}, source {options.source}", pd.DataFrame(rows))
    experiments.plot_parallelism_against_delta(
        {title: by_delta}, experiments.figure_files(options.out, "parallelism")
    )
    experiments.plot_frontier_against_delta(
        by_delta, experiments.figure_files(options.out, "frontier"), title=title
    )
    fastest = min(by_delta, key=lambda delta: by_delta[delta]["nanoseconds"].sum())
    points = {s["set_point"]: name for name, s in settings.items() if "set_point" in s}
    shown = {point: traces[name] for point, name in points.items() if name in traces}
    experiments.plot_distributions(
        {points[point]: trace for point, trace in shown.items()}
        | {f"near_far\ndelta {fastest:,.4g}": by_delta[fastest]},
        experiments.figure_files(options.out, "distributions"),
        set_points=list(shown),
        title=title,
    )
    print(f"traces, tables and plots in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
