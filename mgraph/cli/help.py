"""How ``--help`` looks: options in groups, the most used first, and examples at the end."""

import functools
import json
import os
from collections.abc import Callable
from typing import Any

import click

from mgraph import timings


class GroupedOption(click.Option):
    """An option that ``--help`` lists under a heading."""

    def __init__(self, *names: Any, group: str = "Options", **attributes: Any) -> None:
        """group: the heading."""
        super().__init__(*names, **attributes)
        self.group = group


class Command(click.Command):
    """A command whose ``--help`` has options in groups, and examples; it can time its steps.

    Click has no groups of options, and the packages that add them import slowly.
    """

    def __init__(self, *arguments: Any, examples: tuple[str, ...] = (), **attributes: Any) -> None:
        """examples: command lines, without a prompt."""
        super().__init__(*arguments, **attributes)
        self.params += _timings_options()
        self.examples = examples

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; afterwards show or write its timeline, if that was requested."""
        shown, file = ctx.params.pop("timings"), ctx.params.pop("timings_json")
        if not shown and file is None:
            return super().invoke(ctx)
        if file is not None:
            _check_new_file(file)
        with timings.reported(functools.partial(_show_timings, shown, file)):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each group of options under its heading, in the order of their first options."""
        groups: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            record = parameter.get_help_record(ctx)
            if isinstance(parameter, click.Option) and record is not None:
                groups.setdefault(getattr(parameter, "group", "Other options"), []).append(record)
        for heading, records in groups.items():
            with formatter.section(heading):
                formatter.write_dl(records)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the examples."""
        if self.examples:
            with formatter.section("Examples"):
                for line in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def option(*names: Any, **attributes: Any) -> Callable[..., Any]:
    """``click.option`` with a ``group``."""
    return click.option(*names, cls=GroupedOption, **attributes)


def command(name: str | None = None, **attributes: Any) -> Callable[..., Any]:
    """``click.command`` with ``examples``, and options that time the command."""
    return click.command(name, cls=Command, **attributes)


def _timings_options() -> list[click.Option]:
    """Return the options of every command that show how long its steps took."""
    return [
        GroupedOption(
            ["--timings"],
            is_flag=True,
            group="Other options",
            help="At the end, print how long each step of the command took.",
        ),
        GroupedOption(
            ["--timings-json"],
            metavar="FILE.json",
            group="Other options",
            help="At the end, write how long each step took to a file.",
        ),
    ]


def _check_new_file(file: str) -> None:
    from mgraph.errors import UsageError
    from mgraph.io.folder import check_file

    check_file(file, overwrite=True)
    if os.path.lexists(file):
        raise UsageError(f"{file} exists; timings are written to a new file")


def _show_timings(shown: bool, file: str | None, report: timings.Report) -> None:
    if shown:
        click.echo(report.table(), err=True)
    if file is not None:
        from mgraph.io.folder import writing_file

        with writing_file(file) as stream:
            stream.write((json.dumps(report.to_json(), indent=1) + "\n").encode())
