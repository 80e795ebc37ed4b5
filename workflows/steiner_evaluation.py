"""The evaluation of the paper on STAR on GPUs: speed-ups, times of parts, SteinLib's gaps.

    python workflows/steiner_evaluation.py OUT [GRAPH ...] [--k 2,4,8,16] [--steinlib FOLDER]

Source: C. Mathieu, M. Klusch, "Accelerated Steiner tree problem solving on GPU with CUDA", section
4. Graphs are Barabási and Albert's (BA) of growing size, and those given. For each k it draws
terminals at random, and measures by the same queries the reference (dijkstra, on a core) and the
searches on a GPU; without one the reference alone, of the smaller half of the sizes. A k above the
number of connected vertices of a graph is left out, and one for which memory runs out, with those
above it. OUT/runs.csv and runs.parquet have one row per run (n vertices, m arcs); cases and
speedups are figure 5 of the paper, parts figure 6, each as PNG and SVG; summary.txt is what is
printed at the end. With --unit-weights each edge counts 1, as in the paper's ontologies. With
--epsilon E, the improvement rule's threshold, the column searches_bound has
w_max / (w_min · E) · edges · k, the paper's bound of the searches, beside those that were made.

--steinlib: a folder of instances with one folder per class (C/c01.stp), and optima.csv with columns
instance and optimum. OUT/steinlib.csv and steinlib.parquet have one row per tree, the figure
steinlib gaps and times.
"""

import argparse
import math
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mgraph
from mgraph import experiments

REFERENCE, IMPROVED = "dijkstra", "improved"
ON_GPU = ("auto", "node", "edge")
SIZES = {"gpu": [10**3, 10**4, 10**5, 10**6], "cpu": [10**3, 10**4]}
WARM_UP_SECONDS, MAX_WARM_UPS = 1.0, 4  # without compilation; the number of warm-ups

Case = tuple[str, mgraph.Graph, dict[int, list[Any]]]  # a graph's name, the graph, its queries by k


def parse_words(text: str) -> list[str]:
    """Parse ``a,b`` into distinct words."""
    return list(dict.fromkeys(word for word in text.split(",") if word))


def parse_numbers(text: str) -> list[int]:
    """Parse ``1,10_000`` into distinct numbers, ascending."""
    return sorted({int(word) for word in parse_words(text)})


def check_options(options: argparse.Namespace) -> None:
    """Raise MgraphError for wrong options, or if figures cannot be written."""
    experiments.check_figure(options.out / "parts.png")
    if options.samples < 1 or not options.k:
        raise mgraph.UsageError(
            f"--samples must be at least 1 (got {options.samples}), and --k must name a number"
        )
    if not set(options.searches) <= set(ON_GPU):
        raise mgraph.UsageError(f"--searches must be some of {', '.join(ON_GPU)}")
    options.backend = experiments.resolve_backend(options.backend)
    if options.sizes is None:
        options.sizes = SIZES[options.backend]
    if not (options.graphs or options.sizes or options.steinlib):
        raise mgraph.UsageError("there is nothing to measure: give --sizes, graphs or --steinlib")
    if options.improve and not options.steinlib:
        raise mgraph.UsageError("--improve needs --steinlib")


def make_cases(options: argparse.Namespace) -> list[Case]:
    """Return the graphs, with terminals drawn at random."""
    graphs = []
    for n in options.sizes:
        model = mgraph.CopyModel(n, d=2, seed=options.seed, weights=(1, 99))
        edges = model.edges(backend="cpu").edges
        graphs.append(("BA", mgraph.from_edges(edges, n, directed=False, backend="cpu")))
    names = ["BA", *(Path(file).name for file in options.graphs)]
    if len(set(names)) < len(names):
        raise mgraph.UsageError("two graphs have the same name, or one is BA; rename a file")
    for name, file in zip(names[1:], options.graphs, strict=True):
        graph = mgraph.read_graph(file, symmetrise=options.symmetrise, backend="cpu")
        graphs.append((name, graph))
    if options.unit_weights:
        graphs = [(name, with_unit_weights(graph)) for name, graph in graphs]
    return [(name, graph, draw_queries(name, graph, options)) for name, graph in graphs]


def draw_queries(
    name: str, graph: mgraph.Graph, options: argparse.Namespace
) -> dict[int, list[Any]]:
    """Return terminals by k, without the k above the number of vertices that are connected."""
    largest = int(mgraph.connected_components(graph).sizes.max())
    left_out = [k for k in options.k[1:] if k > largest]  # the least one has to be possible
    if left_out:
        print(
            f"{name} of {graph.n:,} vertices: {largest:,} are connected, so k = "
            f"{', '.join(map(str, left_out))} is left out"
        )
    return {
        k: experiments.sample_terminals(graph, [(k, options.samples)], options.seed)
        for k in options.k
        if k not in left_out
    }


def with_unit_weights(graph: mgraph.Graph) -> mgraph.Graph:
    """Return the graph with weights of 1."""
    weights = np.ones(graph.num_arcs, np.int32)
    return mgraph.Graph(graph.indptr, graph.indices, weights, directed=graph.directed)


