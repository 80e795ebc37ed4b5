"""``mgraph knapsack``: items of most profit, of one instance here or of many over a cluster."""

import sys
from typing import Any

import click

import mgraph
from mgraph.cli.options import (
    backend_option,
    cluster_options,
    cluster_spec,
    compression_option,
    refuse,
)
from mgraph.compilation import Stopwatch
from mgraph.core.formatting import format_parts, format_seconds, format_total_time, pluralize
from mgraph.errors import without_secrets
from mgraph.knapsacks.knapsack import METHODS, check_options

_ALIKE = ("method", "key", "collect", "time_limit")


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@click.option("--out", metavar="DIR", help="Write the items chosen, and a table, to DIR.")
@click.option("--method", default="auto", show_default=True, help=f"One of {', '.join(METHODS)}.")
@click.option(
    "--key", default="bound", show_default=True, help="What branch_and_bound prefers, or: profit."
)
@click.option("--collect/--no-collect", default=True, help="Whether its heap loses dead nodes.")
@backend_option
@click.option("--time-limit", type=float, metavar="SECONDS", help="Of an instance.")
@compression_option
@click.option("--resume", is_flag=True, help="Keep what DIR has solved.")
@click.option("--overwrite", is_flag=True, help="Replace the results in DIR.")
@cluster_options
def knapsack(files: tuple[str, ...], out: str | None, **options: Any) -> int:
    """The most profit of items whose weights are within the capacity, of each FILE.

    A FILE has the number of items and the capacity, then a profit and a weight a line. Many, or one
    with --out, fan out over a cluster.
    """
    names = ("method", "backend", "key", "time_limit")
    check_options(**{name: options[name] for name in names})
    if options["method"] != "branch_and_bound":
        refuse(("key", "collect"), "is of --method branch_and_bound")
    if out is None:
        refuse(("resume", "overwrite", "compression"), "is for --out")
    if len(files) == 1 and out is None:
        return _one(files[0], options)
    return _many(files, out, options)


def _one(file: str, options: dict[str, Any]) -> int:
    refuse(("scheduler", "scheduler_file", "workers", "dashboard"), "is for many instances")
    instance = mgraph.KnapsackInstance.read(file)
    watch = Stopwatch()
    found = mgraph.knapsack(
        instance.profits,
        instance.weights,
        instance.capacity,
        backend=options["backend"],
        **{name: options[name] for name in _ALIKE},
    )
    click.echo(
        f"{_sentence(found)} {found.items.size:,} of {instance.items:,} items, weight "
        f"{found.weight:,} of {instance.capacity:,}; {found.method} on the {found.backend}, "
        f"{pluralize(found.nodes, 'node')}, {format_seconds(watch.work)}; "
        f"{format_total_time(watch.total, watch.compiling)}"
    )
    return 0


def _sentence(found: Any) -> str:
    if found.optimal:
        return f"profit {found.profit:,}, optimal;"
    return f"profit {found.profit:,}, stopped at the time limit, at most {found.bound:,};"


def _many(files: tuple[str, ...], out: str | None, options: dict[str, Any]) -> int:
    where = ("scheduler", "scheduler_file", "workers", "dashboard", "quiet")
    run = mgraph.knapsack_many(
        files,
        out,
        cluster=cluster_spec(**{name: options[name] for name in where}),
        progress=None if options["quiet"] else sys.stderr,
        backend=options["backend"],
        **{name: options[name] for name in (*_ALIKE, "compression", "resume", "overwrite")},
    )
    width = max(map(len, files))
    for file, packed in zip(files, run.packed, strict=True):
        if packed.seconds is None:
            click.echo(f"{file:{width}}  {packed.error}", err=True)
        else:
            told = f"{packed.nodes:,} nodes, {packed.seconds:.3f} s"
            click.echo(f"{file:{width}}  {_sentence(packed)} {packed.items:,} items, {told}")
    proven = sum(bool(packed.optimal) for packed in run.packed)
    parts = format_parts(len(run.packed), run.kept_parts)
    place = f" in {parts}, in {without_secrets(run.location)}" if run.location else ""
    click.echo(
        f"{pluralize(len(run.packed), 'instance')}, {proven:,} proven optimal{place}; "
        f"{run.seconds:.1f} s"
    )
    return int(any(packed.error is not None for packed in run.packed))
