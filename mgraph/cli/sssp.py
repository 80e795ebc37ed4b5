"""``mgraph sssp``: shortest paths from one source in this process, or from many over a cluster."""

import sys
from typing import Any, get_args

import click

import mgraph
from mgraph import timings
from mgraph.cli import sssp_spread
from mgraph.cli.help import command, option
from mgraph.cli.options import (
    CLUSTER,
    METHOD,
    NUMBER,
    OUTPUT,
    TEXT,
    backend_option,
    choice_option,
    cluster_options,
    cluster_spec,
    compression_option,
    describe_early_end,
    describe_vertex,
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
from mgraph.compilation import Stopwatch
from mgraph.core.arrays import on_gpu
from mgraph.core.choices import Ids, Partition, SsspController, SsspFrontierBound, SsspMethod
from mgraph.core.formatting import (
    digits_of,
    format_parts,
    format_quantity,
    format_seconds,
    format_sum,
    format_total_time,
    pluralize,
)
from mgraph.errors import UsageError, without_secrets
from mgraph.io.figure import check_figure
from mgraph.io.folder import check_file
from mgraph.io.vertex_lists import read_name_lists


def read_sources(file: str) -> list[str]:
    """Read names of vertices from a text file, between white space or commas; # is a comment."""
    sources = [vertex for line in read_name_lists(file, "sources") for vertex in line]
    if not sources:
        raise UsageError(f"{file} must hold at least one source")
    return sources


@command(
    examples=(
        "mgraph sssp graph --source 0 --target 99 --path",
        "mgraph sssp graph --random 64 --out paths",
        "mgraph sssp roads.gr.gz --sources sources.txt --out paths --resume",
    )
)
@click.argument("location", metavar="GRAPH")
@option("--source", type=TEXT, metavar="V", help="Search from vertex V.")
@option("--sources", metavar="FILE", help="Search from the vertices that a text file lists.")
@option("--random", type=NUMBER, metavar="K", help="Search from K vertices drawn at random.")
@option(
    "--seed", type=NUMBER, default=1, show_default=True, help="The seed of the draws of --random."
)
@option(
    "--target",
    "targets",
    type=TEXT,
    metavar="V",
    multiple=True,
    help="End the search of --source at V; may be given several times.",
)
@option("--path", is_flag=True, help="Print the shortest path to each --target.")
@option("--cutoff", type=float, metavar="LENGTH", help="Ignore paths that are longer.")
@symmetrise_option
@graph_options()
@ids_option
@choice_option("--method", SsspMethod, "auto", "The algorithm.", group=METHOD)
@option(
    "--delta",
    type=float,
    group=METHOD,
    help="The step of near_far.  [default: from the mean weight and degree]",
)
@option(
    "--set-point",
    type=float,
    metavar="P",
    group=METHOD,
    help="Arcs per iteration that self_tuning aims at; on a GPU those of all hops of a wave.  "
    "[default: what keeps the device busy]",
)
@option(
    "--upper-bound",
    is_flag=True,
    group=METHOD,
    help="Take P for an upper bound of the arcs, not for their mean.",
)
@option(
    "--controller",
    type=click.Choice(get_args(SsspController)),
    group=METHOD,
    help="What moves the threshold of self_tuning; paper: to the letter.  [default: mgraph]",
)
@option(
    "--hops",
    type=NUMBER,
    metavar="H",
    group=METHOD,
    help="Hops per iteration of near_far and self_tuning, at most; 1 as in the paper.  "
    "[default: 1 on a CPU; up to 128 on a GPU]",
)
@option(
    "--power-limit",
    type=float,
    metavar="WATTS",
    group=METHOD,
    help="Keep each GPU below WATTS, by lowering P and pausing between searches.",
)
@option(
    "--frontier-bound",
    type=click.Choice(get_args(SsspFrontierBound)),
    group=METHOD,
    help="What frontier_node and frontier_edge settle in a round: up to the least weight of the "
    "graph, or of each vertex.  [default: graph]",
)
@option(
    "--heap-threshold",
    type=NUMBER,
    metavar="N",
    group=METHOD,
    help="Pending vertices above which heap uses its heap.  [default: by measurement]",
)
@option("--out", metavar="DIR", group=OUTPUT, help="Write the rows of all searches to DIR.")
@option("--no-predecessors", is_flag=True, group=OUTPUT, help="Write distances only.")
@option(
    "--trace",
    metavar="FILE.parquet",
    group=OUTPUT,
    help="Write each iteration of the search of --source to a file.",
)
@option(
    "--plot",
    metavar="FILE.png",
    group=OUTPUT,
    help="Draw the iterations of the search of --source.",
)
@option(
    "--batch",
    type=NUMBER,
    group=OUTPUT,
    help="Sources per task and part.  [default: as their number and memory allow]",
)
@choice_option(
    "--partition",
    Partition,
    "auto",
    "Whether all workers hold one graph together; auto: a dataset's that does not fit a worker.",
    group=CLUSTER,
)
@compression_option
@resume_option
@overwrite_option("the results in DIR, or the trace")
@backend_option
@cluster_options
def sssp(location: str, source: str | None, **options: Any) -> None:
    """Find shortest paths in GRAPH, a dataset or a graph file.

    Give one of --source, --sources and --random. Weights must be 0 or more; without weights, hops
    are counted. One source without --out is searched in this process. Many fan out over a cluster,
    whose workers each read the graph. The arcs of a dataset that does not fit are spread over all
    workers, as with --partition always. With --out, DIR holds one row per source and
    vertex reached: source, vertex, distance, predecessor. V is a vertex's own id where GRAPH has
    ids, as convert keeps them, else its number.
    """
    selections = [name for name in ("sources", "random") if options[name] is not None]
    if len(selections) + (source is not None) != 1:
        raise UsageError("give one of --source, --sources and --random")
    if source is not None and options["out"] is None:
        _check_single(options)
        reason = sssp_spread.find_reason(location, options)
        if reason is None:
            _search_in_process(location, source, options)
        else:
            sssp_spread.search(location, source, options, reason)
    else:
        _search_over_cluster(location, source, options)


def _check_single(options: dict[str, Any]) -> None:
    """Raise UsageError for options that do not apply to one source without --out."""
    refuse(("seed",), "needs --random")
    if not options["targets"]:
        refuse(("path",), "needs --target")
    refuse(
        ("batch", "power_limit", "resume", "no_predecessors", "compression"),
        "applies to many sources, or to one with --out",
    )
    if not options["trace"]:
        refuse(("overwrite",), "needs --out or --trace")


def _search_in_process(location: str, source_name: str, options: dict[str, Any]) -> None:
    from mgraph.shortest_paths.rehearsal import kernel_loaders, rehearse
    from mgraph.shortest_paths.result import summarize
    from mgraph.shortest_paths.sssp import check_options, prefer_backend

    total_watch = Stopwatch()
    refuse(
        ("scheduler", "scheduler_file", "workers", "dashboard"),
        "applies to many sources, to one with --out, or with --partition always",
    )
    names = (
        "method", "delta", "set_point", "heap_threshold", "controller", "hops", "upper_bound",
        "frontier_bound",
    )  # fmt: skip
    check_options(power_limit=options["power_limit"], **{name: options[name] for name in names})
    from mgraph.io.vertex_names import VertexNames

    reading = parse_read_options(options)
    names_of_vertices = VertexNames(location, options["ids"], reading)
    sources = names_of_vertices.early("source", [source_name])
    targets = names_of_vertices.early("targets", options["targets"])
    if options["plot"]:
        check_figure(options["plot"])
    if options["trace"]:
        check_file(options["trace"], options["overwrite"])
    backend = prefer_backend(options["method"], options["backend"])
    method_options = {name: options[name] for name in (*names, "cutoff")}
    method_options["trace"] = bool(options["trace"] or options["plot"])
    method_options["predecessors"] = options["path"]
    with preparing(
        location,
        backend,
        lambda tiny, _: rehearse(tiny, **method_options),
        lambda tiny, _: kernel_loaders(tiny, options["method"], options["controller"]),
    ):
        graph = mgraph.read_graph(
            location,
            symmetrise=options["symmetrise"],
            backend=backend,
            **reading_arguments(options),
        )
    if not options["quiet"]:
        click.echo(f"{graph}", err=True)
    if sources is None or targets is None:
        known = graph.labels, graph.n
        sources = names_of_vertices.late("source", [source_name], *known)
        targets = names_of_vertices.late("targets", options["targets"], *known)
    (source,) = sources
    rehearse(graph, **method_options)  # compiles what will be timed
    watch = Stopwatch()
    with timings.step(timings.COMPUTING):
        device = "auto" if graph.backend == "gpu" and backend == "auto" else graph.backend
        paths = mgraph.sssp(
            graph, source, targets=targets or None, backend=device, **method_options
        )
        reached, max_distance = summarize(paths.distance)
    seconds, digits = watch.work, digits_of(paths.distance.dtype)
    ended = describe_early_end([paths.distance[t].item() < paths.infinity for t in targets])
    click.echo(
        f"source {describe_vertex(graph, source, options['ids'])}: "
        f"{reached:,} of {graph.n:,} vertices reached{ended}, "
        f"the farthest at {format_sum(max_distance, digits)}; "
        f"{paths.method} on the {paths.backend}, {format_seconds(seconds)}, "
        f"{format_quantity(graph.num_arcs / seconds)} arcs/s; "
        f"{format_total_time(total_watch.total, total_watch.compiling)}"
    )
    for target in targets:
        distance = paths.distance[target].item()
        length = (
            "not reached" if distance == paths.infinity else f"at {format_sum(distance, digits)}"
        )
        click.echo(f"target {describe_vertex(graph, target, options['ids'])}: {length}")
        if options["path"] and distance != paths.infinity:
            label = target if graph.labels is None else graph.labels[target]
            _print_path(graph, paths.path(label), options["ids"])
    if options["trace"]:
        paths.write_trace(options["trace"])
        click.echo(f"{pluralize(len(paths.trace), 'iteration')} in {options['trace']}")
    if options["plot"]:
        title = f"{location}, source {source_name}: {paths.method} on the {paths.backend}"
        if paths.method == "near_far":
            title += f", delta {paths.trace['delta'][0]:,.4g}"
        mgraph.experiments.plot_profile(
            paths.trace, options["plot"], title=title, set_point=options["set_point"]
        )
        click.echo(f"plot in {options['plot']}")


def _print_path(graph: "mgraph.Graph", path: Any, ids: Ids) -> None:
    """Print a vertex per line, with the distance from the source and the arc's weight."""
    before: int | None = None
    digits = digits_of(path.distance.dtype)
    for vertex, distance in zip(path.vertices.tolist(), path.distance.tolist(), strict=True):
        arc = ""
        if before is not None:
            arc = (
                f", by an arc of weight {format_sum(_least_weight(graph, before, vertex), digits)}"
            )
        click.echo(
            f"  {describe_vertex(graph, vertex, ids)}: at {format_sum(distance, digits)}{arc}"
        )
        before = vertex


def _least_weight(graph: "mgraph.Graph", u: int, v: int) -> Any:
    """Return the weight of the lightest arc between two vertices, of which there is one."""
    if graph.weights is None:
        return 1
    row = slice(int(graph.indptr[u]), int(graph.indptr[u + 1]))
    heads, weights = (
        array.get() if on_gpu(array) else array
        for array in (graph.indices[row], graph.weights[row])
    )
    return weights[heads == v].min().item()


def _search_over_cluster(location: str, source: str | None, options: dict[str, Any]) -> None:
    refuse(
        ("targets", "path", "trace", "plot", "controller", "hops", "upper_bound", "frontier_bound"),
        "applies to one --source without --out",
    )
    if options["random"] is None:
        refuse(("seed",), "needs --random")
    if options["out"] is None:
        refuse(("resume", "overwrite", "compression", "no_predecessors"), "needs --out")
    sources: Any = None if source is None else [source]
    if options["sources"] is not None:
        sources = read_sources(options["sources"])
    if sources is not None:
        from mgraph.io.vertex_names import VertexNames

        reading = parse_read_options(options)
        numbers = VertexNames(location, options["ids"], reading).early("sources", sources)
        if options["ids"] == "number":
            sources = numbers
    connection = ("scheduler", "scheduler_file", "workers", "dashboard", "quiet")
    names = (
        "random", "seed", "method", "backend", "cutoff", "delta", "set_point", "power_limit",
        "symmetrise", "ids", "batch", "compression", "resume", "overwrite", "heap_threshold",
        "partition",
    )  # fmt: skip
    selection = {name: options[name] for name in connection}
    cluster = cluster_spec(**selection, edges=peek_edges(location))
    run = mgraph.sssp_many(
        location,
        sources,
        options["out"],
        cluster=cluster,
        predecessors=not options["no_predecessors"],
        progress=None if options["quiet"] else sys.stderr,
        reading=reading_arguments(options),
        **{name: options[name] for name in names},
    )
    reached = sum(search.reached for search in run.searches)
    parts = format_parts(run.made_parts + run.kept_parts, run.kept_parts)
    out = f" in {parts}, in {without_secrets(run.location)}" if run.location else ""
    rate = format_quantity(run.facts.num_arcs * len(run.searches) / run.search_seconds)
    speed = "" if run.kept_parts else f", {rate} arcs/s"
    click.echo(
        f"{pluralize(len(run.searches), 'source')}, "
        f"{pluralize(reached, 'vertex', 'vertices')} reached{out}; "
        f"searched in {format_seconds(run.search_seconds)}{speed}; "
        f"{format_total_time(run.seconds, run.compile_seconds)}"
    )
