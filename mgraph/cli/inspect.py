"""``mgraph info``, ``verify`` and ``degrees``: what a dataset holds."""

import json
import math
import sys
from typing import Any

import click

import mgraph
from mgraph.cli.help import command, option
from mgraph.cli.options import (
    backend_option,
    cluster_options,
    cluster_spec,
    graph_options,
    parse_read_options,
    peek_edges,
)
from mgraph.core.choices import Backend
from mgraph.core.formatting import (
    format_number,
    format_quantity,
    format_seconds,
    format_sum,
    format_total_time,
    pluralize,
)
from mgraph.errors import without_secrets
from mgraph.io.figure import check_figure
from mgraph.io.untrusted import printable

SCAN_EDGES = 100_000_000  # larger datasets are read only with --scan


def _describe_manifest(dataset: Any) -> dict[str, str]:
    """Return the lines on what a dataset's manifest, or its files' footers, say."""
    manifest = dataset.manifest
    rows = [part.rows for part in manifest.parts]
    min_rows, max_rows = min(rows, default=0), max(rows, default=0)
    sizes = f"{min_rows:,} to " * (min_rows < max_rows) + pluralize(max_rows, "edge")
    parameters = ", ".join(f"{key} = {value}" for key, value in manifest.model.items())
    per_edge = format_number(manifest.bytes / max(manifest.num_edges, 1), 3)
    size = f"{format_quantity(manifest.bytes)}B, {per_edge} B per edge"
    lines = {
        "dataset": without_secrets(dataset.location),
        "model": parameters or "none: not generated here",
        "vertices": f"{manifest.n:,}",
        "edges": f"{manifest.num_edges:,}, {'directed' if manifest.directed else 'undirected'}",
        "ids": f"{manifest.dtype}, {manifest.compression} compression",
        "weights": manifest.weight_dtype or "none",
        "parts": f"{len(rows)}, of {sizes}",
        "size": size,
    }
    if manifest.vertices:
        more = ", ".join(manifest.vertices.attributes)
        lines["own ids"] = manifest.vertices.kind + (f", with {printable(more)}" if more else "")
    if manifest.forest:
        lines["model"] = f"minimum spanning forest of {manifest.forest['of']}"
        lines["total"] = f"a weight of {format_sum(manifest.forest['total_weight'])}"
    not_read = []
    if dataset.unread_columns:
        not_read.append(f"columns {', '.join(sorted(dataset.unread_columns))}")
    if dataset.has_manifest:
        lines["checksum"] = f"{manifest.checksum:016x}"
    if dataset.ignored_names:
        names = ", ".join(map(printable, dataset.ignored_names[:5])) + ", …" * (
            len(dataset.ignored_names) > 5
        )
        count = pluralize(
            len(dataset.ignored_names), "other file or folder", "other files or folders"
        )
        not_read.append(f"{count}: {names}")
    if not_read:
        lines["not read"] = "; ".join(not_read)
    return lines | {"made by": manifest.created_by}


def _describe_summary(summary: Any) -> dict[str, str]:
    """Return the lines on what a scan of the edges found."""
    lines = {
        "vertices": f"{summary.n:,}, {summary.isolated:,} of them isolated",
        "edges": f"{summary.edges:,}, {'directed' if summary.directed else 'undirected'}, "
        f"{summary.self_loops:,} self-loops",
        "degrees": "{:,} to {:,}".format(*summary.degree),
    }
    ends = summary.edges if summary.directed else 2 * summary.edges
    lines["degrees"] += f", mean {format_number(ends / max(summary.n, 1))}"
    lines["degrees"] += f", variance {format_number(summary.degree_variance)}"
    if summary.in_degree:
        lines["degrees"] += " out, {:,} to {:,} in".format(*summary.in_degree)
    if summary.weight:
        lines["weights"] = (
            f"{summary.weight[0]:,} to {summary.weight[2]:,}, mean {summary.weight[1]:.6g}"
        )
    else:
        lines["weights"] = "none"
    lines["components"] = (
        f"{summary.components:,}, the largest of {summary.largest_component:,} vertices"
    )
    return lines


