"""Convert a graph from one format to another: tables over a cluster, other files in memory."""

import os
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TextIO

from mgraph.core.arrays import to_python_numbers
from mgraph.core.choices import Compression
from mgraph.core.graph import Graph
from mgraph.core.numbers import check_integer, check_weight_bounds
from mgraph.distributed.clusters.connect import ClusterLike
from mgraph.distributed.operations.convert_operation import ConvertOperation
from mgraph.distributed.operations.results import Results
from mgraph.errors import MgraphWarning, UsageError
from mgraph.io.address import location_text
from mgraph.io.attributed_graph import VertexFile, draw_missing_weights, read_attributed
from mgraph.io.formats import format_of
from mgraph.io.graph_reader import ReadOptions, location_of, read_options
from mgraph.io.graph_writer import (
    check_name,
    check_target,
    check_vertices_target,
    write_attributed,
)
from mgraph.io.manifest import Manifest, PartRecord
from mgraph.io.tables.table_files import is_table, manifest_of


@dataclass(frozen=True, repr=False)
class ConvertRun(Results):
    """What a conversion did.

    Attributes
    ----------
    location : str
        The dataset's folder, or the file.
    n, num_edges : int
        Vertices, and edges or arcs.
    directed : bool
        Whether these are arcs.
    manifest : Manifest or None
        The dataset's description, if tables were converted into one.
    seconds, work_seconds, compile_seconds : float
        From the call to the end; of the tasks alone, without compiling; of the slowest worker's
        compiler.
    """

    location: str
    n: int
    num_edges: int
    directed: bool
    manifest: Manifest | None
    seconds: float
    work_seconds: float = 0.0
    compile_seconds: float = 0.0

    @property
    def records(self) -> tuple[PartRecord, ...]:
        """The parts: file, rows, first and stop vertex, checksum, bytes."""
        return () if self.manifest is None else self.manifest.parts

    _rows = "records"


def is_over_cluster(location: Any, out: Any) -> bool:
    """Return whether a conversion is one of tables into a dataset, which runs over a cluster.

    Raises UsageError for a wrong name of the output, DatasetError if there is no graph.
    """
    check_name(os.fspath(out))
    return format_of(out)[0] is None and is_table(location)


