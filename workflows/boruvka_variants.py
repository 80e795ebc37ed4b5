"""The times of Borůvka's steps with one thread per vertex, per edge, or on the host.

    python workflows/boruvka_variants.py OUT GRAPH … [--variant choose=vertex …] [--symmetrise]

It spans each graph on a GPU by `boruvka` in the versions of A. Biagiotti's "Parallel solution for
the MST problem", then with the default variants and with each other one in turn, and writes
each step's milliseconds into OUT, as a table in Parquet and in Markdown, and their sums as a figure
in PNG and SVG. On skewed degrees a thread whose vertex has many arcs delays all others. Without a
GPU, or with --backend cpu, it measures what the paper compares on a CPU: its version 1, which is
Borůvka's algorithm on one core, and Prim's with a heap and without one.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path

import pandas as pd

import mgraph
from mgraph import experiments

BY_VERTEX = {"choose": "vertex", "count": "vertex", "contract": "vertex", "colours": "walk"}
HISTORY = {  # the paper's versions 2 to 6; 1 is on the CPU
    "version 2": BY_VERTEX | {"scan": "naive"},
    "version 3": BY_VERTEX | {"scan": "host", "contract": "host"},
    "version 4": BY_VERTEX | {"scan": "host"},
    "version 5": BY_VERTEX,
    "version 6": {"choose": "vertex", "colours": "walk"},
}
ON_CORES = {
    "version 1, one core": "boruvka",
    "Prim with a heap, one core": "prim",
    "Prim without a heap, one core": "prim_naive",
}
NAIVE_MAX = 20_000  # vertices: Prim without a heap takes time by their square
ONE_BY_ONE: list[dict[str, str]] = [
    {},
    {"choose": "vertex"},
    {"count": "vertex"},
    {"contract": "vertex"},
    {"colours": "walk"},
    {"scan": "naive"},
]


def parse_variant(text: str) -> dict[str, str]:
    """Parse ``contract=vertex,scan=host`` into what `minimum_spanning_forest` takes."""
    pairs = [word.partition("=") for word in text.split(",")]
    return {step: way for step, _, way in pairs}


def name_variants(variants: list[dict[str, str]]) -> dict[str, dict[str, str]]:
    """Return the variants by the names of their rows."""
    names = [", ".join(f"{step} {way}" for step, way in ways.items()) for ways in variants]
    return {name or "default": ways for name, ways in zip(names, variants, strict=True)}


def make_single_edge(graph: mgraph.Graph) -> mgraph.Graph:
    """Return a graph of one edge, with a weight if the graph has weights."""
    end = graph.indices[:1] * 0
    weight = None if graph.weights is None else graph.weights[:1]
    return mgraph.from_edges(mgraph.EdgeList(end + 1, end, weight), directed=False, backend="gpu")


def measure_variants(file: str, options: argparse.Namespace) -> list[dict[str, object]]:
    """Return one row per variant: graph, variant, the forest's edges, one column per step."""
    graph = mgraph.read_graph(file, symmetrise=options.symmetrise, backend="gpu")
    print(f"{file}: {graph}")
    small = make_single_edge(graph)
    mgraph.minimum_spanning_forest(graph, method="boruvka")  # allocates memory for the others
    rows = []
    requested = (
        name_variants(options.variant) if options.variant else HISTORY | name_variants(ONE_BY_ONE)
    )
    for name, variants in requested.items():
        method_options = {"method": "boruvka", "variants": variants, "timed": True}
        mgraph.minimum_spanning_forest(small, **method_options)  # compiles what will be timed
        runs = [
            mgraph.minimum_spanning_forest(graph, **method_options) for _ in range(options.repeats)
        ]
        runs.sort(key=lambda run: sum(run.step_times.values()))
        times = runs[len(runs) // 2].step_times
        row = {"graph": Path(file).name, "variant": name, "edges": len(runs[0])}
        rows.append(row | times | {"all": sum(times.values())})
        print(f"  {rows[-1]['variant']}: {rows[-1]['all']:,.1f} ms")
    return rows


def measure_on_cores(file: str, options: argparse.Namespace) -> list[dict[str, object]]:
    """Return one row per algorithm of the paper on a CPU: graph, variant, edges, milliseconds."""
    graph = mgraph.read_graph(file, symmetrise=options.symmetrise, backend="cpu")
    print(f"{file}: {graph}")
    rows: list[dict[str, object]] = []
    for name, method in ON_CORES.items():
        if method == "prim_naive" and graph.n > NAIVE_MAX:
            print(f"  {name}: left out, since the graph has more than {NAIVE_MAX:,} vertices")
            continue
        times = []
        for _ in range(options.repeats + 1):  # the first one compiles
            began = time.perf_counter()
            forest = mgraph.minimum_spanning_forest(graph, method=method, backend="cpu")
            times.append(1000 * (time.perf_counter() - began))
        median = statistics.median(times[1:])
        rows.append({"graph": Path(file).name, "variant": name, "edges": len(forest)})
        rows[-1]["all"] = median
        print(f"  {name}: {median:,.1f} ms")
    return rows


def format_markdown(table: pd.DataFrame) -> str:
    """Return the table in Markdown, milliseconds with one decimal."""
    rows = [list(table), ["---"] * len(table.columns)]
    rows += [[f"{x:.1f}" if isinstance(x, float) else str(x) for x in row] for row in table.values]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def main(argv: list[str] | None = None) -> int:
    """Run the job; return 0 once the tables are written."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("graphs", nargs="+", metavar="graph", help="datasets or graph files")
    parser.add_argument(
        "--variant", type=parse_variant, action="append", help="instead of the default list"
    )
    parser.add_argument(
        "--repeats", type=int, default=5, help="report the median of this many runs"
    )
    parser.add_argument("--symmetrise", action="store_true")
    parser.add_argument("--backend", default="auto", help="auto, cpu or gpu")
    options = parser.parse_args(argv)
    try:
        backend = experiments.resolve_backend(options.backend)
        if options.variant and backend == "cpu":
            raise mgraph.UsageError("--variant is for a GPU, and there is none or --backend is cpu")
        if options.repeats < 1:
            raise mgraph.UsageError(f"--repeats must be at least 1 (got {options.repeats})")
        figures = experiments.figure_files(options.out, "steps")
        experiments.check_figure(figures)
        options.out.mkdir(parents=True, exist_ok=True)
        measure = measure_variants if backend == "gpu" else measure_on_cores
        table = pd.DataFrame([row for file in options.graphs for row in measure(file, options)])
        table.to_parquet(options.out / "steps.parquet")
        (options.out / "steps.md").write_text(format_markdown(table))
        labels = table["graph"] + ", " + table["variant"]
        experiments.plot_dots(dict(zip(labels, table["all"], strict=True)), figures, x="time, ms")
    except OSError as error:
        print(f"boruvka_variants: {options.out} cannot be written to: {error}", file=sys.stderr)
        return 1
    except mgraph.MgraphError as error:
        print(f"boruvka_variants: {error}", file=sys.stderr)
        return error.exit_status
    print(f"steps.parquet, steps.md and a figure of the sums in {options.out}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
