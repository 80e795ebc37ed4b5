"""``mgraph cluster``: a cluster on this machine that stays up, and certificates for any cluster."""

import json
import sys
from typing import Any

import click

from mgraph.cli.help import Command, option
from mgraph.cli.options import NUMBER, TEXT, backend_option, overwrite_option
from mgraph.distributed.clusters.certificates import DAYS

folder_option = option(
    "--folder",
    metavar="DIR",
    type=TEXT,
    help="The folder of the cluster's files.  [default: ~/.mgraph/cluster]",
)


@click.group()
def cluster() -> None:
    """Start, stop or look at a cluster on this machine that keeps running between commands."""


@cluster.command(
    cls=Command,
    examples=("mgraph cluster start", "mgraph cluster start --workers 8 --tls"),
    short_help="Start a cluster in the background.",
)
@option(
    "--workers",
    type=NUMBER,
    metavar="W",
    help="The number of workers.  [default: one per GPU, or one per core]",
)
@option(
    "--threads",
    type=NUMBER,
    help="Threads per worker.  [default: 1, or a GPU's share of the cores]",
)
@backend_option
@option("--tls", is_flag=True, help="Encrypt, and admit only clients that have the certificate.")
@option(
    "--host",
    default="127.0.0.1",
    show_default=True,
    help="The address on which scheduler and workers listen.",
)
@option("--port", type=NUMBER, default=0, help="The scheduler's port.  [default: any free one]")
@option(
    "--dashboard",
    type=TEXT,
    metavar="HOST:PORT",
    help="The address of the dashboard.  [default: 127.0.0.1:8787]",
)
@folder_option
def start(**options: Any) -> int:
    """Start a scheduler and workers in the background, and wait until all have joined."""
    from mgraph.distributed.clusters import background_cluster
    from mgraph.distributed.clusters.cluster_status import status as read_status

    try:
        folder = background_cluster.start(announce=sys.stderr, **options)
    except background_cluster.StartError as error:
        for line in error.log:
            click.echo(f"  {line}", err=True)
        raise
    for line in read_status(folder.path).lines():
        click.echo(line)
    return 0


@cluster.command(cls=Command, examples=("mgraph cluster stop",), short_help="Stop it.")
@folder_option
def stop(folder: str | None) -> None:
    """Stop the scheduler and the workers that `start` started."""
    from mgraph.distributed.clusters import background_cluster

    runs = background_cluster.stop(folder)
    if runs:
        click.echo(
            f"mgraph: {len(runs)} run{'s were' if len(runs) > 1 else ' was'} not finished: "
            f"{', '.join(sorted(runs)[:5])}",
            err=True,
        )
    click.echo("stopped")


@cluster.command(
    cls=Command, examples=("mgraph cluster status",), short_help="Show which of its processes run."
)
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@folder_option
def status(folder: str | None, as_json: bool) -> int:
    """Show which processes of the cluster run; the exit status is 0 if all do, else 1."""
    from mgraph.distributed.clusters.cluster_status import status as read_status

    cluster_status = read_status(folder)
    if as_json:
        click.echo(json.dumps(cluster_status.to_json(), indent=1))
    else:
        for line in cluster_status.lines():
            click.echo(line)
    return 0 if cluster_status.state == "running" else 1


@cluster.command(
    cls=Command,
    examples=("mgraph cluster certificates tls",),
    short_help="Make certificates for any cluster.",
)
@click.argument("directory", metavar="DIR", type=click.Path())
@option("--host", multiple=True, hidden=True, expose_value=False, help="Ignored; 0.1.0 used it.")
@option(
    "--days",
    type=NUMBER,
    default=DAYS,
    show_default=True,
    help="Days until the certificate ends.",
)
@overwrite_option("the certificates in DIR")
def certificates(directory: str, days: int, overwrite: bool) -> None:
    """Make a certificate, its key and Dask's configuration (dask.yaml) in DIR.

    Scheduler, workers and clients share the certificate: whoever has the key can connect.
    """
    from mgraph.distributed.clusters import certificates as module

    made = module.make(directory, days=days, overwrite=overwrite)
    end = module.expiry(made.cert)
    click.echo(f"{made.folder}: a certificate until {end:%Y-%m-%d}")
    click.echo(f"use it with: export DASK_CONFIG={made.folder}/dask.yaml")
