"""``mgraph msf`` and ``mgraph single-linkage``: minimum spanning forests and clusters."""

import os
import sys
from typing import TYPE_CHECKING, Any

import click
import numpy as np

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
    quiet_option,
    reading_arguments,
    refuse,
    resume_option,
    symmetrise_option,
)
from mgraph.cli.preparation import preparing
from mgraph.compilation import Stopwatch
from mgraph.core.choices import ForestMethod
from mgraph.core.formatting import (
    format_quantity,
    format_seconds,
    format_sum,
    format_total_time,
    pluralize,
)
from mgraph.errors import MgraphError, UsageError, without_secrets
from mgraph.io.address import parse
from mgraph.io.folder import check_apart, check_file
from mgraph.spanning_trees.minimum_spanning_forest import check_method
from mgraph.spanning_trees.single_linkage import check_criterion

if TYPE_CHECKING:
    from mgraph.cuda.source import Loader


class Variant(click.ParamType):
    """``STEP=VARIANT``."""

    name = "variant"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[str, str]:
        """Parse the option's value."""
        step, equals, variant = value.partition("=")
        if not equals:
            self.fail(f"must be STEP=VARIANT, such as contract=vertex (got {value!r})", param, ctx)
        return step, variant


@command(
    examples=(
        "mgraph msf roads",
        "mgraph msf roads --out forest.gexf",
        "mgraph msf graph --out forest",
    )
)
@click.argument("location", metavar="GRAPH")
@symmetrise_option
@graph_options()
@choice_option("--method", ForestMethod, "auto", "The algorithm.", group=METHOD)
@option(
    "--variant",
    "variants",
    type=Variant(),
    multiple=True,
    metavar="STEP=VARIANT",
    group=METHOD,
    help="Use another variant of a step of boruvka on a GPU, such as contract=vertex.",
)
@option(
    "--steps", is_flag=True, group=METHOD, help="Show how long each step of boruvka takes on a GPU."
)
@option(
    "--out",
    metavar="OUT",
    group=OUTPUT,
    help="Write the forest to a graph file or a folder; the forest of a dataset over a cluster.",
)
@option(
    "--batch",
    type=NUMBER,
    metavar="EDGES",
    group=OUTPUT,
    help="Edges per task, for a dataset.  [default: a worker's share, as far as it fits]",
)
@compression_option
@resume_option
@overwrite_option("OUT")
@backend_option
@cluster_options
def msf(location: str, out: str | None, **options: Any) -> None:
    """Find a minimum spanning forest of GRAPH: one tree per component.

    GRAPH is an undirected dataset or graph file; its weights may be negative. With --out, the edges
    of a dataset are spread over a cluster, or the forests of its parts are merged in files, so that
    GRAPH may be larger than the memory of all workers.
    """
    from mgraph.io.formats import format_of
    from mgraph.io.graph_writer import check_target

    is_dataset = format_of(location)[0] is None
    if out is not None and is_dataset and format_of(out)[0] is None:
        _span_over_cluster(location, out, options)
        return
    refuse(("batch", "resume"), "applies to the forest of a dataset with --out DIR")
    if out is None:
        refuse(("overwrite", "compression"), "needs --out")
    else:
        check_apart(out, location)
        check_target(out, options["overwrite"], options["compression"])
    check_method(options["method"], bool(options["variants"] or options["steps"]))
    if out is None and is_dataset and (shortage := _find_shortage(location, options)):
        click.echo(f"warning: {shortage}; its edges are spread over a cluster", err=True)
        _span_over_cluster(location, None, options)
        return
    refuse(
        ("scheduler", "scheduler_file", "workers", "dashboard"),
        "applies to the forest of a dataset with --out DIR, or to one larger than this process",
    )
    graph = _read_graph(location, options)
    forest = _span_in_process(graph, options)
    if out is not None:
        mgraph.write_graph(
            forest.to_graph(weighted=graph.weights is not None),
            out,
            overwrite=options["overwrite"],
            compression=options["compression"],
            forest={"of": parse(location).text, "total_weight": forest.total_weight},
        )
        click.echo(f"{pluralize(len(forest), 'edge')} in {out}")


def _read_graph(location: str, options: dict[str, Any]) -> "mgraph.Graph":
    method, backend = options["method"], options["backend"]

    def span(tiny: mgraph.Graph, _: int) -> None:
        mgraph.minimum_spanning_forest(tiny, method=method, backend="gpu")

    def loaders(tiny: mgraph.Graph, _: int) -> "list[Loader]":
        from mgraph.spanning_trees import spanning_forest_gpu

        return spanning_forest_gpu.loaders(tiny, method)

    with preparing(location, backend, span, loaders):
        graph = mgraph.read_graph(
            location,
            symmetrise=options["symmetrise"],
            backend=backend,
            **reading_arguments(options),
        )
    if not options["quiet"]:
        click.echo(f"{graph}", err=True)
    return graph


def _make_single_edge(graph: "mgraph.Graph") -> "mgraph.Graph":
    """Return a graph of one edge, with the types of the given graph and on its device."""
    ends, weights = np.array([1, 0], graph.indices.dtype), None
    if graph.weights is not None:
        weights = np.ones(2, graph.weights.dtype)
    known = {"rows_ascend": True, "symmetric": True}
    small = mgraph.Graph.unchecked(np.array([0, 1, 2]), ends, weights, False, **known)
    return small.to_gpu() if graph.backend == "gpu" else small


