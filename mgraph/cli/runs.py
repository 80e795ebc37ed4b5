"""``mgraph status``, ``logs``, ``cancel`` and ``list``: the state of submitted scripts."""

import datetime
import json
import sys
from typing import Any

import click

from mgraph.cli import streams
from mgraph.cli.help import command, option
from mgraph.cli.options import (
    Choice,
    Number,
)
from mgraph.cli.run_output import print_output, read_output, select_task_lines
from mgraph.cli.run_selection import (
    exit_status_of,
    find_run,
    open_runs,
    report_end,
    report_unreadable,
    run_argument,
    run_options,
)
from mgraph.core.formatting import escape, format_local_time, pluralize, shell_command
from mgraph.io.run_folder import STATES

CANCEL_SECONDS = 10.0  # beyond the grace
TAIL_BYTES = 1 << 20  # of which --tail shows lines
AT_LEAST_0 = Number(0)


@command(examples=("mgraph status", "mgraph status 20261129-0930 --wait"))
@run_argument(required=False)
@option("--wait", is_flag=True, help="Wait until the run ends, and exit with its status.")
@option("--json", "as_json", is_flag=True, help="Print the record and its events as JSON.")
@run_options
def status(run_id: str | None, wait: bool, as_json: bool, **connection: Any) -> int:
    """Show the state of a run, by default the newest: where it runs, since when, what it does."""
    with open_runs(**connection) as runs:
        run = find_run(runs, run_id)
        if wait:
            try:
                run = runs.wait(run)
            except KeyboardInterrupt:
                click.echo(f"\nmgraph: run {run.record.id} goes on", err=True)
                return 130
        record, events, done = run.record, runs.events(run), runs.parts_done(run)
    if as_json:
        click.echo(json.dumps(record.to_json() | {"events": events}, indent=1))
        return exit_status_of(record) if wait else 0
    rows = {
        "run": record.id,
        "state": record.state + (f": {record.error}" if record.error else ""),
        "script": shell_command([record.script, *record.arguments]),
        "submitted": f"{format_local_time(record.submitted)} by {record.by}, in {record.cwd}",
        "cluster": record.scheduler,
    }
    if record.began:
        again = f", attempt {record.attempt}" if record.attempt > 1 else ""
        rows["ran" if record.over else "running"] = (
            f"{record.seconds:.1f} s on {record.host}{again}"
        )
    if record.status is not None:
        rows["status"] = str(record.status)
    for name, value in rows.items():
        click.echo(f"{name:10s} {escape(value)}")
    for operation in _describe_operations(events, done):
        click.echo(f"{'':10s} {escape(operation)}")
    return exit_status_of(record) if wait else 0


def _describe_operations(events: list[dict[str, Any]], done: dict[str, int]) -> list[str]:
    """Return one line per operation, of the last ten. done: the finished parts of running ones."""
    operations: dict[str, dict[str, Any]] = {}
    for event in events:
        if event.get("event") == "operation":
            name = str(event.get("operation"))
            operations[name] = operations.get(name, {}) | event
        elif event.get("event") == "run":  # a new attempt, or the end: what ran is lost with it
            for operation in operations.values():
                if operation.get("state") == "running":
                    operation["state"] = "lost"
    lines = []
    for name, operation in list(operations.items())[-10:]:
        size = operation.get("parts")  # of a file, so of any type
        parts = pluralize(size, "part") if isinstance(size, int) else "? parts"
        finished = done.get(name) if operation.get("state") == "running" else operation.get("done")
        if isinstance(finished, int) and finished != size:
            parts = f"{finished:,} of {parts}"
        error = f": {operation['error']}" if operation.get("error") else ""
        lines.append(f"{operation.get('verb')}: {parts}, {operation.get('state')}{error}")
    return lines


@command(examples=("mgraph logs -f", "mgraph logs 20261129-0930 --tail 100"))
@run_argument(required=False)
@option("--follow", "-f", is_flag=True, help="Wait until the run ends, and exit with its status.")
@option("--tail", "-n", type=AT_LEAST_0, metavar="LINES", help="Show the last LINES lines only.")
@option("--workers", is_flag=True, help="Show the lines of the run's tasks only.")
@run_options
def logs(
    run_id: str | None, follow: bool, tail: int | None, workers: bool, **connection: Any
) -> int:
    """Show the output of a run, by default the newest.

    Lines that tasks print, or log to standard error, begin with their worker's name. If a worker
    prints very much, the rest is in that worker's own output, such as the cluster's cluster.log.
    """
    select_lines = select_task_lines if workers else iter
    with open_runs(**connection) as runs:
        run = find_run(runs, run_id)
        start = 0
        if tail is not None:
            start = runs.size(run)
            last = runs.output(run, max(0, start - TAIL_BYTES))[: min(start, TAIL_BYTES)]
            lines = b"".join(select_lines([last])).splitlines(keepends=True)
            sys.stdout.buffer.write(
                b"".join(lines[len(lines) - tail :] if tail < len(lines) else lines)
            )
        if follow:
            try:
                if not print_output(select_lines(runs.follow(run, start))):
                    return 0
            except KeyboardInterrupt:
                return 130
            return report_end(runs.find(run.record.id).record, quiet=False)
        if tail is None:
            for chunk in select_lines(read_output(runs, run)):
                sys.stdout.buffer.write(chunk)
                if streams.reader_is_gone():
                    break
    return 0


@command(examples=("mgraph cancel 20261129-0930",))
@run_argument(required=True)
@run_options
def cancel(run_id: str, **connection: Any) -> int:
    """End a run: its script is interrupted, and its tasks end at their next step."""
    from mgraph.distributed.protocol import configuration

    with open_runs(**connection) as runs:
        run = runs.find(run_id)
        if run.record.over and run.record.state != "lost":
            click.echo(f"run {run.record.id} had ended: {run.record.state}")
            return 0
        record = runs.cancel(run, configuration.get_setting("cancel-grace") + CANCEL_SECONDS).record
    end = f"{record.state}{f': {record.error}' if record.error else ''}"
    click.echo(f"run {record.id} {escape(end)}; what is finished is kept")
    return 0


@command("list", examples=("mgraph list", "mgraph list --state failed --all"))
@option("--json", "as_json", is_flag=True, help="Print the records as JSON.")
@option("--all", "list_all", is_flag=True, help="List all runs instead of the last 20.")
@option("--state", type=Choice(STATES), help="List the runs in this state only.")
@option(
    "--remove-ended",
    type=AT_LEAST_0,
    metavar="DAYS",
    help="Remove the runs that ended more than DAYS days ago.",
)
@run_options
def list_runs(
    as_json: bool, list_all: bool, state: str | None, remove_ended: int | None, **connection: Any
) -> int:
    """List the runs, newest last; the exit status is 1 if a record cannot be read."""
    with open_runs(**connection) as runs:
        if remove_ended is not None:
            click.echo(f"{pluralize(runs.remove_ended(remove_ended), 'run')} removed", err=True)
        all_runs = runs.all()
        status = int(report_unreadable(runs))
    records = [run.record for run in all_runs if state in (None, run.record.state)]
    if as_json:
        click.echo(json.dumps([record.to_json() for record in records], indent=1))
        return status
    if not records:
        click.echo(f"no {f'{state} ' if state else ''}runs in {runs.path}", err=True)
    for record in records if list_all else records[-20:]:
        seconds = str(datetime.timedelta(seconds=round(record.seconds))) if record.began else "-"
        script = shell_command([record.script, *record.arguments])
        click.echo(f"{record.id}  {record.state:9s}  {seconds:>8s}  {script}"[:200])
    return status
