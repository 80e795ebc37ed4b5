"""Options and parameter types that several verbs share."""

import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any, get_args

import click
from click.core import ParameterSource

from mgraph import compilation
from mgraph.cli.help import option
from mgraph.core.choices import Backend, Compression, Ids
from mgraph.core.numbers import parse_number
from mgraph.errors import MgraphError, UsageError
from mgraph.io.untrusted import printable


class Number(click.ParamType):
    """A whole number, with ``parse_number``'s spellings."""

    name = "number"

    def __init__(self, minimum: int | None = None) -> None:
        """minimum: the smallest number that is allowed."""
        self._minimum = minimum

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """Parse the option's value."""
        try:
            number = value if isinstance(value, int) else parse_number(value)
        except ValueError:
            self.fail(
                f"must be a whole number, such as 1_000_000, 1e9 or 2^30 (got {value!r})",
                param,
                ctx,
            )
        if self._minimum is not None and number < self._minimum:
            self.fail(f"must be at least {self._minimum} (got {number})", param, ctx)
        return number


NUMBER = Number()


class Choice(click.Choice):
    """Click's, whose error names the nearest choice."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """Parse the option's value."""
        from mgraph.core.choices import did_you_mean

        try:
            return super().convert(value, param, ctx)
        except click.BadParameter:
            choices = list(map(str, self.choices))
            suggestion = did_you_mean(value, choices)
            self.fail(
                f"must be one of {', '.join(choices)} (got {value!r}{suggestion})", param, ctx
            )


class _NonEmptyText(click.ParamType):
    """A text that is not empty, as that of an unset shell variable would be."""

    name = "text"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        """Parse the option's value."""
        if not value.strip():
            self.fail("must not be empty; leave it out for its default", param, ctx)
        return str(value)


TEXT = _NonEmptyText()


class WeightRange(click.ParamType):
    """``LOW:HIGH``, two whole numbers."""

    name = "weights"

    def convert(self, value: Any, param: Any, ctx: Any) -> tuple[int, int]:
        """Parse the option's value."""
        try:
            low, high = map(parse_number, value.split(":"))
        except ValueError:
            self.fail(f"must be LOW:HIGH, such as 1:100 (got {value!r})", param, ctx)
        return low, high


WEIGHTS = WeightRange()

OUTPUT, CLUSTER, METHOD = "Output", "Where it runs", "Method"

backend_option = option(
    "--backend",
    type=Choice(get_args(Backend)),
    default="auto",
    show_default=True,
    group=CLUSTER,
    help="Compute on GPUs or on cores; auto uses GPUs if every worker has one.",
)
compression_option = option(
    "--compression",
    type=Choice(get_args(Compression)),
    default="lz4",
    show_default=True,
    group=OUTPUT,
    help="The compression of Parquet files.",
)
ids_option = option(
    "--ids",
    type=Choice(get_args(Ids)),
    default="original",
    show_default=True,
    help="Name vertices by their own ids, where GRAPH has any, or by their numbers from 0.",
)
symmetrise_option = option(
    "--symmetrise", is_flag=True, help="Add the reverse of every arc of GRAPH."
)
TABLE = "Tables of other programs"
_READING: dict[str, dict[str, Any]] = {
    "--src": {"metavar": "NAME", "help": "The column of the edges' first ends."},
    "--dst": {"metavar": "NAME", "help": "The column of the edges' second ends."},
    "--weight": {
        "metavar": "NAME",
        "help": "The column of weights; of GraphML, GEXF and JSON the edges' attribute; of .min "
        "low, capacity or cost.",
    },
    "--columns": {
        "metavar": "NAME,...",
        "help": "The names of all columns of text without a header, such as src,dst,weight.",
    },
    "--delimiter": {
        "metavar": "CHARACTER",
        "help": "What separates the fields of text; tab for a tab.  [default: found]",
    },
    "--text-ids": {"is_flag": True, "help": "Take ids for text even if all are numbers."},
}


def graph_options(graph: str = "GRAPH") -> Callable[..., Any]:
    """Return the options that say how a graph is read."""

    def decorate(function: Any) -> Any:
        for name, more in reversed(_READING.items()):
            function = option(name, group=TABLE, **more)(function)
        text = f"Leave out arcs of {graph} whose weight is infinite: closed ones."
        return option("--drop-infinite", is_flag=True, help=text)(function)

    return decorate