def _span_in_process(graph: "mgraph.Graph", options: dict[str, Any]) -> "mgraph.SpanningForest":
    total_watch = Stopwatch()
    method_options: dict[str, Any] = {"method": options["method"], "backend": graph.backend}
    if options["variants"] or options["steps"]:
        method_options |= {"variants": dict(options["variants"]), "timed": options["steps"]}
    # The first call compiles what will be timed.
    with timings.step(timings.REHEARSING):
        mgraph.minimum_spanning_forest(_make_single_edge(graph), **method_options)
    watch = Stopwatch()
    with timings.step(timings.COMPUTING):
        forest = mgraph.minimum_spanning_forest(graph, **method_options)
    seconds = watch.work
    click.echo(
        f"{pluralize(len(forest), 'edge')}, {pluralize(forest.components, 'component')}, "
        f"total weight {forest.format_weight()}; {forest.method} on the {forest.backend}, "
        f"{format_seconds(seconds)}, {format_quantity(graph.num_arcs / seconds)} arcs/s; "
        f"{format_total_time(total_watch.total, total_watch.compiling)}"
    )
    for step, milliseconds in (forest.step_times or {}).items():
        click.echo(f"{step:9s} {milliseconds:8.2f} ms")
    return forest


def _find_shortage(location: str, options: dict[str, Any]) -> str | None:
    """Return why this process does not hold the graph of a dataset; None if it is to."""
    from mgraph.io.dataset import EdgeDataset
    from mgraph.io.graph_memory import find_local_shortage

    if options["method"] != "auto" or options["variants"] or options["steps"]:
        return None
    try:
        dataset = EdgeDataset(location, parse_read_options(options).table.request)
        dataset.check_dense()
        return find_local_shortage(dataset, options["backend"], directed=False)
    except MgraphError:  # the reader says what is wrong, or reads it in another way
        return None


def _span_over_cluster(location: str, out: str | None, options: dict[str, Any]) -> None:
    refuse(("variants", "steps", "method"), "applies without --out DIR")
    connection = ("scheduler", "scheduler_file", "workers", "dashboard", "quiet")
    names = ("backend", "symmetrise", "batch", "compression", "resume", "overwrite")
    selection = {name: options[name] for name in connection}
    cluster = cluster_spec(**selection, edges=peek_edges(location))
    run = mgraph.spanning_forest_dataset(
        location,
        out,
        cluster=cluster,
        progress=None if options["quiet"] else sys.stderr,
        reading=reading_arguments(options),
        **{name: options[name] for name in names},
    )
    manifest = run.manifest
    kept = f", {run.kept} kept" if run.kept else ""
    found = (
        f"{pluralize(manifest.num_edges, 'edge')}, {pluralize(run.components, 'component')}, "
        f"total weight {format_sum(run.total_weight)}"
    )
    if run.location is None:
        click.echo(f"{found}; {run.seconds:.1f} s")
        return
    click.echo(
        f"{found}, in {pluralize(len(manifest.parts), 'part')}, "
        f"{format_quantity(manifest.bytes)}B, in {without_secrets(run.location)}; "
        f"{pluralize(run.made, 'forest')} made"
        f"{kept}, {run.seconds:.1f} s"
    )


@command(
    "single-linkage",
    examples=(
        "mgraph single-linkage points -k 3",
        "mgraph single-linkage points --distance 2.5 --out clusters.parquet",
    ),
)
@click.argument("location", metavar="GRAPH")
@option("-k", "k", type=NUMBER, help="Cut the vertices into K clusters.")
@option("--distance", type=float, help="Separate clusters that are at least this far apart.")
@symmetrise_option
@graph_options()
@ids_option
@choice_option("--method", ForestMethod, "auto", "The algorithm for the forest.", group=METHOD)
@option(
    "--out",
    metavar="FILE.parquet",
    group=OUTPUT,
    help="Write each vertex with its cluster to a file.",
)
@overwrite_option("FILE")
@backend_option
@quiet_option("Print the result only: no notes on the graph or on compiling.")
def single_linkage(
    location: str, k: int | None, distance: float | None, out: str | None, **options: Any
) -> None:
    """Cluster the vertices of GRAPH by single linkage: cut the heaviest edges of its forest.

    The weights of GRAPH are distances. Give -k or --distance.
    """
    check_criterion(k, distance)
    if out is None:
        refuse(("overwrite",), "needs --out")
    else:
        if os.path.splitext(out)[1] != ".parquet":
            raise UsageError(f"{out}: clusters are written as Parquet; give a name in .parquet")
        check_apart(out, location)
        check_file(out, options["overwrite"])
    graph = _read_graph(location, options)
    clustering = mgraph.single_linkage(
        graph, k, distance=distance, method=options["method"], backend=graph.backend
    )
    click.echo(str(clustering))
    if out is not None:
        clustering.write(out, ids=options["ids"])
        click.echo(f"vertices and their clusters in {out}")
