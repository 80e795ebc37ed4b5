"""How ``--help`` looks: options in groups, the most used first, and examples at the end."""

from collections.abc import Callable
from typing import Any

import click


class GroupedOption(click.Option):
    """An option that ``--help`` lists under a heading."""

    def __init__(self, *names: Any, group: str = "Options", **attributes: Any) -> None:
        """group: the heading."""
        super().__init__(*names, **attributes)
        self.group = group


class Command(click.Command):
    """A command whose ``--help`` has options in groups, and examples.

    Click has no groups of options, and the packages that add them import slowly.
    """

    def __init__(self, *arguments: Any, examples: tuple[str, ...] = (), **attributes: Any) -> None:
        """examples: command lines, without a prompt."""
        super().__init__(*arguments, **attributes)
        self.examples = examples

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
    """``click.command`` with ``examples``."""
    return click.command(name, cls=Command, **attributes)
