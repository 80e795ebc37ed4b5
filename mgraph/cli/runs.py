"""``mgraph submit``, ``status``, ``logs``, ``cancel`` and ``list``: workflows on a cluster."""

import contextlib
import datetime
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

import click

from mgraph.cli import streams
from mgraph.cli.options import GIVEN, Choice, Number, cluster_spec, complete_runs, scheduler_options
from mgraph.cli.run_output import lines_of_tasks, printed, shown
from mgraph.core.formatting import escape, format_local_time, pluralize, shell_command
from mgraph.errors import ClusterError, UsageError
from mgraph.io.run_folder import STATES

CANCEL_SECONDS = 10.0  # beyond the grace
MOST_TOLD = 5  # runs that cannot be read, each by name
TAIL_BYTES = 1 << 20  # of which --tail shows lines
AT_LEAST_0 = Number(0)

_runs_option = click.option(
    "--runs", type=GIVEN, metavar="DIR", help="The folder of runs [of the configuration]."
)


def _where(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which runs."""
    return scheduler_options(_runs_option(command))


def _run_id(required: bool) -> Callable[..., Any]:
    name = "ID" if required else "[ID]"
    return click.argument("run_id", metavar=name, required=required, shell_complete=complete_runs)


@contextlib.contextmanager
def _opened(scheduler: str | None, scheduler_file: str | None, runs: str | None) -> Iterator[Any]:
    """The runs, with a client of their scheduler where one answers: else the folders must do."""
    from mgraph.distributed.clusters import connect
    from mgraph.distributed.protocol import configuration
    from mgraph.distributed.submission.runs import Runs

    scheduler, scheduler_file = _named(scheduler, scheduler_file)
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
            click.echo(f"mgraph: {error}; this is what the runs' folders tell", err=True)
        yield Runs(runs or configuration.get_setting("runs"), client)


def _named(scheduler: str | None, file: str | None) -> tuple[str | None, str | None]:
    """A scheduler's address or file: as given, of Dask's configuration, of mgraph cluster start."""
    from mgraph.distributed.clusters import background_cluster, connect
    from mgraph.distributed.protocol import configuration

    configuration.check_files()
    if not (scheduler or file):
        scheduler = connect.configured_scheduler()
    if not (scheduler or file):
        file = background_cluster.running_scheduler_file()
    return scheduler, file


def _one(runs: Any, run_id: str | None) -> Any:
    """The run of that name, or the newest."""
    if run_id is not None:
        return runs.find(run_id)
    known = runs.all()
    _tell_unreadable(runs)
    if not known:
        raise UsageError(f"there is no run in {runs.path}; mgraph submit begins one")
    return known[-1]


def _tell_unreadable(runs: Any) -> bool:
    """Name the runs whose records cannot be read; whether there are any."""
    problems = runs.unreadable()
    for problem in problems[:MOST_TOLD]:
        click.echo(f"mgraph: left out: {escape(problem)}", err=True)
    if len(problems) > MOST_TOLD:
        click.echo(f"mgraph: and {len(problems) - MOST_TOLD:,} more", err=True)
    return bool(problems)


@click.command(context_settings={"allow_interspersed_args": False})
@click.argument("script", metavar="SCRIPT.py")
@click.argument("arguments", nargs=-1, metavar="[ARGS]...")
@click.option("--wait/--detach", default=True, help="Stream its output, or leave it [--wait].")
@click.option(
    "--with",
    "companions",
    multiple=True,
    metavar="PATH",
    help="Ship this file or folder, too: a module or package that it and its tasks import.",
)
@click.option("--env", "variables", multiple=True, metavar="NAME=VALUE", help="For the script.")
@_where
@click.option("--quiet", "-q", is_flag=True, help="Its output alone.")
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
    """Run a Python script on the cluster, beside its workers; what follows SCRIPT.py is for it.

    In the script ``mgraph.connect()`` finds the cluster. It runs in the current folder where the
    worker's machine has that, with the worker's environment, and goes on when you log off. If its
    worker dies it is begun again, and what it had begun is resumed. Processes that it starts end
    with it, but for those in sessions of their own. Without a scheduler it goes to the cluster of
    the configuration, else that of mgraph cluster start, else to one that lasts as long as the
    command.
    """
    from mgraph.distributed.clusters import connect
    from mgraph.distributed.protocol import configuration
    from mgraph.distributed.submission.payload import collect_files, find_unshipped
    from mgraph.distributed.submission.runs import Runs

    files, environment = collect_files(script, companions), dict(map(_variable, variables))
    announce = None if quiet else sys.stderr
    grace, path = (
        configuration.get_setting("cancel-grace"),
        runs or configuration.get_setting("runs"),
    )
    order = files, arguments, grace, environment, find_unshipped(script, files)
    scheduler, scheduler_file = _named(scheduler, scheduler_file)
    if not (scheduler or scheduler_file):
        if not wait:
            raise UsageError(
                "--detach needs a cluster that stays, and one started here would end with this "
                "command; mgraph cluster start starts one, or give --scheduler"
            )
        return _submit_here(path, order, quiet)
    with connect.connect_client(
        scheduler, scheduler_file, announce=announce, workers_needed=True
    ) as client:
        there = Runs(path, client)
        run, future = there.submit(*order)
        name = run.record.id
        if not wait:
            click.echo(name)
            if not quiet:
                click.echo(f"submitted; mgraph logs -f {name} shows its output", err=True)
            return 0
        if not quiet:
            click.echo(f"run {name}; ctrl-C leaves it, mgraph cancel {name} ends it", err=True)
        try:
            return _follow(there, run, future, quiet)
        except KeyboardInterrupt:
            click.echo(
                f"\nmgraph: run {name} goes on; mgraph logs -f {name} shows its output, mgraph "
                f"cancel {name} ends it",
                err=True,
            )
            return 130


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise UsageError(f"--env is NAME=VALUE, as OMP_NUM_THREADS=1, and is {text!r}")
    return name, value


def _submit_here(path: Any, order: tuple[Any, ...], quiet: bool) -> int:
    """On a cluster that lasts as long as the run; ctrl-C ends both."""
    from mgraph.distributed.protocol.broadcast import silence_task_prints
    from mgraph.distributed.submission.runs import Runs

    nothing = dict.fromkeys(("scheduler", "scheduler_file", "workers", "dashboard"))
    with cluster_spec(**nothing, quiet=quiet).open() as cluster:
        silence_task_prints(cluster.client)
        runs = Runs(path, cluster.client)
        run, future = runs.submit(*order)
        try:
            return _follow(runs, run, future, quiet, stays=False)
        except KeyboardInterrupt:
            runs.cancel(run, CANCEL_SECONDS)
            raise


def _follow(runs: Any, run: Any, future: Any, quiet: bool, stays: bool = True) -> int:
    """Show what a run prints until it ends; returns its exit status.

    Where the reader of standard output goes away, the run goes on and 0 is returned; one whose
    cluster does not stay after this command is awaited all the same.
    """
    name = run.record.id
    if not shown(runs.follow(run)):
        gone = "the reader of the output went away"
        rest = f"mgraph logs -f {name} shows its output, mgraph cancel {name} ends it"
        if stays:
            click.echo(f"mgraph: {gone}; run {name} goes on; {rest}", err=True)
            return 0
        click.echo(f"mgraph: {gone}; this command waits until run {name} has ended", err=True)
        runs.wait(run)
    run = runs.find(name)
    if future is not None and future.status == "error" and run.record.state == "lost":
        run = runs.failed(run, future)
    return _told(run.record, quiet)


def _told(record: Any, quiet: bool) -> int:
    """Say how a run ended; returns its exit status."""
    if record.state == "finished":
        if not quiet:
            click.echo(f"run {record.id} finished in {record.seconds:.1f} s", err=True)
        return 0
    error = f": {escape(record.error)}" if record.error else ""
    click.echo(f"mgraph: run {record.id} {_WORDS[record.state]}{error}", err=True)
    return _status_of(record)


_WORDS = {"failed": "failed", "cancelled": "was cancelled", "lost": "is lost"}


@click.command()
@_run_id(required=False)
@click.option("--wait", is_flag=True, help="Until it has ended; exit with its status.")
@click.option("--json", "as_json", is_flag=True, help="The record as JSON, with its events.")
@_where
def status(run_id: str | None, wait: bool, as_json: bool, **where: Any) -> int:
    """Show a run, by default the newest: its state, where it runs, since when, and what it does."""
    with _opened(**where) as runs:
        run = _one(runs, run_id)
        if wait:
            try:
                run = runs.wait(run)
            except KeyboardInterrupt:
                click.echo(f"\nmgraph: run {run.record.id} goes on", err=True)
                return 130
        record, events, done = run.record, runs.events(run), runs.parts_done(run)
    if as_json:
        click.echo(json.dumps(record.to_json() | {"events": events}, indent=1))
        return _status_of(record) if wait else 0
    told = {
        "run": record.id,
        "state": record.state + (f": {record.error}" if record.error else ""),
        "script": shell_command([record.script, *record.arguments]),
        "submitted": f"{format_local_time(record.submitted)} by {record.by}, in {record.cwd}",
        "cluster": record.scheduler,
    }
    if record.began:
        again = f", attempt {record.attempt}" if record.attempt > 1 else ""
        told["ran" if record.over else "running"] = (
            f"{record.seconds:.1f} s on {record.host}{again}"
        )
    if record.status is not None:
        told["status"] = str(record.status)
    for name, value in told.items():
        click.echo(f"{name:10s} {escape(value)}")
    for operation in _operations(events, done):
        click.echo(f"{'':10s} {escape(operation)}")
    return _status_of(record) if wait else 0


def _status_of(record: Any) -> int:
    """What a command exits with that waited for a run: the script's status, or 1."""
    if record.state == "finished":
        return 0
    if not record.status:
        return 1
    return int(record.status) if record.status > 0 else 128 - record.status  # of a signal


def _operations(events: list[dict[str, Any]], done: dict[str, int]) -> list[str]:
    """A line for each of the last operations of a run. done: parts of those that run."""
    found: dict[str, dict[str, Any]] = {}
    for event in events:
        if event.get("event") == "operation":
            name = str(event.get("operation"))
            found[name] = found.get(name, {}) | event
        elif event.get("event") == "run":  # a new attempt, or the end: what ran is lost with it
            for told in found.values():
                if told.get("state") == "running":
                    told["state"] = "lost"
    lines = []
    for name, told in list(found.items())[-10:]:
        size = told.get("parts")  # of a file, where anything may stand
        parts = pluralize(size, "part") if isinstance(size, int) else "? parts"
        if told.get("state") == "running" and name in done:
            parts = f"{done[name]} of {parts}"
        error = f": {told['error']}" if told.get("error") else ""
        lines.append(f"{told.get('verb')}: {parts}, {told.get('state')}{error}")
    return lines


@click.command()
@_run_id(required=False)
@click.option("--follow", "-f", is_flag=True, help="Until it has ended; exit with its status.")
@click.option("--tail", "-n", type=AT_LEAST_0, metavar="LINES", help="The last lines alone.")
@click.option("--workers", is_flag=True, help="The lines of its tasks alone.")
@_where
def logs(run_id: str | None, follow: bool, tail: int | None, workers: bool, **where: Any) -> int:
    """Show what a run has printed. By default the newest.

    Lines that its tasks print, or log to the standard error, begin with their worker's name; of a
    worker that prints very much, the rest is in its own output, as the cluster's cluster.log.
    """
    chosen = lines_of_tasks if workers else iter
    with _opened(**where) as runs:
        run = _one(runs, run_id)
        start = 0
        if tail is not None:
            start = runs.size(run)
            last = runs.output(run, max(0, start - TAIL_BYTES))[: min(start, TAIL_BYTES)]
            lines = b"".join(chosen([last])).splitlines(keepends=True)
            sys.stdout.buffer.write(
                b"".join(lines[len(lines) - tail :] if tail < len(lines) else lines)
            )
        if follow:
            try:
                if not shown(chosen(runs.follow(run, start))):
                    return 0
            except KeyboardInterrupt:
                return 130
            return _told(runs.find(run.record.id).record, quiet=False)
        if tail is None:
            for chunk in chosen(printed(runs, run)):
                sys.stdout.buffer.write(chunk)
                if streams.reader_is_gone():
                    break
    return 0


@click.command()
@_run_id(required=True)
@_where
def cancel(run_id: str, **where: Any) -> int:
    """End a run: its script is interrupted, and its tasks stop at their next step."""
    from mgraph.distributed.protocol import configuration

    with _opened(**where) as runs:
        run = runs.find(run_id)
        if run.record.over and run.record.state != "lost":
            click.echo(f"run {run.record.id} had ended: {run.record.state}")
            return 0
        record = runs.cancel(run, configuration.get_setting("cancel-grace") + CANCEL_SECONDS).record
    end = f"{record.state}{f': {record.error}' if record.error else ''}"
    click.echo(f"run {record.id} {escape(end)}; what is finished is kept")
    return 0


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="The records as JSON.")
@click.option("--all", "every", is_flag=True, help="All, not the last 20.")
@click.option("--state", type=Choice(STATES), help="Those that are in it.")
@click.option(
    "--remove-ended", type=AT_LEAST_0, metavar="DAYS", help="Remove those that ended before."
)
@_where
def list_runs(
    as_json: bool, every: bool, state: str | None, remove_ended: int | None, **where: Any
) -> int:
    """Show the runs, newest last; the exit status is 1 where one cannot be read."""
    with _opened(**where) as runs:
        if remove_ended is not None:
            click.echo(f"{pluralize(runs.remove_ended(remove_ended), 'run')} removed", err=True)
        known = runs.all()
        status = int(_tell_unreadable(runs))
    records = [run.record for run in known if state in (None, run.record.state)]
    if as_json:
        click.echo(json.dumps([record.to_json() for record in records], indent=1))
        return status
    if not records:
        click.echo(f"no {f'{state} ' if state else ''}runs in {runs.path}", err=True)
    for record in records if every else records[-20:]:
        seconds = str(datetime.timedelta(seconds=round(record.seconds))) if record.began else "-"
        script = shell_command([record.script, *record.arguments])
        click.echo(f"{record.id}  {record.state:9s}  {seconds:>8s}  {script}"[:200])
    return status
