"""``mgraph doctor``: look for what is wrong before a long run fails on it."""

import contextlib
import json

import click

from mgraph.cli.help import command, option
from mgraph.cli.options import TEXT, scheduler_options
from mgraph.errors import MgraphError


@command(
    examples=("mgraph doctor", "mgraph doctor --scheduler tcp://10.0.0.1:8786 --out /shared/graphs")
)
@option("--out", type=TEXT, metavar="FOLDER", help="Test that every worker can write to FOLDER.")
@option("--json", "as_json", is_flag=True, help="Print JSON.")
@scheduler_options
def doctor(
    scheduler: str | None, scheduler_file: str | None, out: str | None, as_json: bool
) -> int:
    """Check this machine and a cluster; each line says what to do.

    The cluster is the one that is named, else that of Dask's configuration, else the one that
    `mgraph cluster start` started. The exit status is 1 if a line begins with FAIL, else 0.
    """
    from mgraph.distributed.clusters import background_cluster, connect
    from mgraph.distributed.doctor import diagnosis as module
    from mgraph.distributed.doctor.check import FAIL
    from mgraph.distributed.protocol import configuration

    configuration.check_files()
    if not (scheduler or scheduler_file or connect.configured_scheduler()):
        with contextlib.suppress(MgraphError):  # invalid settings are reported below
            scheduler_file = background_cluster.running_scheduler_file()
    checks = []
    for check in module.checks(scheduler=scheduler, scheduler_file=scheduler_file, out=out):
        checks.append(check)
        if not as_json:
            click.echo(str(check))
    if as_json:
        click.echo(json.dumps([check.to_json() for check in checks], indent=1))
    return int(any(check.state == FAIL for check in checks))