def convert(
    location: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    *,
    symmetrise: bool = False,
    drop_loops: bool = False,
    merge: bool = False,
    drop_infinite: bool = False,
    weights: tuple[int, int] | None = None,
    seed: int = 1,
    src: str | None = None,
    dst: str | None = None,
    weight: str | None = None,
    columns: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    text_ids: bool = False,
    keep_numbers: bool = False,
    vertices: str | os.PathLike[str] | None = None,
    vertex_id: str | None = None,
    vertices_out: str | os.PathLike[str] | None = None,
    compression: Compression = "lz4",
    cluster: ClusterLike = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: TextIO | None = None,
) -> ConvertRun:
    """Copy a graph into another format, or any tables of edges into a dataset.

    Parameters
    ----------
    location : str or path, or a sequence of them
        As for ``mgraph.read_graph``.
    out : str or path
        A file whose name says its format, or a folder or ``s3://`` address for a dataset.
    symmetrise, drop_loops, merge, drop_infinite : bool, default False
        As for ``mgraph.read_graph``.
    weights : (int, int), optional
        Give edges without weights whole ones, drawn between these bounds as ``generate`` does.
    seed : int, default 1
        Of these weights.
    src, dst, weight, columns, delimiter, text_ids
        As for ``mgraph.read_graph``.
    keep_numbers : bool, default False
        Keep ids, whole numbers from 0, as the numbers of the vertices, with their gaps.
    vertices : str or path, optional
        A table of vertices, whose columns are written beside their ids; vertices that have no edge
        are added.
    vertex_id : str, optional
        The column of that table with the ids; by default ``id`` or the like, or the first.
    vertices_out : str or path, optional
        A .csv or .tsv file for a list of the vertices beside a file of edges, as for
        ``mgraph.write_graph``.
    compression : {"lz4", "zstd", "none"}
        Of a dataset.
    cluster : Cluster, ClusterSpec, or a client or cluster of Dask, optional
        By default what ``mgraph.connect()`` finds.
    resume : bool, default False
        Go on from the files that an earlier conversion finished.
    overwrite : bool, default False
        Replace what ``out`` holds.
    progress : TextIO, optional
        The stream for a progress line, such as ``sys.stderr``.

    Returns
    -------
    ConvertRun

    Raises
    ------
    UsageError, DatasetError, StorageError, ClusterError, OutOfMemoryError
        Of tables that become a dataset, what was finished stays, and ``resume=True`` goes on.

    Notes
    -----
    The vertices of a table are numbered 0 to n - 1 in the ascending order of their ids: whole
    numbers as numbers, text by its UTF-8 bytes. So the numbers depend neither on the order of the
    files nor on the workers. ``_vertices-*.parquet`` hold ``vertex`` and ``id``, unless all ids are
    the numbers already. Tables may be larger than the memory of all workers: some 100 bytes per
    edge of a piece of 2^22 edges are in memory, and 50 bytes per edge in files meanwhile. Other
    formats are converted in memory.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = pathlib.Path(folder, "roads.csv")
    ...     _ = file.write_text("from,to,km\\nUlm,Bonn,7\\nBonn,Jena,9\\n")
    ...     run = mgraph.convert(file, pathlib.Path(folder, "roads"), weight="km")
    ...     graph = mgraph.read_graph(pathlib.Path(folder, "roads"), backend="cpu")
    ...     list(graph.labels), graph.to_edges().weight
    (['Bonn', 'Jena', 'Ulm'], array([9, 7], dtype=int32))
    """
    began = time.monotonic()
    (seed,) = to_python_numbers(seed)
    options = read_options(
        symmetrise=symmetrise, drop_loops=drop_loops, merge=merge, drop_infinite=drop_infinite,
        src=src, dst=dst, weight=weight, columns=columns, delimiter=delimiter, text_ids=text_ids,
    )  # fmt: skip
    bounds = None if weights is None else check_weight_bounds(weights)
    check_integer("seed", seed, 0, (1 << 64) - 1)
    draw = None if bounds is None else (*bounds, seed)
    location = location_of(location)
    if vertex_id is not None and vertices is None:
        raise UsageError("vertex_id needs `vertices=FILE`", parameter="vertex_id")
    if vertices_out is not None:
        vertices_out = location_text(vertices_out)
        inputs: list[str] = location if isinstance(location, list) else [str(location)]
        if vertices is not None:
            inputs = [*inputs, location_text(vertices)]
        check_vertices_target(location_text(out), vertices_out, overwrite, inputs)
    if not is_over_cluster(location, out):
        if resume:
            raise UsageError("resume applies to tables that become a dataset", parameter="resume")
        vertex_file = None if vertices is None else VertexFile(location_text(vertices), vertex_id)
        graph = _convert_in_memory(
            location, location_text(out), options, keep_numbers, draw, compression, overwrite,
            vertex_file, vertices_out,
        )  # fmt: skip
        edges = graph.num_arcs if graph.directed else graph.num_edges
        return ConvertRun(
            os.fspath(out), graph.n, edges, graph.directed, None, time.monotonic() - began
        )  # fmt: skip
    operation = ConvertOperation(
        location, out, options, compression, keep_numbers, draw, vertices, vertex_id,
        resume=resume, overwrite=overwrite,
    )  # fmt: skip
    for note in operation.source.notes:
        warnings.warn(f"{operation.source.location}: {note}", MgraphWarning, stacklevel=2)
    outcome = operation.run(cluster, progress)
    assert operation.folder is not None
    manifest = operation.manifest
    return ConvertRun(
        location=operation.folder.location,
        n=manifest.n,
        num_edges=manifest.num_edges,
        directed=manifest.directed,
        manifest=manifest,
        seconds=outcome.seconds,
        work_seconds=outcome.work_seconds,
        compile_seconds=outcome.compile_seconds,
    )


def _convert_in_memory(
    location: Any,
    out: str,
    options: ReadOptions,
    keep_numbers: bool,
    draw: tuple[int, int, int] | None,
    compression: Compression,
    overwrite: bool,
    vertices: VertexFile | None,
    vertices_out: str | None,
) -> Graph:
    """Read a graph and write it. Ids of tables that are not numbers from 0 on become labels."""
    check_target(out, overwrite, compression)
    is_foreign = is_table(location) and manifest_of(location)[0] is None
    if is_foreign and not keep_numbers:  # as tables that become a dataset
        options = replace(options, renumber=True)
    read = read_attributed(location, options, vertices)
    if draw is not None:
        read = draw_missing_weights(read, draw, location)
    write_attributed(
        *read, out, overwrite=overwrite, compression=compression, vertices_out=vertices_out
    )
    return read.graph
