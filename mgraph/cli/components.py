"""``mgraph components``: the connected components of a graph."""

import sys
from typing import Any

import click

import mgraph
from mgraph import timings
from mgraph.cli.help import command, option
from mgraph.cli.options import (
    OUTPUT,
    backend_option,
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
)
from mgraph.compilation import Stopwatch
from mgraph.core.formatting import format_quantity, format_seconds, format_total_time, pluralize
from mgraph.errors import without_secrets


@command(
    examples=(
        "mgraph components graph",
        "mgraph components graph --out components",
        "mgraph components roads --largest main-roads",
    )
)
@click.argument("location", metavar="GRAPH")
@graph_options()
@ids_option
@option(
    "--out",
    metavar="DIR",
    group=OUTPUT,
    help="Write each vertex with its component, and the components with their sizes.",
)
@option(
    "--largest",
    metavar="OUT",
    group=OUTPUT,
    help="Write the graph of the largest component: a dataset, or a graph file for one of these.",
)
@compression_option
@resume_option
@overwrite_option("DIR and OUT")
@backend_option
@cluster_options
def components(location: str, out: str | None, largest: str | None, **options: Any) -> None:
    """Find the connected components of GRAPH; a component is named by its smallest vertex.

    Directions do not matter: the components of a directed graph are its weakly connected ones. The
    edges of a dataset are read over a cluster, and none is kept, so that GRAPH may be larger than
    any worker's memory.
    """
    if out is None and largest is None:
        refuse(("overwrite", "compression", "resume"), "needs --out or --largest")
    if _is_streamed(location, largest, options):
        _search_over_cluster(location, out, largest, options)
        return
    refuse(
        ("scheduler", "scheduler_file", "workers", "dashboard", "resume"),
        "applies to the components of a dataset, and for --largest to one that has a manifest",
    )
    _search_in_process(location, out, largest, options)


def _is_streamed(location: str, largest: str | None, options: dict[str, Any]) -> bool:
    """Return whether GRAPH is a dataset with numbered vertices, and what is written is one."""
    from mgraph.io.dataset import EdgeDataset
    from mgraph.io.formats import format_of
    from mgraph.io.tables.sparse_ids import UnnumberedError
    from mgraph.io.tables.table_files import has_pattern, holds_tables

    reading = parse_read_options(options)
    if format_of(location)[0] is not None or reading.table.text_ids:
        return False
    if has_pattern(location) or holds_tables(location):
        return False
    dataset = EdgeDataset(location, reading.table.request)
    try:
        dataset.check_dense()
    except UnnumberedError:
        return False
    return largest is None or (dataset.has_manifest and format_of(largest)[0] is None)


def _search_over_cluster(
    location: str, out: str | None, largest: str | None, options: dict[str, Any]
) -> None:
    connection = ("scheduler", "scheduler_file", "workers", "dashboard", "quiet")
    names = ("backend", "ids", "compression", "resume", "overwrite")
    selection = {name: options[name] for name in connection}
    cluster = cluster_spec(**selection, edges=peek_edges(location))
    run = mgraph.components_dataset(
        location,
        out,
        largest=largest,
        cluster=cluster,
        progress=None if options["quiet"] else sys.stderr,
        reading=reading_arguments(options),
        **{name: options[name] for name in names},
    )
    rate = ""  # nothing was done where an earlier run had finished
    if run.work_seconds:
        rate = f"{format_quantity(run.num_edges / run.work_seconds)} edges/s, "
    click.echo(f"{run}; {rate}{run.seconds:.1f} s")
    if run.location is not None:
        click.echo(f"vertices and their components in {without_secrets(run.location)}")
    if run.largest_location is not None:
        dataset = mgraph.open_dataset(run.largest_location)
        click.echo(
            f"{pluralize(dataset.num_edges, 'edge')} of the largest component in "
            f"{without_secrets(run.largest_location)}"
        )


def _search_in_process(
    location: str, out: str | None, largest: str | None, options: dict[str, Any]
) -> None:
    from mgraph.components.component_folder import ComponentFolder
    from mgraph.io.folder import check_apart
    from mgraph.io.graph_writer import check_target

    compression, overwrite = options["compression"], options["overwrite"]
    for target in filter(None, (out, largest)):
        check_apart(target, location)
    if largest is not None:
        check_target(largest, overwrite, compression)
        if out is not None:
            check_apart(out, largest)
    if out is not None:
        ComponentFolder(out, compression).check(overwrite)
    graph = mgraph.read_graph(
        location, symmetrise=True, backend=options["backend"], **reading_arguments(options)
    )
    if not options["quiet"]:
        click.echo(f"{graph}", err=True)
    watch = Stopwatch()
    with timings.step(timings.COMPUTING):
        found = mgraph.connected_components(graph, backend=graph.backend)
    click.echo(
        f"{found}; on the {graph.backend}, {format_seconds(watch.work)}; "
        f"{format_total_time(watch.total, watch.compiling)}"
    )
    if out is not None:
        found.write(out, ids=options["ids"], compression=compression, overwrite=overwrite)
        click.echo(f"vertices and their components in {out}")
    if largest is not None:
        part = found.subgraph(graph)
        mgraph.write_graph(part, largest, overwrite=overwrite, compression=compression)
        click.echo(f"{pluralize(part.num_edges, 'edge')} of the largest component in {largest}")
