"""``mgraph sssp --source`` of a graph that one process does not hold: its workers do, together."""

import sys
from typing import Any

import click

from mgraph.cli.options import (
    cluster_spec,
    describe_early_end,
    describe_vertex,
    parse_read_options,
    reading_arguments,
    refuse,
)
from mgraph.compilation import Stopwatch
from mgraph.core.formatting import (
    digits_of,
    format_quantity,
    format_seconds,
    format_sum,
    format_total_time,
    pluralize,
)
from mgraph.errors import MgraphError, OutOfMemoryError

_OF_ONE_DEVICE = (
    "method", "set_point", "controller", "hops", "heap_threshold", "trace", "plot", "upper_bound",
    "frontier_bound",
)  # fmt: skip


def find_reason(location: str, options: dict[str, Any]) -> str | None:
    """Return why the graph is to be spread over workers; None if this process is to hold it."""
    if options["partition"] == "always":
        return "asked for"
    from mgraph.io.dataset import EdgeDataset
    from mgraph.io.formats import format_of
    from mgraph.io.graph_memory import find_local_shortage

    is_usual = options["method"] == "auto" and not any(map(options.get, _OF_ONE_DEVICE[1:]))
    if options["partition"] == "never" or not is_usual or format_of(location)[0] is not None:
        return None
    try:
        dataset = EdgeDataset(location, parse_read_options(options).table.request)
        dataset.check_dense()
        directed = dataset.manifest.directed and not options["symmetrise"]
        return find_local_shortage(dataset, options["backend"], directed=directed)
    except MgraphError:  # the reader says what is wrong, or reads it in another way
        return None


def search(location: str, source_name: str, options: dict[str, Any], reason: str) -> None:
    """Search over a cluster. Raises OutOfMemoryError if its workers do not hold the graph either.

    reason: as ``find_reason`` says.
    """
    is_asked_for = options["partition"] == "always"
    if is_asked_for:
        refuse(_OF_ONE_DEVICE, "does not apply to a graph spread over the workers")
    selection = {
        name: options[name]
        for name in ("scheduler", "scheduler_file", "workers", "dashboard", "quiet")
    }
    spec = cluster_spec(**selection)

    from mgraph.distributed.clusters.connect import open_cluster
    from mgraph.distributed.operations.partitioned_graph import READING, partitioned
    from mgraph.distributed.operations.partitioned_sssp import fits_spread
    from mgraph.distributed.operations.streamed_dataset import open_streamed
    from mgraph.io.graph_memory import MAX_HELD_N
    from mgraph.io.vertex_names import VertexNames
    from mgraph.shortest_paths.problem import infinity_of

    total_watch = Stopwatch()
    dataset, reading = open_streamed(
        location, reading_arguments(options), options["symmetrise"], READING, "partitioned graph"
    )
    directed = dataset.manifest.directed and not options["symmetrise"]
    names = VertexNames(location, options["ids"], parse_read_options(options))
    (source,) = names.late("source", [source_name], dataset.ids, dataset.n)
    targets = names.late("targets", options["targets"], dataset.ids, dataset.n)
    progress = None if options["quiet"] else sys.stderr
    with open_cluster(spec, backend=options["backend"]) as cluster:
        workers = len(cluster.workers)
        if not is_asked_for:
            if workers < 2 or not fits_spread(cluster, dataset, directed=directed):
                remedy = "use a cluster with more memory"
                if dataset.n <= MAX_HELD_N:
                    remedy += ", or try it here with `--partition never`"
                raise OutOfMemoryError(
                    f"{reason}, and {pluralize(workers, 'worker')} cannot hold it together; "
                    f"{remedy}"
                )
            click.echo(f"mgraph: {reason}: its arcs are spread over {workers} workers", err=True)
        with partitioned(cluster, dataset, reading, directed=directed, progress=progress) as graph:
            if not options["quiet"]:
                click.echo(f"{graph}", err=True)
            paths = graph.sssp(
                source, targets=targets or None, cutoff=options["cutoff"], delta=options["delta"],
                predecessors=options["path"], progress=progress,
            )  # fmt: skip
            named = _Named(dataset.ids)
            infinity = infinity_of(graph.length_dtype)
            lengths = paths.lengths(targets).tolist() if targets else []
            ended = describe_early_end([length != infinity for length in lengths])
            click.echo(
                f"source {describe_vertex(named, source, options['ids'])}: "
                f"{paths.reached:,} of {graph.n:,} vertices reached{ended}, the farthest at "
                f"{format_sum(paths.max_distance, digits_of(graph.length_dtype))}; "
                f"over {pluralize(workers, 'worker')} on the {graph.backend}, "
                f"{format_seconds(paths.seconds)}, "
                f"{format_quantity(graph.num_arcs / paths.seconds)} arcs/s; "
                f"{format_total_time(total_watch.total, total_watch.compiling)}"
            )
            for target, distance in zip(targets, lengths, strict=True):
                is_reached = distance != infinity
                _print_target(paths, named, target, distance if is_reached else None, options)


class _Named:
    """What ``describe_vertex`` needs of a graph."""

    def __init__(self, labels: Any) -> None:
        self.labels = labels


def _print_target(
    paths: Any, named: _Named, target: int, distance: Any, options: dict[str, Any]
) -> None:
    """Print a target's distance, None if it is not reached, and perhaps the path to it.

    The weights of its arcs are differences of distances, where these are whole.
    """
    digits, ids = digits_of(paths.graph.length_dtype), options["ids"]
    length = "not reached" if distance is None else f"at {format_sum(distance, digits)}"
    click.echo(f"target {describe_vertex(named, target, ids)}: {length}")
    if options["path"] and distance is not None:
        path = paths.path(target)
        are_exact = path.distance.dtype.kind == "i"
        before = None
        for vertex, at in zip(path.vertices.tolist(), path.distance.tolist(), strict=True):
            arc = f", by an arc of weight {at - before}" if before is not None and are_exact else ""
            click.echo(f"  {describe_vertex(named, vertex, ids)}: at {format_sum(at, digits)}{arc}")
            before = at