def reading_arguments(options: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of ``read_graph`` that a command's options give it."""
    names = ["drop_infinite", *(name[2:].replace("-", "_") for name in _READING)]
    given = {name: options[name] for name in names if options[name] not in (None, False)}
    if given.get("delimiter") in ("tab", "\\t"):
        given["delimiter"] = "\t"
    return given


def parse_read_options(options: dict[str, Any]) -> Any:
    """Return the same as the options of reading."""
    from mgraph.io.graph_reader import read_options

    return read_options(**reading_arguments(options))


resume_option = option(
    "--resume", is_flag=True, group=OUTPUT, help="Keep finished parts, and make what is missing."
)


def overwrite_option(target: str) -> Callable[..., Any]:
    """Return the option ``--overwrite``, which replaces ``target``."""
    return option("--overwrite", is_flag=True, group=OUTPUT, help=f"Replace {target}.")


def choice_option(name: str, choices: Any, default: str, text: str, **more: Any) -> Any:
    """Return an option that takes one of the names of a Literal type."""
    return option(
        name, type=Choice(get_args(choices)), default=default, show_default=True, help=text, **more
    )


def quiet_option(text: str) -> Any:
    """Return the option ``--quiet`` with a help text."""

    def silence(context: Any, parameter: Any, value: bool) -> bool:
        if value:
            compilation.set_notifier(None)
        return value

    return option("--quiet", "-q", is_flag=True, callback=silence, group=CLUSTER, help=text)


_SCHEDULER_OPTIONS = (
    option(
        "--scheduler",
        type=TEXT,
        metavar="ADDRESS",
        group=CLUSTER,
        help="Use the Dask cluster whose scheduler runs at ADDRESS.",
    ),
    option(
        "--scheduler-file",
        type=TEXT,
        metavar="FILE",
        group=CLUSTER,
        help="Use the Dask cluster whose scheduler wrote FILE.",
    ),
)
_CLUSTER_OPTIONS = (
    *_SCHEDULER_OPTIONS,
    option(
        "--workers",
        type=NUMBER,
        metavar="W",
        group=CLUSTER,
        help="Start W workers on this machine.  [default: one per GPU, or one per core]",
    ),
    option(
        "--dashboard",
        type=TEXT,
        metavar="HOST:PORT",
        group=CLUSTER,
        help="Serve the dashboard of workers started here at HOST:PORT.  [default: 127.0.0.1:8787]",
    ),
    quiet_option("Print results only: no progress, no notes on the cluster or on compiling."),
)


def cluster_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say which cluster to use."""
    return _add_options(command, _CLUSTER_OPTIONS)


def scheduler_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that name a cluster that runs."""
    return _add_options(command, _SCHEDULER_OPTIONS)


def _add_options(command: Callable[..., Any], options: Sequence[Any]) -> Callable[..., Any]:
    for decorate in reversed(options):
        command = decorate(command)
    return command


def cluster_spec(
    *,
    scheduler: str | None,
    scheduler_file: str | None,
    workers: int | None,
    dashboard: str | None,
    quiet: bool,
    edges: int | None = None,
) -> Any:
    """Return the ``ClusterSpec`` of these options, and start what local worker processes share.

    Called before an operation is imported, which takes as long as that start. edges: of the graph,
    if known; a small one needs no processes.
    """
    from mgraph.core.backend import gpu_count
    from mgraph.distributed.protocol import configuration

    configuration.check_files()  # before Dask reads them, here and in processes that start below

    from mgraph.distributed.clusters import connect, local, worker_shares

    # Without Dask's configuration: importing it takes as long as the fork server's start.
    is_local = not (scheduler or scheduler_file or os.environ.get("DASK_SCHEDULER_ADDRESS"))
    needs_processes = workers is not None or not worker_shares.is_little(edges)
    if is_local and needs_processes and not gpu_count():
        local.warm_up(quiet)
    announce = None if quiet else sys.stderr
    return connect.ClusterSpec(scheduler, scheduler_file, workers, dashboard, announce)


def peek_edges(location: str) -> int | None:
    """Return the edges that a local dataset's manifest declares; None if there is none to read."""
    try:
        with open(os.path.join(location, "_manifest.json"), encoding="utf-8") as stream:
            edges = json.load(stream)["m"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return edges if isinstance(edges, int) else None


def describe_early_end(reached: list[bool]) -> str:
    """Say where a search ended that had targets; reached: whether each of them is."""
    if not reached or not all(reached):
        return ""
    return " up to the targets" if len(reached) > 1 else " up to the target"


def describe_vertex(graph: Any, vertex: int, ids: Ids) -> str:
    """Return how a graph's vertex is named: by its own id, or its number with that."""
    if graph.labels is None:
        return f"{vertex:,}"
    label = printable(str(graph.labels[vertex]))
    return label if ids == "original" else f"{vertex:,} ({label})"


def complete_runs(ctx: Any, param: Any, incomplete: str) -> list[str]:
    """Return the IDs of runs with a prefix, the latest first; none if they cannot be listed.

    The ``shell_complete`` of an argument.
    """
    from mgraph.distributed.protocol import configuration

    try:
        with os.scandir(configuration.runs_folder()) as entries:
            folders = [entry for entry in entries if entry.name.startswith(incomplete)]
        folders = [entry for entry in folders if entry.name[0] != "." and entry.is_dir()]
        folders.sort(key=lambda entry: entry.stat().st_mtime, reverse=True)
    except (MgraphError, OSError):
        return []
    return [entry.name for entry in folders]


def refuse(names: tuple[str, ...], reason: str) -> None:
    """Raise UsageError for an option that was given and does not apply. reason: the predicate."""
    context = click.get_current_context()
    for parameter in context.command.params:
        is_given = context.get_parameter_source(parameter.name or "") is not ParameterSource.DEFAULT
        if parameter.name in names and is_given:
            raise UsageError(f"{parameter.opts[0]} {reason}")