@command(examples=("mgraph info graph", "mgraph info roads.gr.gz --json"))
@click.argument("graph")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@option(
    "--scan/--no-scan",
    default=None,
    help="Read the edges, for degrees, weights and components.  [default: up to 10^8 edges]",
)
@graph_options()
def info(graph: str, as_json: bool, scan: bool | None, **options: Any) -> None:
    """Show what GRAPH holds: a dataset, a folder of Parquet files, or a graph file."""
    from mgraph.io import dataset as datasets
    from mgraph.io import formats, graph_reader
    from mgraph.io.tables import table_files

    reading = parse_read_options(options)
    dataset = None
    is_folder = formats.format_of(graph)[0] is None and not table_files.has_pattern(graph)
    if is_folder and not table_files.holds_tables(graph) and not reading.table.text_ids:
        dataset = datasets.EdgeDataset(graph, reading.table.request)
        if dataset.has_manifest:
            reading.refuse_columns(f"{graph} is a dataset of mgraph")
    if scan is None:
        scan = dataset is None or dataset.num_edges <= SCAN_EDGES
    summary = graph_reader.summarize(graph, reading) if scan or dataset is None else None
    if as_json:
        content = dataset.manifest.to_json() if dataset else {}
        click.echo(json.dumps(content | (summary._asdict() if summary else {}), indent=1))
        return
    lines = _describe_manifest(dataset) if dataset else {"file": graph}
    scanned = _describe_summary(summary) if summary else {}
    if dataset and scanned:
        weights = dataset.manifest.weight_dtype
        scanned["weights"] = f"{weights}, {scanned['weights']}" if weights else "none"
    elif dataset:
        scanned = {"degrees": "not read; --scan reads them, and weights and components"}
    for name, value in (lines | scanned).items():
        click.echo(f"{name:10s} {value}")


@command(examples=("mgraph verify graph", "mgraph verify graph --regenerate 0.25"))
@click.argument("dataset")
@option(
    "--regenerate",
    type=float,
    default=0.0,
    show_default=True,
    metavar="FRACTION",
    help="Generate this fraction of the parts again, and compare.",
)
@backend_option
@cluster_options
def verify(
    dataset: str, regenerate: float, backend: Backend, quiet: bool, **connection: Any
) -> int:
    """Check every part of DATASET: rows, ranges, order, repeated edges and checksums.

    The exit status is 1 if there is a fault.
    """
    cluster = cluster_spec(quiet=quiet, edges=peek_edges(dataset), **connection)
    verdict = mgraph.verify(
        dataset,
        regenerate=regenerate,
        backend=backend,
        cluster=cluster,
        progress=None if quiet else sys.stderr,
    )
    for fault in verdict.faults:
        click.echo(f"mgraph: {fault}", err=True)
    if not verdict.ok:
        remedy = "delete these parts, then run mgraph generate --resume"
        if not mgraph.open_dataset(dataset).manifest.model:
            remedy = "write them again from their source"
        click.echo(
            f"{without_secrets(verdict.location)} does not hold what its manifest says: "
            f"{pluralize(len(verdict.faults), 'fault')}; {remedy}",
            err=True,
        )
        return 1
    parts = "the part" if verdict.parts == 1 else f"all {verdict.parts:,} parts"
    again = f", {verdict.regenerated} made again and equal" if verdict.regenerated else ""
    click.echo(
        f"OK: {without_secrets(verdict.location)}: {parts} verified, "
        f"{pluralize(verdict.num_edges, 'edge')}{again}; "
        f"{format_seconds(verdict.work_seconds)}, "
        f"{format_quantity(verdict.num_edges / verdict.work_seconds)} edges/s; "
        f"{format_total_time(verdict.seconds, verdict.compile_seconds)}"
    )
    return 0


@command(examples=("mgraph degrees graph", "mgraph degrees graph --plot degrees.png"))
@click.argument("dataset")
@option("--json", "as_json", is_flag=True, help="Print the whole distribution as JSON.")
@option("--plot", metavar="FILE.png", help="Draw the distribution, with the fitted tail.")
@backend_option
@cluster_options
def degrees(
    dataset: str, plot: str | None, as_json: bool, backend: Backend, quiet: bool, **connection: Any
) -> None:
    """Compute the degree distribution of DATASET, and the exponent of its tail.

    The exponent is fitted by maximum likelihood, with its standard error.
    """
    if plot:
        check_figure(plot)
    cluster = cluster_spec(quiet=quiet, edges=peek_edges(dataset), **connection)
    distribution = mgraph.degrees(
        dataset,
        backend=backend,
        cluster=cluster,
        progress=None if quiet else sys.stderr,
    )
    if plot:
        distribution.plot(plot)
    if as_json:
        click.echo(json.dumps(distribution.to_json()))
        return
    law = distribution.power_law
    if not distribution.n:
        click.echo("no vertices")
        return
    click.echo(
        f"{distribution.n:,} vertices; degree {distribution.degree[0]:,} to "
        f"{distribution.degree[-1]:,}, "
        f"mean {format_number(2 * distribution.num_edges / distribution.n)}"
    )
    if law:
        click.echo(
            f"tail exponent {law.exponent:.3f} ± {law.standard_error:.3f} from degree "
            f"{law.k_min:,} on ({law.tail:,} vertices; Kolmogorov–Smirnov {law.distance:.2g})"
        )
    else:
        click.echo("tail exponent: none, too few distinct degrees to fit a power law")
    if distribution.predicted == math.inf:
        click.echo("the model has no power law at p = 1: its degrees fall exponentially")
    elif distribution.predicted is not None:
        click.echo(
            f"the model's exponent, 1 + 1/(1 - p), is {distribution.predicted:.3f} for large n"
        )
    if plot:
        click.echo(f"plot in {plot}")
