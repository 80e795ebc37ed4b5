"""The entry point: imports the verb's module, and turns errors into a sentence and a status.

Exit status: 0 done; 1 failed, a check does not hold, or the output cannot be written; 2 wrong use;
75 the scheduler was lost; 130 interrupted, 143 by SIGTERM, 129 by SIGHUP. A reader of the output
that goes away changes no status. Whatever fails ends in one sentence; with MGRAPH_DEBUG=1 in the
environment the traceback stands before it.
"""

import atexit
import contextlib
import gc
import importlib
import os
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import click

import mgraph
from mgraph import compilation, installation
from mgraph.cli import streams
from mgraph.core import light_numba
from mgraph.core.interrupts import deferred_interrupts, signals_as_interrupts
from mgraph.errors import MgraphError, MgraphWarning, without_secrets

# By heading, in the order of use: each command's module and what it does, which ``mgraph --help``
# shows without importing the module.
SECTIONS = {
    "Make and check graphs": {
        "generate": ("mgraph.cli.generate", "Generate a random graph as Parquet files."),
        "info": ("mgraph.cli.inspect", "Show what a dataset or graph file holds."),
        "verify": ("mgraph.cli.inspect", "Check every part of a dataset."),
        "degrees": ("mgraph.cli.inspect", "Compute the degree distribution of a dataset."),
        "convert": ("mgraph.cli.convert", "Copy a graph into another file format."),
    },
    "Ask questions": {
        "sssp": ("mgraph.cli.sssp", "Find shortest paths, from one vertex or from many."),
        "steiner": ("mgraph.cli.steiner", "Find small trees that connect given vertices."),
        "msf": ("mgraph.cli.msf", "Find a minimum spanning forest."),
        "components": ("mgraph.cli.components", "Find the connected components."),
        "single-linkage": (
            "mgraph.cli.msf:single_linkage",
            "Cluster the vertices by single linkage.",
        ),
        "knapsack": ("mgraph.cli.knapsack", "Solve 0/1 knapsack instances."),
    },
    "Run scripts on a cluster": {
        "submit": ("mgraph.cli.submit", "Run a Python script on a cluster."),
        "status": ("mgraph.cli.runs", "Show the state of a run."),
        "logs": ("mgraph.cli.runs", "Show the output of a run."),
        "cancel": ("mgraph.cli.runs", "End a run."),
        "list": ("mgraph.cli.runs:list_runs", "List the runs."),
    },
    "Set up": {
        "cluster": ("mgraph.cli.cluster", "Start or stop a cluster on this machine."),
        "doctor": ("mgraph.cli.doctor", "Check a cluster, its workers and a folder."),
        "config": ("mgraph.cli.config", "Show the settings and where they come from."),
        "completion": ("mgraph.cli.config", "Complete commands in your shell."),
        "warm-up": (
            "mgraph.cli.warm_up:warm_up",
            "Compile beforehand what commands compile at first.",
        ),
    },
}
VERBS = {name: module for section in SECTIONS.values() for name, (module, _) in section.items()}
_PARAMETER = re.compile(r"""(?<!`)`([a-z]\w*)=("[^"`\n]*"|'[^'`\n]*'|[\w.:/+-]+)`(?!`)""")


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
        return list(VERBS)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for heading, section in SECTIONS.items():
            with formatter.section(heading):
                formatter.write_dl([(name, text) for name, (_, text) in section.items()])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        with deferred_interrupts():
            module, _, name = VERBS[cmd_name].partition(":")
            command: click.Command = getattr(importlib.import_module(module), name or cmd_name)
        return command