def read_instances(folder: Path) -> tuple[list[Case], pd.Series]:
    """Read SteinLib's instances, of one query each, and their optima."""
    try:
        optima = pd.read_csv(folder / "optima.csv").set_index("instance")["optimum"]
        optima = pd.to_numeric(optima)
        if optima.isna().any():
            raise ValueError(f"{optima.index[optima.isna()][0]} has no optimum")
    except (OSError, KeyError, ValueError) as error:
        raise mgraph.DatasetError(
            f"{folder} must hold optima.csv with columns instance and optimum: {error}"
        ) from error
    cases: list[Case] = []
    for file in sorted(folder.rglob("*.stp")):
        graph, terminals, _ = experiments.read_steinlib(file, backend="cpu")
        cases.append((file.relative_to(folder).as_posix(), graph, {terminals.size: [terminals]}))
    without = next((name for name, _, _ in cases if name not in optima), None)
    if without or not cases:
        problem = (
            f"no optimum of {without} in optima.csv" if without else "no file that ends in .stp"
        )
        raise mgraph.DatasetError(f"{folder} must hold instances and their optima (got {problem})")
    return cases, optima


def solve(
    graph: mgraph.Graph, terminals: Any, search: str, **limit: float
) -> tuple[mgraph.SteinerTree, float]:
    """Solve a query; return its tree and the seconds."""
    options: dict[str, Any] = {"search": search, "backend": "gpu"}
    if search not in ON_GPU:
        options = {"search": REFERENCE, "backend": "cpu", "improve": search == IMPROVED}
    began = time.perf_counter()
    tree = mgraph.steiner_tree(graph, terminals, **options, **limit)
    return tree, time.perf_counter() - began


def warm_up(graph: mgraph.Graph, terminals: Any, search: str) -> None:
    """Prepare the graph, and compile all code; the first warm-ups may run out of time."""
    for _ in range(MAX_WARM_UPS):
        if solve(graph, terminals, search, time_limit=WARM_UP_SECONDS)[0].complete:
            return


def measure_query(
    graph: mgraph.Graph, terminals: Any, search: str, epsilon: float
) -> dict[str, Any]:
    """Time a query; return its row."""
    rule = {"epsilon": epsilon} if epsilon and search != IMPROVED else {}
    tree, total = solve(graph, terminals, search, **rule)
    seconds = {"": total} | {f"_{part}": value for part, value in tree.seconds.items()}
    row = {"search": search, "cost": tree.cost}
    row |= {f"milliseconds{part}": round(1000 * value, 4) for part, value in seconds.items()}
    row |= {"searches": tree.searches, "accepted": tree.accepted}
    if rule:
        low, high = graph.weight_range
        most = high / (low * epsilon) if low else math.inf
        edges = graph.num_arcs if graph.directed else graph.num_arcs / 2
        row["searches_bound"] = most * edges * len(terminals)
    if search == IMPROVED:
        row |= {"lower_bound": tree.lower_bound, "proven": tree.optimal}
    return row


def measure(
    graphs: dict[str, mgraph.Graph], queries: list[Any], name: str, epsilon: float
) -> list[dict[str, Any]]:
    """Return one row per search and query. graphs: by search; name: for messages."""
    rows: list[dict[str, Any]] = []
    for search, graph in graphs.items():
        warm_up(graph, queries[0], search)
        for i, terminals in enumerate(queries):
            rows.append({"sample": i, **measure_query(graph, terminals, search, epsilon)})
            cost, first = rows[-1]["cost"], rows[i]["cost"]
            may_differ = search == IMPROVED or epsilon > 0
            if not may_differ and cost != first and isinstance(cost, int):
                raise mgraph.MgraphError(
                    f"all searches must find trees of one cost, and for {name}, sample {i}, "
                    f"{REFERENCE} found {first:,} and {search} {cost:,}"
                )
    mean = pd.DataFrame(rows).groupby("search", sort=False)["milliseconds"].mean()
    print(f"{name}:", ", ".join(f"{s} {ms:,.6g} ms" for s, ms in mean.items()), flush=True)
    return rows


def evaluate(case: Case, searches: list[str], epsilon: float = 0.0) -> list[dict[str, Any]]:
    """Return one row per run, up to the k for which memory runs out."""
    (name, graph, queries), rows = case, []
    try:
        on_gpu = graph.to_gpu() if set(searches) & set(ON_GPU) else graph
        graphs = {search: on_gpu if search in ON_GPU else graph for search in searches}
        for k, sample in queries.items():
            measured = measure(graphs, sample, f"{name} of {graph.n:,} vertices, k = {k}", epsilon)
            case_row = {"graph": name, "n": graph.n, "m": graph.num_arcs, "k": k}
            case_row["degree_variance"] = float(np.diff(graph.indptr).var())
            rows += [case_row | row for row in measured]
    except mgraph.OutOfMemoryError as error:
        print(f"{name} of {graph.n:,} vertices: no more, since {error}", flush=True)
    return rows


def write(text: str, file: Path) -> None:
    """Write a file atomically."""
    with experiments.writing_file(file) as stream:
        stream.write(text.encode())


