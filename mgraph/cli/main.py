"""The entry point: finds the verb's module, and turns errors into a sentence and a status.

Exit status: 0 done; 1 failed, a check does not hold, or the output cannot be written; 2 wrong use;
75 the scheduler was lost; 130 interrupted, 143 by SIGTERM, 129 by SIGHUP. A reader of the output
that goes away changes no status. Whatever fails ends in one sentence; with MGRAPH_DEBUG=1 in the
environment the traceback stands before it.
"""

import gc
import importlib
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import click

import mgraph
from mgraph import compilation, installation
from mgraph.cli import streams
from mgraph.core.interrupts import ended_as_by_ctrl_c, interrupted_later
from mgraph.errors import MgraphError, MgraphWarning, without_secrets

VERBS = {
    "cancel": "mgraph.cli.runs",
    "cluster": "mgraph.cli.cluster",
    "completion": "mgraph.cli.config",
    "config": "mgraph.cli.config",
    "convert": "mgraph.cli.convert",
    "degrees": "mgraph.cli.inspect",
    "doctor": "mgraph.cli.doctor",
    "generate": "mgraph.cli.generate",
    "info": "mgraph.cli.inspect",
    "knapsack": "mgraph.cli.knapsack",
    "list": "mgraph.cli.runs:list_runs",
    "logs": "mgraph.cli.runs",
    "msf": "mgraph.cli.msf",
    "single-linkage": "mgraph.cli.msf:single_linkage",
    "sssp": "mgraph.cli.sssp",
    "status": "mgraph.cli.runs",
    "steiner": "mgraph.cli.steiner",
    "submit": "mgraph.cli.runs",
    "verify": "mgraph.cli.inspect",
}


class _LazyGroup(click.Group):
    """A group whose commands are imported by name, so that ``--help`` stays quick."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            from mgraph.core.choices import did_you_mean

            ctx.fail(f"No such command {args[0]!r}{did_you_mean(args[0], VERBS)}")
        return super().resolve_command(ctx, args)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        with interrupted_later():
            module, _, name = VERBS[cmd_name].partition(":")
            command: click.Command = getattr(importlib.import_module(module), name or cmd_name)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(getattr(mgraph, "__version__", "unknown"), prog_name="mgraph")
def cli() -> None:
    """Very large graphs on many GPUs, or on this machine's cores, with Dask."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    # Imports make hundreds of thousands of objects that stay: looking for garbage among them after
    # every few hundred takes a tenth of the start.
    gc.set_threshold(100_000, 50, 100)
    streams.take_over()
    compilation.tell_with(lambda: click.echo(f"mgraph: {compilation.NOTICE}", err=True))
    with warnings.catch_warnings():
        warnings.showwarning = _Shown(warnings.showwarning)
        return _ended(arguments)


class _Shown:
    """Shows each of our warnings once, as a line, and others as Python does."""

    def __init__(self, others: Callable[..., None]) -> None:
        self._others, self._shown = others, set[str]()

    def __call__(self, message: Any, category: type[Warning], *where: Any, **more: Any) -> None:
        text = str(message)
        if not issubclass(category, MgraphWarning):
            self._others(message, category, *where, **more)
        elif text not in self._shown:
            from mgraph.io.untrusted import printable

            self._shown.add(text)
            click.echo(f"mgraph: {printable(without_secrets(text))}", err=True)


def _ended(arguments: Sequence[str] | None) -> int:
    with ended_as_by_ctrl_c() as signals:
        try:
            status = _run(arguments)
            if status == 130:
                streams.drop_what_waits()
            status = streams.status_of(status)
        except KeyboardInterrupt:
            streams.drop_what_waits()
            status = streams.status_of(130)
    if status == 130 and signals:
        status = 128 + signals[0]
    if store := sys.modules.get("mgraph.io.store"):
        store.exit_without_waiting(status)
    # The process ends: freeing a hundred thousand objects one by one would take a quarter second.
    gc.freeze()
    return status


def _run(arguments: Sequence[str] | None) -> int:
    if installation.is_replaced():
        other = installation.other_project() or f"the one of {mgraph.__file__}"
        click.echo(f"mgraph: {installation.mixed(other)}", err=True)
        return 1
    try:
        status = cli.main(args=arguments, prog_name="mgraph", standalone_mode=False)
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.exceptions.NoArgsIsHelpError as help_text:
        help_text.show()
        return help_text.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        message = " ".join(error.format_message().split()).rstrip(".")
        if context:
            see = f"ee {context.command_path} --help"
            message += f" S{see}" if message.endswith("?") else f"; s{see}"
        click.echo(f"mgraph: {message}", err=True)
        return error.exit_code
    except MgraphError as error:
        return _failed(error)
    except OSError as error:  # those of graphs are MgraphErrors by now
        click.echo(f"mgraph: something cannot be written or read: {error}", err=True)
        return 1
    except (click.Abort, KeyboardInterrupt):
        click.echo("mgraph: interrupted; what is finished is kept", err=True)
        return 130
    except Exception as error:  # of a library, or a fault of ours: a sentence, too
        return _failed(error)
    return status if isinstance(status, int) else 0


def _failed(error: Exception) -> int:
    """Say in a sentence what failed, after the traceback if it is asked for; returns the status."""
    from mgraph.distributed.protocol.failures import debugging, explained
    from mgraph.io.untrusted import printable  # names in files may hold control characters

    if debugging():
        traceback.print_exception(error)
    told = explained(error, "the command")
    click.echo(f"mgraph: {printable(str(told))}", err=True)
    return told.exit_status


if __name__ == "__main__":
    sys.exit(main())
