"""What the commands about runs share: which runs, which run, and how one ended."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

from mgraph.cli.help import option
from mgraph.cli.options import (
    CLUSTER,
    TEXT,
    complete_runs,
    scheduler_options,
)
from mgraph.core.formatting import escape
from mgraph.errors import ClusterError, ConnectionLostError, UsageError

MAX_LISTED = 5  # unreadable runs, each by name

_runs_option = option(
    "--runs",
    type=TEXT,
    metavar="DIR",
    group=CLUSTER,
    help="The folder of runs.  [default: mgraph.runs of the configuration]",
)


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which runs."""
    return scheduler_options(_runs_option(command))


def run_argument(required: bool) -> Callable[..., Any]:
    """Add the argument that names a run."""
    name = "ID" if required else "[ID]"
    return click.argument("run_id", metavar=name, required=required, shell_complete=complete_runs)


@contextlib.contextmanager
def open_runs(scheduler: str | None, scheduler_file: str | None, runs: str | None) -> Iterator[Any]:
    """Yield the runs, with a client of their scheduler if it answers, else from folders alone."""
    from mgraph.distributed.clusters import connect
    from mgraph.distributed.protocol import configuration
    from mgraph.distributed.submission.runs import Runs

    scheduler, scheduler_file = named_scheduler(scheduler, scheduler_file)
    if not (scheduler or scheduler_file):
        yield Runs(runs or configuration.get_setting("runs"))
        return
    with contextlib.ExitStack() as stack:
        client = None
        try:
            client = stack.enter_context(
                connect.connect_client(scheduler, scheduler_file, announce=sys.stderr)
            )
        except ClusterError as error:
            click.echo(f"mgraph: {error}; showing what the run folders hold", err=True)
        yield Runs(runs or configuration.get_setting("runs"), client)


def named_scheduler(scheduler: str | None, file: str | None) -> tuple[str | None, str | None]:
    """Return a scheduler's address or file: given, configured, or of mgraph cluster start."""
    from mgraph.distributed.clusters import background_cluster, connect
    from mgraph.distributed.protocol import configuration

    configuration.check_files()
    if not (scheduler or file):
        scheduler = connect.configured_scheduler()
    if not (scheduler or file):
        file = background_cluster.running_scheduler_file()
    return scheduler, file


def find_run(runs: Any, run_id: str | None) -> Any:
    """Return the run of that name, or the newest."""
    if run_id is not None:
        return runs.find(run_id)
    all_runs = runs.all()
    report_unreadable(runs)
    if not all_runs:
        raise UsageError(f"there is no run in {runs.path}; start one with mgraph submit")
    return all_runs[-1]


def report_unreadable(runs: Any) -> bool:
    """Name the runs whose records cannot be read; return whether there are any."""
    problems = runs.unreadable()
    for problem in problems[:MAX_LISTED]:
        click.echo(f"mgraph: left out: {escape(problem)}", err=True)
    if len(problems) > MAX_LISTED:
        click.echo(f"mgraph: and {len(problems) - MAX_LISTED:,} more", err=True)
    return bool(problems)


def report_end(record: Any, quiet: bool) -> int:
    """Print how a run ended; return its exit status."""
    if record.state == "finished":
        if not quiet:
            click.echo(f"run {record.id} finished in {record.seconds:.1f} s", err=True)
        return 0
    error = f": {escape(record.error)}" if record.error else ""
    click.echo(f"mgraph: run {record.id} {_ENDS[record.state]}{error}", err=True)
    return exit_status_of(record)


_ENDS = {"failed": "failed", "cancelled": "was cancelled", "lost": "is lost"}


def exit_status_of(record: Any) -> int:
    """Return the exit status of a command that waited for a run: the script's, or 1 or 75."""
    if record.state == "finished":
        return 0
    if record.state == "lost":
        return ConnectionLostError.exit_status
    if not record.status:
        return 1
    return int(record.status) if record.status > 0 else 128 - record.status  # of a signal
