"""``mgraph sssp``: shortest paths from one source, here, or from many, over a cluster."""

import sys
from typing import Any

import click

import mgraph
from mgraph.cli.options import (
    NUMBER,
    backend_option,
    cluster_options,
    cluster_spec,
    compression_option,
    refuse,
    vertex_checker,
)
from mgraph.compilation import Stopwatch
from mgraph.core.formatting import format_parts, format_seconds, format_total_time, pluralize
from mgraph.errors import UsageError, without_secrets
from mgraph.io.figure import check_figure
from mgraph.io.folder import check_file
from mgraph.io.untrusted import printable
from mgraph.io.vertex_lists import read_vertex_lists


def read_sources(file: str) -> list[int]:
    """Vertices from a text file, separated by white space or commas; # begins a comment."""
    sources = [vertex for line in read_vertex_lists(file, "sources") for vertex in line]
    if not sources:
        raise UsageError(f"{file} holds no source")
    return sources


@click.command()
@click.argument("graph")
@click.option("--source", type=NUMBER, help="One source: search here, without a cluster.")
@click.option("--sources", metavar="FILE", help="Many: vertices in a text file.")
@click.option("--random", type=NUMBER, metavar="K", help="Many: K vertices drawn at random.")
@click.option("--seed", type=NUMBER, default=1, show_default=True, help="Of --random.")
@click.option("--out", metavar="DIR", help="Write source, vertex, distance, predecessor to DIR.")
@click.option("--method", default="auto", show_default=True, help="The algorithm.")
@backend_option
@click.option(
    "--set-point",
    type=float,
    metavar="P",
    help="Arcs an iteration, of self_tuning; on a GPU those of all its hops, up to 128.",
)
@click.option("--power-limit", type=float, metavar="WATTS", help="Move P to keep to it, on GPUs.")
@click.option("--delta", type=float, help="The step of near_far.")
@click.option("--heap-threshold", type=NUMBER, metavar="N", help="Above it, heap uses its heap.")
@click.option("--cutoff", type=float, help="Pass over longer paths.")
@click.option("--target", "targets", type=NUMBER, multiple=True, help="Stop there (one source).")
@click.option("--no-predecessors", is_flag=True, help="Distances alone.")
@click.option("--symmetrise", is_flag=True, help="Take each arc of GRAPH for both directions.")
@click.option("--trace", metavar="FILE.parquet", help="Write every iteration down (one source).")
@click.option("--plot", metavar="FILE.png", help="Draw the trace: work an iteration, its density.")
@click.option("--batch", type=NUMBER, help="Sources a task.")
@compression_option
@click.option("--resume", is_flag=True, help="Keep the parts of DIR that are whole.")
@click.option("--overwrite", is_flag=True, help="Replace the results in DIR.")
@cluster_options
def sssp(graph: str, source: int | None, **options: Any) -> None:
    """Shortest paths in GRAPH, a dataset or a graph file, along arcs of weight 0 or more.

    Give one of --source, --sources and --random. Many sources fan out over a cluster, each worker
    with its own copy of the graph; DIR's Parquet files can be resumed.
    """
    given = [name for name in ("sources", "random") if options[name] is not None]
    if len(given) + (source is not None) != 1:
        raise UsageError("give one of --source, --sources and --random")
    if options["method"] == "dijkstra" and options["backend"] == "auto":
        options["backend"] = "cpu"
    if source is not None and options["out"] is None:
        _one(graph, source, options)
    else:
        _many(graph, source, options)