def format_table(title: str, table: pd.DataFrame) -> str:
    """Return a table as text."""
    return f"{title}\n{table.to_string(float_format=lambda x: f'{x:,.6g}', na_rep='-')}\n"


def write_table(table: pd.DataFrame, file: Path) -> None:
    """Write a table as CSV, and beside it as Parquet, each atomically."""
    write(table.to_csv(index=False), file)
    with experiments.writing_file(file.with_suffix(".parquet")) as stream:
        table.to_parquet(stream)


def show_runs(runs: pd.DataFrame, out: Path) -> str:
    """Draw the paper's figures 5 and 6; return them as tables."""
    experiments.plot_steiner_parts(runs, experiments.figure_files(out, "parts"))
    groups = runs.drop(columns="sample").groupby(["graph", "n", "m", "k", "search"], sort=False)
    means = groups.mean().rename(columns=lambda name: name.replace("milliseconds", "ms"))
    text = format_table("means of the samples", means)
    if runs["search"].nunique() > 1:
        experiments.plot_steiner_speedups(runs, experiments.figure_files(out, "speedups"))
        text += "\n" + format_table(
            "speed-ups, geometric means", experiments.steiner_speedups(runs)
        )
    return text


def show_steinlib(answers: pd.DataFrame, optima: pd.Series, out: Path) -> str:
    """Write and draw SteinLib's gaps and times; return them by class."""
    table = answers.rename(columns={"graph": "instance"}).drop(columns="sample")
    table.insert(1, "class", [Path(name).parent.name for name in table["instance"]])
    table.insert(5, "optimum", table["instance"].map(optima))
    table["gap"] = (table["cost"] / table["optimum"]).fillna(1) - 1  # 0 of 0 is the optimum
    write_table(table, out / "steinlib.csv")
    experiments.plot_steiner_gaps(table, experiments.figure_files(out, "steinlib"))
    table["optimal"], table["gap"] = table["gap"] == 0, 100 * table["gap"]
    groups = table.groupby(["class", "search"], sort=False)
    summary = groups.agg({"k": "size", "optimal": "sum", "gap": ["mean", "max"]})
    summary.columns = ["instances", "optimal", "mean gap, %", "largest"]
    summary["mean ms"] = groups["milliseconds"].mean()
    if "proven" in table:
        summary.insert(2, "proven", groups["proven"].sum(min_count=1).astype(float))
    return format_table("SteinLib", summary)


def main(argv: list[str] | None = None) -> int:
    """Run the job; return 0 once all is measured and drawn."""
    defaults = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], formatter_class=defaults)
    parser.add_argument("out", type=Path)
    parser.add_argument("graphs", nargs="*", metavar="GRAPH", help="a dataset or a graph file")
    parser.add_argument(
        "--sizes", type=parse_numbers, help="vertices of BA graphs, by default to 10^6 on a GPU"
    )
    parser.add_argument(
        "--k", type=parse_numbers, default=[1 << i for i in range(1, 11)], help="terminals"
    )
    parser.add_argument("--samples", type=int, default=10, help="queries for each k")
    parser.add_argument("--searches", type=parse_words, default=list(ON_GPU), help="on a GPU")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--backend", default="auto")
    parser.add_argument("--symmetrise", action="store_true")
    parser.add_argument("--epsilon", type=float, default=0.0, help="of the improvement rule")
    parser.add_argument("--unit-weights", action="store_true", help="count edges")
    parser.add_argument("--steinlib", type=Path, metavar="FOLDER")
    parser.add_argument("--improve", action="store_true", help="SteinLib's trees, with bounds")
    options = parser.parse_intermixed_args(argv)

    summaries = []
    try:
        check_options(options)
        searches = [REFERENCE]
        if options.backend == "gpu":
            searches += options.searches
        else:
            print("without a GPU the reference is measured alone, and there are no speed-ups")
        graphs = make_cases(options)
        problems, optima = read_instances(options.steinlib) if options.steinlib else ([], None)
        rows: list[dict[str, Any]] = []
        for case in graphs:
            rows += evaluate(case, searches, options.epsilon)
            write_table(pd.DataFrame(rows), options.out / "runs.csv")
        if rows:
            summaries.append(show_runs(pd.DataFrame(rows), options.out))
        searches += [IMPROVED] * options.improve
        answers = [row for case in problems for row in evaluate(case, searches)]
        if answers:
            summaries.append(show_steinlib(pd.DataFrame(answers), optima, options.out))
        if rows or answers:
            known = [answer | {"graph": f"SteinLib {answer['graph']}"} for answer in answers]
            experiments.plot_steiner_cases(
                pd.DataFrame(rows + known), experiments.figure_files(options.out, "cases")
            )
        write("\n".join(summaries), options.out / "summary.txt")
    except mgraph.MgraphError as error:
        print(f"steiner_evaluation: {error}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        print("steiner_evaluation: interrupted; runs.csv has what was measured", file=sys.stderr)
        return 130
    print("", *summaries, f"tables and plots in {options.out}", sep="\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
