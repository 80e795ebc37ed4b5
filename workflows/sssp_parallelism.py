"""The parallelism of shortest paths: near_far's deltas against self_tuning's set-points.

    python workflows/sssp_parallelism.py GRAPH OUT --source 1 [--set-points 5000,20000,80000]

It searches from one source with several deltas and several set-points, writes every search's trace
as Parquet into OUT, and draws the figures of the paper on self-tuning shortest paths: profiles with
their densities (figure 1), mean parallelism and frontiers against delta (2, 3), distributions (5).
An iteration has one hop, as in the paper; with ``--hops 128`` a GPU searches roads faster.
"""

import argparse
import sys
from pathlib import Path

import mgraph
from mgraph import experiments


def parse_numbers(text: str) -> list[float]:
    """Parse ``1,2.5,1e4`` into numbers."""
    return [float(word.replace("_", "")) for word in text.split(",")]


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
        settings |= {f"P = {p:,.6g}": {"set_point": p} for p in options.set_points}
        traces = {}
        for name, setting in settings.items():
            paths = mgraph.sssp(
                graph, options.source, backend=options.backend, trace=True, hops=options.hops,
                **setting,
            )  # fmt: skip
            traces[name] = paths.trace
            work = paths.trace["x2"]
            print(f"{name}: {len(work):,} iterations, {work.mean():,.0f} arcs on average")
            file = "-".join(f"{key}-{value:.6g}" for key, value in setting.items())
            paths.write_trace(options.out / f"{file}.parquet")
            experiments.plot_profile(
                paths.trace, options.out / f"{file}.png",
                title=f"{Path(options.graph).name}, {name}", set_point=setting.get("set_point"),
            )  # fmt: skip
    except mgraph.MgraphError as error:
        print(f"sssp_parallelism: {error}", file=sys.stderr)
        return error.exit_status
    by_delta = {s["delta"]: traces[name] for name, s in settings.items() if "delta" in s}
    title = Path(options.graph).name
    experiments.plot_parallelism_against_delta({title: by_delta}, options.out / "parallelism.png")
    experiments.plot_frontier_against_delta(by_delta, options.out / "frontier.png", title=title)
    fastest = min(by_delta, key=lambda delta: by_delta[delta]["nanoseconds"].sum())
    shown = {name: traces[name] for name, s in settings.items() if "set_point" in s}
    experiments.plot_distributions(
        shown | {f"near_far\ndelta {fastest:,.4g}": by_delta[fastest]},
        options.out / "distributions.png",
        set_points=options.set_points,
        title=title,
    )
    print(f"traces and plots in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