def _one(graph: str, source: int, options: dict[str, Any]) -> None:
    from mgraph.distributed.protocol.progress import quantity
    from mgraph.shortest_paths.rehearsal import rehearse
    from mgraph.shortest_paths.sssp import check_options

    whole = Stopwatch()
    refuse(("seed",), "is of --random")
    refuse(
        (
            "scheduler", "scheduler_file", "workers", "dashboard", "batch", "power_limit", "resume",
            "no_predecessors", "compression",
        ),
        "is for many sources, or one with --out",
    )  # fmt: skip
    names = ("method", "delta", "set_point", "power_limit", "heap_threshold")
    check_options(*(options[name] for name in names))
    check = vertex_checker(graph)
    check("source", [source])
    check("targets", options["targets"])
    if options["plot"]:
        check_figure(options["plot"])
    if not options["trace"]:
        refuse(("overwrite",), "is for --out or --trace")
    else:
        check_file(options["trace"], options["overwrite"])
    read = mgraph.read_graph(graph, symmetrise=options["symmetrise"], backend=options["backend"])
    if not options["quiet"]:
        click.echo(f"{read}", err=True)
    names = ("method", "cutoff", "delta", "set_point", "heap_threshold")
    asked = {name: options[name] for name in names}
    asked["trace"] = bool(options["trace"] or options["plot"])
    rehearse(read, **asked)  # compiles what will be timed
    watch = Stopwatch()
    targets = list(options["targets"]) or None
    found = mgraph.sssp(read, source, targets=targets, backend=read.backend, **asked).to_cpu()
    seconds = watch.work
    reached = found.reached
    click.echo(
        f"source {_named(read, source)}: {int(reached.sum()):,} of {read.n:,} vertices reached, "
        f"the farthest at {found.distance[reached].max().item():,}; "
        f"{found.method} on the {found.backend}, {format_seconds(seconds)}, "
        f"{quantity(read.num_arcs / seconds)} arcs/s; "
        f"{format_total_time(whole.total, whole.compiling)}"
    )
    for target in options["targets"]:
        length = f"at {found.distance[target].item():,}" if reached[target] else "not reached"
        click.echo(f"target {_named(read, target)}: {length}")
    if options["trace"]:
        found.write_trace(options["trace"])
        click.echo(f"{pluralize(len(found.trace), 'iteration')} in {options['trace']}")
    if options["plot"]:
        mgraph.experiments.plot_profile(found.trace, options["plot"])
        click.echo(f"plot in {options['plot']}")


def _named(graph: "mgraph.Graph", vertex: int) -> str:
    """A vertex, with what its file calls it."""
    return f"{vertex:,}" + (
        "" if graph.labels is None else f" ({printable(str(graph.labels[vertex]))})"
    )


def _many(graph: str, source: int | None, options: dict[str, Any]) -> None:
    from mgraph.distributed.protocol.progress import quantity

    refuse(("targets", "trace", "plot"), "is for one --source without --out")
    if options["random"] is None:
        refuse(("seed",), "is of --random")
    if options["out"] is None:
        refuse(("resume", "overwrite", "compression", "no_predecessors"), "is for --out")
    sources = None if source is None else [source]
    if options["sources"] is not None:
        sources = read_sources(options["sources"])
    vertex_checker(graph)("sources", sources or [])
    where = ("scheduler", "scheduler_file", "workers", "dashboard", "quiet")
    same = (
        "random", "seed", "method", "backend", "cutoff", "delta", "set_point", "power_limit",
        "symmetrise", "batch", "compression", "resume", "overwrite", "heap_threshold",
    )  # fmt: skip
    run = mgraph.sssp_many(
        graph,
        sources,
        options["out"],
        cluster=cluster_spec(**{name: options[name] for name in where}),
        predecessors=not options["no_predecessors"],
        progress=None if options["quiet"] else sys.stderr,
        **{name: options[name] for name in same},
    )
    reached = sum(search.reached for search in run.searched)
    parts = format_parts(run.made_parts + run.kept_parts, run.kept_parts)
    out = f" in {parts}, in {without_secrets(run.location)}" if run.location else ""
    rate = quantity(run.facts.num_arcs * len(run.searched) / run.search_seconds)
    speed = "" if run.kept_parts else f", {rate} arcs/s"
    click.echo(
        f"{pluralize(len(run.searched), 'source')}, "
        f"{pluralize(reached, 'vertex', 'vertices')} reached{out}; "
        f"searched in {format_seconds(run.search_seconds)}{speed}; "
        f"{format_total_time(run.seconds, run.compile_seconds)}"
    )
