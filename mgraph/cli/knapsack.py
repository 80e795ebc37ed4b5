"""``mgraph knapsack``: items of most profit, of one instance or of many over a cluster."""

import sys
from typing import Any

import click

import mgraph
from mgraph import timings
from mgraph.cli.help import command, option
from mgraph.cli.options import (
    METHOD,
    OUTPUT,
    backend_option,
    choice_option,
    cluster_options,
    cluster_spec,
    compression_option,
    overwrite_option,
    refuse,
    resume_option,
)
from mgraph.compilation import Stopwatch
from mgraph.core.choices import Ids, KnapsackKey, KnapsackMethod
from mgraph.core.formatting import format_parts, format_seconds, format_total_time, pluralize
from mgraph.errors import without_secrets
from mgraph.knapsacks.knapsack import check_options

_METHOD_OPTIONS = ("method", "key", "collect", "time_limit")


@command(
    "knapsack",
    examples=(
        "mgraph knapsack a.data",
        "mgraph knapsack a.data --method branch_and_bound --time-limit 20",
        "mgraph knapsack instances/*.data --out packed",
    ),
)
@click.argument("files", nargs=-1, required=True, metavar="FILE...")
@choice_option(
    "--method",
    KnapsackMethod,
    "auto",
    "The algorithm; auto is branch_and_bound if the dynamic program does not fit in memory.",
    group=METHOD,
)
@choice_option(
    "--key",
    KnapsackKey,
    "bound",
    "What branch_and_bound expands first: the greatest bound, or the greatest profit so far.",
    group=METHOD,
)
@option(
    "--collect/--no-collect",
    default=True,
    show_default=True,
    group=METHOD,
    help="Remove nodes that cannot lead to the optimum any more from branch_and_bound's heap.",
)
@option(
    "--time-limit",
    type=float,
    metavar="SECONDS",
    group=METHOD,
    help="End each instance after SECONDS with the best solution so far and an upper bound.",
)
@option(
    "--out",
    metavar="DIR",
    group=OUTPUT,
    help="Write the chosen items and a table of all instances to DIR, over a cluster.",
)
@choice_option(
    "--ids",
    Ids,
    "original",
    "Write items by their own numbers, where a FILE has any, or by their numbers from 0.",
    group=OUTPUT,
)
@compression_option
@resume_option
@overwrite_option("the results in DIR")
@backend_option
@cluster_options
def knapsack(files: tuple[str, ...], out: str | None, **options: Any) -> int:
    """Solve the 0/1 knapsack instance in each FILE: the items of most profit within the capacity.

    A FILE holds the number of items and the capacity, then a profit and a weight per line; or the
    number of items, an item's own number, profit and weight per line, and the capacity. Several
    files, or one with --out, fan out over a cluster.
    """
    names = ("method", "backend", "key", "time_limit")
    check_options(**{name: options[name] for name in names})
    if options["method"] != "branch_and_bound":
        refuse(("key",), "applies to --method branch_and_bound")
    if options["method"] not in ("branch_and_bound", "plain_branch_and_bound"):
        refuse(("collect",), "applies to --method branch_and_bound")
    if out is None:
        refuse(("resume", "overwrite", "compression", "ids"), "needs --out")
    if len(files) == 1 and out is None:
        return _solve_in_process(files[0], options)
    return _solve_over_cluster(files, out, options)


def _solve_in_process(file: str, options: dict[str, Any]) -> int:
    refuse(("scheduler", "scheduler_file", "workers", "dashboard"), "applies to many instances")
    instance = mgraph.KnapsackInstance.read(file)
    watch = Stopwatch()
    with timings.step(timings.COMPUTING):
        solution = mgraph.knapsack(
            instance.profits,
            instance.weights,
            instance.capacity,
            backend=options["backend"],
            **{name: options[name] for name in _METHOD_OPTIONS},
        )
    click.echo(
        f"{_describe_solution(solution)} {solution.items.size:,} of {instance.items:,} items, "
        f"weight {solution.weight:,} of {instance.capacity:,}; "
        f"{solution.method} on the {solution.backend}, "
        f"{pluralize(solution.nodes, 'node')}, {format_seconds(watch.work)}; "
        f"{format_total_time(watch.total, watch.compiling)}"
    )
    return 0


def _describe_solution(solution: Any) -> str:
    if solution.optimal:
        return f"profit {solution.profit:,}, optimal;"
    return f"profit {solution.profit:,}, stopped at the time limit, at most {solution.bound:,};"


def _solve_over_cluster(files: tuple[str, ...], out: str | None, options: dict[str, Any]) -> int:
    connection = ("scheduler", "scheduler_file", "workers", "dashboard", "quiet")
    names = (*_METHOD_OPTIONS, "ids", "compression", "resume", "overwrite")
    cluster = cluster_spec(**{name: options[name] for name in connection})
    run = mgraph.knapsack_many(
        files,
        out,
        cluster=cluster,
        progress=None if options["quiet"] else sys.stderr,
        backend=options["backend"],
        **{name: options[name] for name in names},
    )
    width = max(map(len, files))
    for file, packed in zip(files, run.packed, strict=True):
        if packed.seconds is None:
            click.echo(f"{file:{width}}  {packed.error}", err=True)
        else:
            figures = f"{packed.nodes:,} nodes, {packed.seconds:.3f} s"
            click.echo(
                f"{file:{width}}  {_describe_solution(packed)} {packed.items:,} items, {figures}"
            )
    proven = sum(bool(packed.optimal) for packed in run.packed)
    parts = format_parts(len(run.packed), run.kept_parts)
    output = f" in {parts}, in {without_secrets(run.location)}" if run.location else ""
    click.echo(
        f"{pluralize(len(run.packed), 'instance')}, {proven:,} proven optimal{output}; "
        f"{run.seconds:.1f} s"
    )
    return int(any(packed.error is not None for packed in run.packed))
