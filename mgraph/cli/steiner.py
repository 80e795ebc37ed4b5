"""``mgraph steiner``: a Steiner tree of one query in this process, or of many over a cluster."""

import math
import sys
from pathlib import PurePath
from typing import Any

import click

import mgraph
from mgraph import timings
from mgraph.cli.help import command, option
from mgraph.cli.options import (
    METHOD,
    NUMBER,
    OUTPUT,
    backend_option,
    choice_option,
    cluster_options,
    cluster_spec,
    compression_option,
    graph_options,
    ids_option,
    overwrite_option,
    parse_read_options,
    peek_edges,
    reading_arguments,
    refuse,
    resume_option,
    symmetrise_option,
)
from mgraph.cli.preparation import preparing
from mgraph.cli.steiner_parameters import Sample, Vertices
from mgraph.cli.steiner_variants import find_variant, named_vertices, solve_variant
from mgraph.compilation import Stopwatch
from mgraph.core.choices import Backend, SteinerMethod, SteinerSearch
from mgraph.core.formatting import (
    format_parts,
    format_quantity,
    format_seconds,
    format_total_time,
    pluralize,
)
from mgraph.errors import UsageError, without_secrets
from mgraph.io.vertex_lists import read_queries


@command(
    examples=(
        "mgraph steiner roads --terminals 3,14,159,2653 --improve",
        "mgraph steiner roads --terminals 3,14,159 --out tree.gexf",
        "mgraph steiner roads --sample 4:100,8:100 --out trees",
        "mgraph steiner roads --group 3,14 --group 159,265 --group 35",
    )
)
@click.argument("location", metavar="GRAPH")
@option(
    "--terminals",
    type=Vertices(),
    metavar="V,V,...",
    multiple=True,
    help="Connect these vertices, in this process; may be given several times.",
)
@option(
    "--group",
    type=Vertices(),
    metavar="V,V,...",
    multiple=True,
    help="Connect one of these vertices with one of each other group, and with all terminals; may "
    "be given several times.",
)
@option(
    "--queries",
    metavar="FILE",
    help="Answer the queries of a text file, one per line: terminals, or groups with a ; between.",
)
@option(
    "--sample",
    type=Sample(),
    metavar="K:COUNT,...",
    help="Answer COUNT queries of K terminals each, drawn at random.",
)
@option(
    "--group-size",
    type=NUMBER,
    metavar="N",
    help="Draw groups of N vertices in place of terminals, for --sample.",
)
@option(
    "--seed", type=NUMBER, default=1, show_default=True, help="The seed of the draws of --sample."
)
@option("--best", type=NUMBER, metavar="K", help="Find the K cheapest trees.")
@option(
    "--root",
    type=Vertices(),
    metavar="V",
    help="Find a tree whose arcs lead from V to the terminals; GRAPH may be directed.",
)
@option(
    "--vertex-weights",
    metavar="FILE",
    help="Vertices cost something as well: a vertex and its weight per line.",
)
@option(
    "--prizes",
    metavar="FILE",
    help="A vertex that the tree leaves out costs its prize: a vertex and its prize per line.",
)
@symmetrise_option
@graph_options()
@ids_option
@choice_option(
    "--method",
    SteinerMethod,
    "auto",
    "The algorithm; auto takes what suits the query.",
    group=METHOD,
)
@choice_option(
    "--search",
    SteinerSearch,
    "auto",
    "How star searches for paths: from both sides on cores, or on a GPU with one thread per vertex "
    "(node) or per arc (edge).",
    group=METHOD,
)
@option(
    "--epsilon",
    type=float,
    default=0.0,
    show_default=True,
    group=METHOD,
    help="Replace a path of star only by one that is shorter by this fraction.",
)
@option(
    "--improve",
    is_flag=True,
    group=METHOD,
    help="Improve the tree by local search, and compute a lower bound.",
)
@option("--bound", is_flag=True, group=METHOD, help="Compute a lower bound by dual ascent.")
@option(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    group=METHOD,
    help="End each query after SECONDS with the best tree so far; compiling does not count.",
)
@option(
    "--out",
    metavar="OUT",
    group=OUTPUT,
    help="Write the tree to a graph file or folder, or the trees of many queries to a folder.",
)
@option(
    "--batch",
    type=NUMBER,
    group=OUTPUT,
    help="Queries per task and part.  [default: as their number allows]",
)
@compression_option
@resume_option
@overwrite_option("OUT")
@backend_option
@cluster_options
def steiner(location: str, **options: Any) -> int:
    """Find small trees that connect given vertices, the terminals, in GRAPH.

    GRAPH is an undirected dataset or graph file with weights of 0 or more. Give --terminals or
    --group, --queries, --sample or --prizes; SteinLib (.stp) and PACE (.gr) files have terminals of
    their own. Vertices are named by their own ids where GRAPH has any, as convert keeps them; else
    they count from 0, whatever the file counts from. Many queries fan out over a cluster, whose
    workers each read the graph.
    """
    from mgraph.steiner.steiner_tree import check_options, runs_on_cpu

    options["terminals"] = [name for some in options["terminals"] for name in some] or None
    options["group"] = list(options["group"]) or None
    selections = [name for name in ("terminals", "queries", "sample") if options[name] is not None]
    if len(selections) > 1:
        raise UsageError("give one of --terminals, --queries and --sample")
    variant = find_variant(options)
    if options["sample"] is None:
        refuse(("group_size",), "needs --sample")
    if runs_on_cpu(options["method"], options["search"]) and options["backend"] == "auto":
        options["backend"] = "cpu"
    names = ("method", "search", "backend", "epsilon", "time_limit")
    check_options(**{name: options[name] for name in names})
    if variant is None and selections and selections[0] != "terminals":
        return _solve_over_cluster(location, options)
    _solve_in_process(location, options, variant)
    return 0


