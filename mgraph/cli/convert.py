"""``mgraph convert``: a graph from one format to another, and any ids to vertices 0 to n - 1."""

import os
import sys
from typing import Any

import click

import mgraph
from mgraph.cli.help import command, option
from mgraph.cli.options import (
    NUMBER,
    TABLE,
    WEIGHTS,
    cluster_options,
    cluster_spec,
    compression_option,
    graph_options,
    overwrite_option,
    reading_arguments,
    refuse,
    resume_option,
)
from mgraph.core.formatting import format_quantity, format_total_time, pluralize
from mgraph.errors import without_secrets


@command(
    examples=(
        "mgraph convert roads.csv roads",
        "mgraph convert 'trips/*.parquet' trips --src pickup --dst dropoff --weight minutes",
        "mgraph convert USA-road-d.NE.gr.gz roads --symmetrise --merge",
        "mgraph convert roads roads.gexf",
    )
)
@click.argument("source", metavar="IN...", nargs=-1, required=True)
@click.argument("out")
@option("--symmetrise", is_flag=True, help="Take each arc of IN for both directions.")
@option("--drop-loops", is_flag=True, help="Leave out self-loops.")
@option("--merge", is_flag=True, help="Keep only the minimum-weight arc of parallel ones.")
@option(
    "--weights",
    type=WEIGHTS,
    metavar="LOW:HIGH",
    help="Give edges without weights whole ones, drawn from LOW to HIGH as generate does.",
)
@option("--seed", type=NUMBER, default=1, show_default=True, help="The seed of --weights.")
@graph_options("IN")
@option(
    "--keep-numbers",
    is_flag=True,
    group=TABLE,
    help="Keep ids, whole numbers from 0, as the numbers of vertices, with their gaps.",
)
@option(
    "--vertices",
    metavar="FILE",
    group=TABLE,
    help="Add the columns of a table of vertices, and the vertices that have no edge.",
)
@option(
    "--vertex-id",
    metavar="NAME",
    group=TABLE,
    help="The column of FILE with the vertices' ids.  [default: id, or the first]",
)
@option(
    "--vertices-out",
    metavar="FILE",
    group=TABLE,
    help="Write a list of the vertices beside OUT, a file: .csv or .tsv, as Gephi imports it.",
)
@compression_option
@resume_option
@overwrite_option("OUT")
@cluster_options
def convert(source: tuple[str, ...], out: str, **options: Any) -> None:
    """Copy the graph IN to OUT, each in the format that its name says.

    Names end in .csv, .tsv, .txt and the like (an edge per line), .arrow or .feather, .gr and the
    like (DIMACS), .mtx (Matrix Market), .graph or .metis (METIS), .graphml, .gexf, .stp or .json,
    text also with .gz, .bz2, .xz or .zst after that, and of IN .parquet. Other names are folders of
    Parquet files.

    A table, of any number of files, becomes a dataset whose vertices are numbered 0 to n - 1 in the
    ascending order of their ids, over a cluster and beyond its memory. The ids, whole numbers or
    text, are kept in OUT/_vertices-*.parquet, and other commands take and print them.
    """
    location = source[0] if len(source) == 1 else list(source)
    options |= reading_arguments(options)
    quiet = options.pop("quiet")
    connection = {name: options.pop(name) for name in _CONNECTION}
    from mgraph.distributed.operations.convert import is_over_cluster

    cluster = None
    if is_over_cluster(location, out):
        cluster = cluster_spec(**connection, quiet=quiet, edges=_peek_edges(source))
    else:
        refuse(_CONNECTION, "applies to tables that become a dataset")
    run = mgraph.convert(
        location, out, cluster=cluster, progress=None if quiet else sys.stderr, **options
    )
    kind = "arc" if run.directed else "edge"
    size = f"{pluralize(run.num_edges, kind)}, {'un' * (not run.directed)}directed"
    vertices = pluralize(run.n, "vertex", "vertices")
    click.echo(f"{vertices} and {size}, in {without_secrets(out)}{_describe_cost(run)}")


_CONNECTION = ("scheduler", "scheduler_file", "workers", "dashboard")
_EDGE_BYTES = 20  # of text or Parquet, about


def _describe_cost(run: Any) -> str:
    """Return what a conversion over a cluster wrote, and how long it took; nothing for others."""
    if run.manifest is None:
        return ""
    ids = run.manifest.vertices
    kept = "" if ids is None else f", with their ids, {ids.kind}"
    rate = format_quantity(run.num_edges / max(run.work_seconds, 1e-9))
    total = format_total_time(run.seconds, run.compile_seconds)
    return f"{kept}; {rate} edges/s; {total}"


def _peek_edges(files: tuple[str, ...]) -> int | None:
    """Return about how many edges local files hold; None if they are not all files."""
    if not all(map(os.path.isfile, files)):
        return None
    return sum(map(os.path.getsize, files)) // _EDGE_BYTES * 4  # they may be compressed
