"""``mgraph info``, ``verify`` and ``degrees``: what a dataset holds."""

import json
import sys
from typing import Any

import click

import mgraph
from mgraph.cli.options import cluster_options, open_cluster


@click.command()
@click.argument("out")
@click.option("--json", "as_json", is_flag=True, help="The manifest as JSON.")
def info(out: str, as_json: bool) -> None:
    """Show the manifest of the dataset in OUT."""
    from mgraph.distributed.progress import quantity

    dataset = mgraph.open_dataset(out)
    manifest = dataset.manifest
    if as_json:
        click.echo(json.dumps(manifest.to_json(), indent=1))
        return
    parameters = ", ".join(f"{key} = {value}" for key, value in manifest.model.items())
    rows = [part.rows for part in manifest.parts]
    lines = {
        "dataset": str(dataset.folder),
        "model": parameters,
        "vertices": f"{manifest.n:,}",
        "edges": f"{manifest.m:,}, {2 * manifest.m / manifest.n:.4g} ends a vertex",
        "ids": f"{manifest.dtype}, {manifest.compression} compression",
        "parts": f"{len(rows)}, of {min(rows):,} to {max(rows):,} edges",
        "size": f"{quantity(manifest.bytes)}B, {manifest.bytes / max(manifest.m, 1):.2f} B an edge",
        "checksum": f"{manifest.checksum:016x}",
        "made by": manifest.created_by,
    }
    for name, value in lines.items():
        click.echo(f"{name:9s} {value}")


@click.command()
@click.argument("out")
@click.option(
    "--regenerate", type=float, default=0.0, help="Fraction of the parts to make again and compare."
)
@cluster_options
def verify(out: str, regenerate: float, quiet: bool, **where: Any) -> int:
    """Read every part of OUT back: rows, ranges, order, repeated edges, checksums."""
    from mgraph.distributed.progress import quantity

    verdict = mgraph.verify(
        out,
        regenerate=regenerate,
        cluster=open_cluster(quiet=quiet, **where),
        progress=None if quiet else sys.stderr,
    )
    for fault in verdict.faults:
        click.echo(f"mgraph: {fault}", err=True)
    if not verdict.ok:
        bad = len(verdict.faults)
        click.echo(
            f"{verdict.location} does not hold what its manifest says: {bad} "
            f"fault{'s' * (bad != 1)}; delete these parts, then run mgraph generate --resume",
            err=True,
        )
        return 1
    again = f", {verdict.regenerated} made again and equal" if verdict.regenerated else ""
    click.echo(
        f"{verdict.location} holds: {verdict.parts} parts, {verdict.edges:,} edges{again}; "
        f"{verdict.seconds:.1f} s, {quantity(verdict.edges / verdict.seconds)} edges/s"
    )
    return 0


@click.command()
@click.argument("out")
@click.option("--plot", metavar="FILE.png", help="Draw the distribution.")
@click.option("--json", "as_json", is_flag=True, help="The whole distribution as JSON.")
@cluster_options
def degrees(out: str, plot: str | None, as_json: bool, quiet: bool, **where: Any) -> None:
    """Degree distribution of OUT, and the exponent of its tail by maximum likelihood."""
    found = mgraph.degrees(
        out,
        cluster=open_cluster(quiet=quiet, **where),
        progress=None if quiet else sys.stderr,
    )
    if plot:
        found.plot(plot)
    if as_json:
        click.echo(json.dumps(found.to_json()))
        return
    law = found.power_law
    click.echo(
        f"{found.n:,} vertices; degree {found.degree[0]:,} to {found.degree[-1]:,}, "
        f"mean {2 * found.m / found.n:.4g}"
    )
    if law:
        click.echo(
            f"tail exponent {law.exponent:.3f} ± {law.standard_error:.3f} from degree "
            f"{law.k_min:,} on ({law.tail:,} vertices; Kolmogorov–Smirnov {law.distance:.2g})"
        )
    else:
        click.echo("tail exponent: none, too few distinct degrees to fit a power law")
    if plot:
        click.echo(f"plot in {plot}")