_METHOD_OPTIONS = ("method", "search", "backend", "epsilon", "improve", "bound", "time_limit")


def _solve_in_process(location: str, options: dict[str, Any], variant: str | None) -> None:
    from mgraph.io.graph_writer import check_target
    from mgraph.io.vertex_names import VertexNames

    total_watch = Stopwatch()
    refuse(("seed",), "needs --sample")
    refuse(
        (
            "scheduler", "scheduler_file", "workers", "dashboard", "batch", "resume", "compression",
        ),
        "applies to many queries",
    )  # fmt: skip
    out = options["out"]
    reading = parse_read_options(options)
    names_of_vertices = VertexNames(location, options["ids"], reading)
    for name, values in named_vertices(options).items():
        names_of_vertices.early(name, values)
    if out is None:
        refuse(("overwrite",), "needs --out")
    else:
        check_target(out, options["overwrite"])
    graph, terminals = _read_graph(location, options, variant)
    if not options["quiet"]:
        click.echo(f"{graph}", err=True)

    def resolve(name: str, values: Any) -> list[int]:
        return names_of_vertices.late(name, values, graph.labels, graph.n)

    if terminals is None and variant is None:
        terminals = resolve("terminals", options["terminals"] or [])
    trees, seconds = _solve(graph, terminals, resolve, options, variant)
    for tree in trees[:-1]:
        click.echo(_describe(tree, variant))
    last = trees[-1]
    click.echo(
        f"{_describe(last, variant)}; {last.search if last.method == 'star' else last.method} on "
        f"the {last.backend}, {format_seconds(seconds)}; "
        f"{format_total_time(total_watch.total, total_watch.compiling)}"
    )
    if out is not None:
        _write_tree(trees[0], graph.n, out, options["overwrite"])
        click.echo(f"tree in {out}")


def _read_graph(
    location: str, options: dict[str, Any], variant: str | None
) -> tuple["mgraph.Graph", Any]:
    """Read the graph, and the terminals if the file has them and none are given."""
    from mgraph.steiner.rehearsal import kernel_loaders, rehearse

    if options["terminals"] is None and variant is None:
        if not {".stp", ".gr"} & {suffix.lower() for suffix in PurePath(location).suffixes}:
            raise UsageError(
                "give --terminals, --group, --queries, --sample or --prizes, or a SteinLib file"
            )
        graph, terminals, _ = mgraph.experiments.read_steinlib(location)
        return graph, terminals
    method_options = {name: options[name] for name in _METHOD_OPTIONS}
    backend: Backend = options["backend"] if variant in (None, "group") else "cpu"
    read_options = reading_arguments(options) | {"symmetrise": options["symmetrise"]}
    if variant is not None:
        return mgraph.read_graph(location, backend=backend, **read_options), None
    with preparing(
        location,
        backend,
        lambda tiny, num_arcs: rehearse(tiny, num_arcs, **method_options),
        lambda tiny, num_arcs: kernel_loaders(tiny, num_arcs, method_options),
    ):
        return mgraph.read_graph(location, backend=backend, **read_options), None


def _solve(
    graph: "mgraph.Graph", terminals: Any, resolve: Any, options: dict[str, Any], variant: Any
) -> tuple[list["mgraph.SteinerTree"], float]:
    """Return the trees, and the seconds that they took without compiling."""
    from mgraph.steiner.rehearsal import rehearse

    method_options = {name: options[name] for name in _METHOD_OPTIONS}
    if variant is None:
        rehearse(graph, graph.num_arcs, **method_options)  # compiles what will be timed
    watch = Stopwatch()
    with timings.step(timings.COMPUTING):
        if variant is None:
            trees = [mgraph.steiner_tree(graph, terminals, **method_options)]
        else:
            trees = solve_variant(variant, graph, resolve, options)
    return trees, watch.work


