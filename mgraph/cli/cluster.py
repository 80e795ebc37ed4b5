"""``mgraph cluster``: a cluster on this machine that stays up, and certificates for any cluster."""

import json
import sys
from typing import Any

import click

from mgraph.cli.options import GIVEN, NUMBER, backend_option
from mgraph.distributed.clusters.certificates import DAYS

folder_option = click.option(
    "--folder",
    metavar="DIR",
    type=GIVEN,
    help="Where the cluster keeps its files [~/.mgraph/cluster].",
)


@click.group()
def cluster() -> None:
    """Start, stop or look at a cluster on this machine that stays up between commands."""


@cluster.command()
@click.option("--workers", type=NUMBER, help="By default one a GPU, or one a core.")
@click.option(
    "--threads", type=NUMBER, help="Of each worker; by default one, or a GPU's share of the cores."
)
@backend_option
@click.option("--tls", is_flag=True, help="Encrypt, and let in only who has the certificate.")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Where the scheduler and workers listen."
)
@click.option("--port", type=NUMBER, default=0, help="The scheduler's [any free one].")
@click.option(
    "--dashboard", type=GIVEN, metavar="HOST:PORT",
    help="Where it shows its pages [127.0.0.1:8787].",
)  # fmt: skip
@folder_option
def start(**how: Any) -> int:
    """Start a scheduler and workers in the background, and wait until all are there."""
    from mgraph.distributed.clusters import background_cluster
    from mgraph.distributed.clusters.cluster_status import status as status_of

    try:
        where = background_cluster.start(announce=sys.stderr, **how)
    except background_cluster.StartError as error:
        for line in error.log:
            click.echo(f"  {line}", err=True)
        raise
    for line in status_of(where.path).lines():
        click.echo(line)
    return 0


@cluster.command()
@folder_option
def stop(folder: str | None) -> None:
    """End the workers and the scheduler that `start` began."""
    from mgraph.distributed.clusters import background_cluster

    runs = background_cluster.stop(folder)
    if runs:
        click.echo(
            f"mgraph: {len(runs)} run{'s were' if len(runs) > 1 else ' was'} not finished: "
            f"{', '.join(sorted(runs)[:5])}",
            err=True,
        )
    click.echo("stopped")


@cluster.command()
@folder_option
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def status(folder: str | None, as_json: bool) -> int:
    """Show what runs; the exit status is 0 for a whole cluster, else 1."""
    from mgraph.distributed.clusters.cluster_status import status as status_of

    found = status_of(folder)
    if as_json:
        click.echo(json.dumps(found.to_json(), indent=1))
    else:
        for line in found.lines():
            click.echo(line)
    return 0 if found.state == "running" else 1


@cluster.command()
@click.argument("directory", metavar="DIR", type=click.Path())
@click.option(
    "--host", "hosts", metavar="NAME", multiple=True, required=True,
    help="A name or address of a host of the cluster; give it for each.",
)  # fmt: skip
@click.option("--days", type=NUMBER, default=DAYS, show_default=True, help="How long it is valid.")
@click.option("--overwrite", is_flag=True, help="Replace the certificates that are in DIR.")
def certificates(directory: str, hosts: tuple[str, ...], days: int, overwrite: bool) -> None:
    """Make an authority, a certificate, their keys and Dask's configuration (dask.yaml) in DIR."""
    from mgraph.distributed.clusters import certificates as module

    made = module.make(directory, hosts, days=days, overwrite=overwrite)
    end = module.expiry(made.cert)
    click.echo(f"{made.folder}: a certificate until {end:%Y-%m-%d} for {', '.join(hosts)}")
    click.echo(f"use it with: export DASK_CONFIG={made.folder}/dask.yaml")