@click.group(cls=_LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(getattr(mgraph, "__version__", "unknown"), prog_name="mgraph")
def cli() -> None:
    """Very large graphs on many GPUs, or on this machine's cores, with Dask.

    A first graph: mgraph generate graph -n 1_000_000

    Each command explains itself with --help.
    """


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit status."""
    # Imports make hundreds of thousands of objects that stay: looking for garbage among them after
    # every few hundred takes a tenth of the start.
    gc.set_threshold(300_000, 50, 100)
    light_numba.install()
    streams.take_over()
    compilation.set_notifier(lambda: click.echo(f"mgraph: {compilation.NOTICE}", err=True))
    with warnings.catch_warnings():
        warnings.showwarning = _WarningPrinter(warnings.showwarning)
        return _run_and_flush(arguments)


def run_and_exit() -> None:
    """Run the command line and end the process, without taking the interpreter apart.

    What is registered to happen at the exit happens. Python would then free every object, and CuPy
    every block of a GPU's memory, which takes up to half a second.
    """
    status = main()
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(status)


class _WarningPrinter:
    """Prints each of our warnings once, as a line, and others as Python does."""

    def __init__(self, show_other: Callable[..., None]) -> None:
        self._show_other, self._printed = show_other, set[str]()

    def __call__(self, message: Any, category: type[Warning], *location: Any, **more: Any) -> None:
        text = str(message)
        if not issubclass(category, MgraphWarning):
            self._show_other(message, category, *location, **more)
        elif text not in self._printed:
            from mgraph.io.untrusted import printable

            self._printed.add(text)
            text = name_options(without_secrets(text))
            click.echo(f"mgraph: {printable(text)}", err=True)


def _run_and_flush(arguments: Sequence[str] | None) -> int:
    with signals_as_interrupts() as signals:
        try:
            status = _run(arguments)
            if status == 130:
                streams.drop_pending_output()
            status = streams.final_status(status)
        except KeyboardInterrupt:
            streams.drop_pending_output()
            status = streams.final_status(130)
    if status == 130:
        # An interrupt that passes through an exec() of text, as when a dataclass is made, counts as
        # unhandled until the next exec(): Python would end ``python -m mgraph`` by the signal.
        exec("")
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
        click.echo(f"mgraph: {installation.describe_conflict(other)}", err=True)
        return 1
    try:
        status = cli.main(args=arguments, prog_name="mgraph", standalone_mode=False)
    except click.exceptions.Exit as request:
        return request.exit_code
    except click.exceptions.NoArgsIsHelpError as help_text:
        help_text.show()
        return help_text.exit_code
    except click.ClickException as error:
        context = getattr(error, "ctx", None)
        message = " ".join(error.format_message().split()).rstrip(".")
        if context:
            hint = f"ee {context.command_path} --help"
            message += f" S{hint}" if message.endswith("?") else f"; s{hint}"
        click.echo(f"mgraph: {message}", err=True)
        return error.exit_code
    except MgraphError as error:
        return _report_error(error)
    except OSError as error:  # those of graphs are MgraphErrors by now
        click.echo(f"mgraph: reading or writing failed: {error}", err=True)
        return 1
    except (click.Abort, KeyboardInterrupt):
        click.echo("mgraph: interrupted; what is finished is kept", err=True)
        return 130
    except Exception as error:  # of a library, or a fault of ours: a sentence, too
        return _report_error(error)
    return status if isinstance(status, int) else 0


def name_options(message: str) -> str:
    """Turn the parameters that a library message names into the options of a command.

    A ``name=True`` in backticks becomes ``--name``, a ``name=False`` becomes ``--no-name``, and any
    other ``name=value`` becomes ``--name value``.
    """

    def option(parameter: re.Match[str]) -> str:
        name, value = _option_name(parameter[1]), parameter[2].strip("\"'")
        return {"True": name, "False": f"--no-{name[2:]}"}.get(value, f"{name} {value}")

    return _PARAMETER.sub(option, message)


def _option_name(parameter: str) -> str:
    return f"--{parameter.replace('_', '-')}"


def _report_error(error: Exception) -> int:
    """Print what failed, after the traceback if that is enabled; return the exit status."""
    from mgraph.distributed.protocol.failures import debugging, explained
    from mgraph.io.untrusted import printable  # names in files may hold control characters

    if debugging():
        traceback.print_exception(error)
    explanation = explained(error, "the command")
    message = name_options(str(explanation))
    parameter = getattr(error, "parameter", None) or ""
    if "_" in parameter:  # a name that is no word of a sentence
        message = re.sub(rf"(?<![\w/.-]){parameter}(?![\w/.-])", _option_name(parameter), message)
    elif re.match(rf"{parameter} (applies|names|does not apply|is for) ", message):
        message = _option_name(parameter) + message[len(parameter) :]
    click.echo(f"mgraph: {printable(message)}", err=True)
    return explanation.exit_status


if __name__ == "__main__":
    run_and_exit()
