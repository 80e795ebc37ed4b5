"""``mgraph submit``: a script to a cluster."""

import sys
from typing import Any

import click

from mgraph.cli.help import command, option
from mgraph.cli.options import (
    CLUSTER,
    cluster_spec,
)
from mgraph.cli.run_output import print_output
from mgraph.cli.run_selection import (
    named_scheduler,
    report_end,
    run_options,
)
from mgraph.errors import UsageError

CANCEL_SECONDS = 10.0  # beyond the grace


@command(
    context_settings={"allow_interspersed_args": False},
    examples=(
        "mgraph submit job.py --seed 1",
        "mgraph submit --detach --with helpers.py job.py",
        "mgraph submit --scheduler tcp://10.0.0.1:8786 --env LEVEL=2 job.py",
    ),
)
@click.argument("script", metavar="SCRIPT.py")
@click.argument("arguments", nargs=-1, metavar="[ARGS]...")
@option(
    "--wait/--detach",
    default=True,
    show_default=True,
    help="Stream the script's output until it ends, or return at once.",
)
@option(
    "--with",
    "companions",
    multiple=True,
    metavar="PATH",
    help="Also ship a file or folder: a module or package that the script and its tasks import.",
)
@option(
    "--env",
    "variables",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set an environment variable of the script.",
)
@run_options
@option("--quiet", "-q", is_flag=True, group=CLUSTER, help="Print the script's output only.")
def submit(
    script: str,
    arguments: tuple[str, ...],
    wait: bool,
    companions: tuple[str, ...],
    variables: tuple[str, ...],
    scheduler: str | None,
    scheduler_file: str | None,
    runs: str | None,
    quiet: bool,
) -> int:
    """Run a Python script on a cluster; whatever follows SCRIPT.py belongs to the script.

    The script runs on a worker's machine, in the current folder if that machine has it, with the
    worker's environment. In it, mgraph.connect() returns the cluster. It goes on when you log off;
    if its worker dies, it starts again elsewhere, and whatever it had begun is resumed. Processes
    that it starts end with it, except those in sessions of their own. Without a scheduler it runs
    on the cluster of the configuration, else on that of `mgraph cluster start`, else on one that
    lasts as long as the command.
    """
    from mgraph.distributed.clusters import connect
    from mgraph.distributed.protocol import configuration
    from mgraph.distributed.submission.payload import collect_files, find_unshipped
    from mgraph.distributed.submission.runs import Runs

    files, environment = collect_files(script, companions), dict(map(_parse_variable, variables))
    announce = None if quiet else sys.stderr
    grace, path = (
        configuration.get_setting("cancel-grace"),
        runs or configuration.get_setting("runs"),
    )
    request = files, arguments, grace, environment, find_unshipped(script, files)
    scheduler, scheduler_file = named_scheduler(scheduler, scheduler_file)
    if not (scheduler or scheduler_file):
        if not wait:
            raise UsageError(
                "--detach needs a cluster that stays, and a local one would end with this "
                "command; mgraph cluster start starts one, or give --scheduler"
            )
        return _submit_to_temporary_cluster(path, request, quiet)
    with connect.connect_client(
        scheduler, scheduler_file, announce=announce, workers_needed=True
    ) as client:
        client_runs = Runs(path, client)
        run, future = client_runs.submit(*request)
        name = run.record.id
        if not wait:
            click.echo(name)
            if not quiet:
                click.echo(f"submitted; mgraph logs -f {name} shows its output", err=True)
            return 0
        if not quiet:
            click.echo(f"run {name}; ctrl-C leaves it, mgraph cancel {name} ends it", err=True)
        try:
            return _follow_run(client_runs, run, future, quiet)
        except KeyboardInterrupt:
            click.echo(
                f"\nmgraph: run {name} goes on; mgraph logs -f {name} shows its output, mgraph "
                f"cancel {name} ends it",
                err=True,
            )
            return 130


def _parse_variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--env must be NAME=VALUE, such as OMP_NUM_THREADS=1 (got {text!r})")
    return name, value


def _submit_to_temporary_cluster(path: Any, request: tuple[Any, ...], quiet: bool) -> int:
    """Run the script on a cluster that lasts as long as the run; ctrl-C ends both."""
    from mgraph.distributed.protocol.broadcast import silence_task_prints
    from mgraph.distributed.submission.runs import Runs

    no_options = dict.fromkeys(("scheduler", "scheduler_file", "workers", "dashboard"))
    with cluster_spec(**no_options, quiet=quiet).open() as cluster:
        silence_task_prints(cluster.client)
        runs = Runs(path, cluster.client)
        run, future = runs.submit(*request)
        try:
            return _follow_run(runs, run, future, quiet, cluster_stays=False)
        except KeyboardInterrupt:
            runs.cancel(run, CANCEL_SECONDS)
            raise


def _follow_run(runs: Any, run: Any, future: Any, quiet: bool, cluster_stays: bool = True) -> int:
    """Print a run's output until it ends; return its exit status.

    If the reader of standard output goes away, the run goes on and 0 is returned, unless the
    cluster ends with this command: then the run is awaited.
    """
    name = run.record.id
    if not print_output(runs.follow(run)):
        reason = "the reader of the output went away"
        hint = f"mgraph logs -f {name} shows its output, mgraph cancel {name} ends it"
        if cluster_stays:
            click.echo(f"mgraph: {reason}; run {name} goes on; {hint}", err=True)
            return 0
        click.echo(f"mgraph: {reason}; this command waits until run {name} has ended", err=True)
        runs.wait(run)
    run = runs.find(name)
    if future is not None and future.status == "error" and run.record.state == "lost":
        run = runs.failed(run, future)
    return report_end(run.record, quiet)
