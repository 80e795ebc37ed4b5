"""``mgraph generate``: a graph to Parquet."""

import sys
from typing import Any

import click

import mgraph
from mgraph.cli.options import (
    NUMBER,
    WEIGHTS,
    backend_option,
    cluster_options,
    cluster_spec,
    compression_option,
)
from mgraph.core.formatting import format_parts, format_seconds, format_total_time, pluralize
from mgraph.errors import without_secrets
from mgraph.generators.copy_model import METHODS, STARTS


@click.command()
@click.argument("out")
@click.option("-n", "n", type=NUMBER, required=True, help="Vertices: above d, at most 2^40.")
@click.option("-d", "d", type=NUMBER, default=8, show_default=True, help="Edges a vertex, to 4096.")
@click.option(
    "-p",
    "p",
    type=float,
    default=0.5,
    show_default=True,
    help="Probability of a direct edge: 0.5 preferential attachment, 1 uniform, 0 a star.",
)
@click.option(
    "--start",
    metavar="|".join(STARTS),
    default="paper",
    show_default=True,
    help="ba: the initial clique's edges count as any other, so that -p 0.5 is Barabási–Albert.",
)
@click.option("--seed", type=NUMBER, default=1, show_default=True)
@click.option(
    "--weights",
    type=WEIGHTS,
    metavar="LOW:HIGH",
    help="Give each edge a whole weight, a hash of its ends and the seed.",
)
@click.option(
    "--method",
    metavar="|".join(METHODS),
    default="cuppa_hash",
    show_default=True,
    help="cuppa, copy and ba keep a graph in one memory; copy, copy_hash and ba need no GPU.",
)
@backend_option
@click.option("--parts", type=NUMBER, help="Files; by default a few a thread, of 1 to 64 Mi edges.")
@compression_option
@click.option("--resume", is_flag=True, help="Keep the parts that are whole, make the others.")
@click.option("--overwrite", is_flag=True, help="Replace the dataset in OUT.")
@cluster_options
def generate(
    out: str,
    n: int,
    d: int,
    p: float,
    start: str,
    seed: int,
    weights: tuple[int, int] | None,
    method: str,
    backend: str,
    parts: int | None,
    compression: str,
    resume: bool,
    overwrite: bool,
    quiet: bool,
    **where: Any,
) -> None:
    """Generate a preferential-attachment graph into the folder OUT, or to s3://…

    Its edges depend on n, d, p, the seed and the method alone: not on the machine, the workers,
    the parts, or whether it was resumed.
    """
    model = mgraph.CopyModel(n, d, p, seed, method, weights, start)
    from mgraph.distributed.protocol.progress import quantity

    result = mgraph.generate(
        out,
        model,
        cluster=cluster_spec(quiet=quiet, **where),
        backend=backend,
        parts=parts,
        compression=compression,
        resume=resume,
        overwrite=overwrite,
        progress=None if quiet else sys.stderr,
    )
    manifest = result.manifest
    work = "all parts were there already"
    if result.made_parts:
        rate = quantity(result.made_edges / result.work_seconds)
        made = (
            f"{pluralize(result.made_edges, 'edge')} made in {format_seconds(result.work_seconds)}"
        )
        work = f"{made}, {rate} edges/s"
    click.echo(
        f"{manifest.n:,} vertices and {pluralize(manifest.num_edges, 'edge')} in "
        f"{format_parts(len(manifest.parts), result.kept_parts)}, "
        f"{quantity(manifest.bytes)}B, in {without_secrets(result.location)}; {work}; "
        f"{format_total_time(result.seconds, result.compile_seconds)}"
    )
