"""``mgraph generate``: a graph to Parquet."""

import sys
from typing import Any

import click

import mgraph
from mgraph.cli.help import command, option
from mgraph.cli.options import (
    NUMBER,
    OUTPUT,
    WEIGHTS,
    backend_option,
    choice_option,
    cluster_options,
    cluster_spec,
    compression_option,
    overwrite_option,
    resume_option,
)
from mgraph.core.choices import Backend, Compression, CopyMethod, Start
from mgraph.core.formatting import (
    format_parts,
    format_quantity,
    format_seconds,
    format_total_time,
    pluralize,
)
from mgraph.errors import without_secrets


@command(
    examples=(
        "mgraph generate graph -n 1_000_000 -d 8",
        "mgraph generate roads -n 10_000 -d 3 --weights 1:100",
        "mgraph generate s3://bucket/huge -n 2^31 -d 8 --scheduler tcp://10.0.0.1:8786",
    )
)
@click.argument("out")
@option("-n", "n", type=NUMBER, required=True, help="The number of vertices, at most 2^40.")
@option(
    "-d", "d", type=NUMBER, default=8, show_default=True, help="Edges per vertex, at most 4,096."
)
@option(
    "-p",
    "p",
    type=float,
    default=0.5,
    show_default=True,
    help="Probability of an edge to a uniform vertex instead of a copied endpoint: 0.5 is "
    "preferential attachment, 1 uniform attachment, 0 a star.",
)
@option("--seed", type=NUMBER, default=1, show_default=True, help="The seed of all random draws.")
@option(
    "--weights",
    type=WEIGHTS,
    metavar="LOW:HIGH",
    help="Give each edge a whole weight in this range, a hash of its endpoints and the seed.",
)
@choice_option(
    "--method",
    CopyMethod,
    "cuppa_hash",
    "The algorithm. cuppa, copy and ba need the whole graph in one memory; copy, copy_hash and ba "
    "run on cores only.",
)
@choice_option(
    "--start",
    Start,
    "paper",
    "The first vertices: as in the cuPPA paper, or as in Barabási and Albert's model (-p 0.5).",
)
@option(
    "--parts",
    type=NUMBER,
    group=OUTPUT,
    help="The number of files.  [default: a few per thread, of 1 to 64 Mi edges]",
)
@compression_option
@resume_option
@overwrite_option("the dataset in OUT")
@backend_option
@cluster_options
def generate(
    out: str,
    n: int,
    d: int,
    p: float,
    start: Start,
    seed: int,
    weights: tuple[int, int] | None,
    method: CopyMethod,
    backend: Backend,
    parts: int | None,
    compression: Compression,
    resume: bool,
    overwrite: bool,
    quiet: bool,
    **connection: Any,
) -> None:
    """Generate a random graph into the folder OUT, or to s3://bucket/folder.

    Each vertex connects to d earlier vertices (the copy model). The edges depend on n, d, p, the
    seed and the method alone, not on the machine, the workers or the number of parts.
    """
    model = mgraph.CopyModel(n, d, p, seed, method, weights, start)
    cluster = cluster_spec(quiet=quiet, edges=model.num_edges, **connection)
    result = mgraph.generate(
        out,
        model,
        cluster=cluster,
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
        rate = format_quantity(result.made_edges / result.work_seconds)
        made = (
            f"{pluralize(result.made_edges, 'edge')} made in {format_seconds(result.work_seconds)}"
        )
        work = f"{made}, {rate} edges/s"
    click.echo(
        f"{manifest.n:,} vertices and {pluralize(manifest.num_edges, 'edge')} in "
        f"{format_parts(len(manifest.parts), result.kept_parts)}, "
        f"{format_quantity(manifest.bytes)}B, in {without_secrets(result.location)}; {work}; "
        f"{format_total_time(result.seconds, result.compile_seconds)}"
    )