def _describe(tree: "mgraph.SteinerTree", variant: str | None) -> str:
    """Return a tree's figures as a sentence."""
    state = "cost" if tree.complete else "stopped at the time limit, cost"
    star = tree.method == "star"
    searches = pluralize(tree.searches, "search", "searches")
    search_counts = f"{searches}, {tree.accepted:,} accepted " if star else ""
    has_changed = star or tree.initial_cost != tree.cost
    first_tree = (
        f"from a first tree of {tree.format_cost(tree.initial_cost)}" if has_changed else ""
    )
    noun = {"group": "group", "prizes": "prize"}.get(variant or "", "terminal")
    vertex_cost = f" ({tree.format_cost(tree.vertex_cost)} of vertices)" if tree.vertex_cost else ""
    figures = f"{pluralize(tree.terminals.size, noun)}: {state} {tree.format_cost(tree.cost)}"
    gap = _describe_gap(tree) if variant != "best" else f"{tree.gap:.2%} above the first"
    parts = [
        f"{figures}{vertex_cost}, {pluralize(tree.src.size, 'edge')}",
        gap,
        search_counts + first_tree,
    ]
    return "; ".join(part for part in parts if part)


def _describe_gap(tree: "mgraph.SteinerTree") -> str:
    gap = tree.gap
    if gap is None:
        return ""
    if gap == 0:
        return "optimal"
    if not math.isfinite(gap):
        return "no lower bound in that time"
    bound = tree.format_cost(tree.lower_bound)
    return f"at most {gap:.2%} above the best, which costs at least {bound}"


def _write_tree(tree: "mgraph.SteinerTree", n: int, out: str, overwrite: bool) -> None:
    edges = mgraph.EdgeList(tree.src, tree.dst, tree.weight)
    directed = tree.root is not None
    graph = mgraph.from_edges(edges, n, directed=directed, backend="cpu").with_labels(tree.labels)
    mgraph.write_graph(graph, out, overwrite=overwrite, terminals=tree.terminals)


def _check_names(names_of_vertices: Any, what: str, query: Any, grouped: bool) -> Any:
    """Return the vertices of a query's names, or of each group's, as far as they are known."""
    if not grouped:
        return names_of_vertices.early(f"{what}: terminals", query)
    return [names_of_vertices.early(f"{what}: group {i}", group) for i, group in enumerate(query)]


def _solve_over_cluster(location: str, options: dict[str, Any]) -> int:
    queries: Any = None
    if options["queries"] is not None:
        refuse(("seed",), "needs --sample")
        file = options["queries"]
        queries, grouped = read_queries(file)
        if not queries:
            raise UsageError(f"{options['queries']} must hold at least one query")
        from mgraph.io.vertex_names import VertexNames

        reading = parse_read_options(options)
        names_of_vertices = VertexNames(location, options["ids"], reading)
        checked = [
            _check_names(names_of_vertices, f"{file}, query {number}", query, grouped)
            for number, query in enumerate(queries)
        ]
        if options["ids"] == "number":
            queries = checked
    if options["out"] is None:
        refuse(("resume", "overwrite", "compression"), "needs --out")
    connection = ("scheduler", "scheduler_file", "workers", "dashboard", "quiet")
    names = (
        "sample", "group_size", "seed", "symmetrise", "ids", "batch", "compression", "resume",
        "overwrite", *_METHOD_OPTIONS,
    )  # fmt: skip
    selection = {name: options[name] for name in connection}
    cluster = cluster_spec(**selection, edges=peek_edges(location))
    run = mgraph.steiner_many(
        location,
        queries,
        options["out"],
        cluster=cluster,
        progress=None if options["quiet"] else sys.stderr,
        reading=reading_arguments(options),
        **{name: options[name] for name in names},
    )
    solved = [answer for answer in run.answers if answer.error is None]
    failed = [answer for answer in run.answers if answer.error is not None]
    parts = format_parts(run.made_parts + run.kept_parts, run.kept_parts)
    out = f" in {parts}, in {without_secrets(run.location)}" if run.location else ""
    rate = format_quantity(len(run.answers) / run.solve_seconds)
    speed = "" if run.kept_parts else f", {rate} queries/s"
    edges = sum(answer.edges for answer in solved)
    click.echo(
        f"{pluralize(len(run.answers), 'query', 'queries')}, {pluralize(len(solved), 'tree')} of "
        f"{pluralize(edges, 'edge')}{out}; "
        f"answered in {format_seconds(run.solve_seconds)}{speed}; "
        f"{format_total_time(run.seconds, run.compile_seconds)}"
    )
    gaps = [answer.gap for answer in solved if answer.gap is not None]
    if gaps:
        proven = sum(gap == 0 for gap in gaps)
        finite = [gap for gap in gaps if math.isfinite(gap)]
        mean = f", mean gap {sum(finite) / len(finite):.2%}" if finite else ""
        click.echo(f"{proven:,} proven optimal{mean}")
    late = sum(not answer.complete for answer in solved)
    if late:
        click.echo(f"{late:,} stopped at the time limit")
    for answer in failed[:10]:
        click.echo(f"query {answer.query}: {answer.error}", err=True)
    if len(failed) > 10:
        note = "; the table names them" if run.location else ""
        click.echo(f"and {len(failed) - 10:,} more queries{note}", err=True)
    return 1 if failed else 0
