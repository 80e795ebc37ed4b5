"""A manifest for Parquet files that other programs wrote (cuDF, DuckDB, Polars, Spark).

The manifest is made from the footers of the Parquet files in a folder and the folders below it, or
of a single file; ids whose range the footers do not contain are read once.
"""

import errno
from collections.abc import Sequence
from typing import Any, NamedTuple

from mgraph.core.edges import COLUMNS
from mgraph.core.formatting import pluralize
from mgraph.core.graph import MAX_N
from mgraph.errors import DatasetError, StorageError
from mgraph.io import manifest, ownership
from mgraph.io.folder import Folder
from mgraph.io.manifest import PART_NAME, Manifest, PartRecord
from mgraph.io.tables import column_names
from mgraph.io.tables.column_names import ColumnRequest
from mgraph.io.tables.sparse_ids import (
    UnnumberedError,
    explain_unnumbered,
    renumbering_remedy,
)
from mgraph.io.untrusted import printable


class Described(NamedTuple):
    """What a location of Parquet files holds.

    has_manifest: whether mgraph wrote it. names: of the columns src, dst[, weight] in the files.
    unread: columns that are not read. ignored: names in the folder that are not read. notes: what a
    user should know.
    """

    has_manifest: bool
    manifest: Manifest
    names: tuple[str, ...] = COLUMNS
    unread: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def survey(folder: Folder, files: Sequence[str], request: ColumnRequest) -> Described:
    """Make a manifest for another program's Parquet files: arcs, vertices up to the maximum id.

    Reads the footers, and the ids if a footer does not contain their range. Raises UnnumberedError
    for ids that cannot be the numbers of vertices.
    """
    from mgraph.io.parquet import describe, read_blocks

    location = f"{folder}/{files[0]}" if len(files) == 1 else f"{folder}"
    try:
        descriptions = folder.call_each(lambda name: describe(folder, name, request), files)
    except UnnumberedError as error:
        raise UnnumberedError(f"{error}; {renumbering_remedy(location)}") from None
    named = list(zip(files, descriptions, strict=True))
    columns = next((part.columns for part in descriptions if part.columns.weight), None)
    columns = columns or descriptions[0].columns
    for name, part in named:
        weight = part.columns.weight or columns.weight
        if part.columns[:2] != columns[:2] or weight != columns.weight:
            theirs = ", ".join(x for x in part.columns[:3] if x)
            ours = ", ".join(x for x in columns[:3] if x)
            raise DatasetError(
                f"{folder}/{name} must have the columns {ours}, as other files (got {theirs})"
            )
    names = tuple(name for name in columns[:3] if name is not None)
    dtypes = {part.weight_dtype: name for name, part in reversed(named)}
    if len(dtypes) > 1:
        pairs = list(dtypes.items())[::-1]
        types = ", ".join(f"{dtype or 'none'} in {name}" for dtype, name in pairs)
        raise DatasetError(f"{folder} must have weights of one type in all files (got {types})")

    def blocks() -> Any:
        for name in files:
            yield from (tuple(block)[:2] for block in read_blocks(folder, name, names=names[:2]))

    rows = sum(part.rows for part in descriptions)
    n = max((part.max_id for part in descriptions), default=-1) + 1
    for name, part in named:
        if part.min_id < 0 or part.max_id >= MAX_N:
            text = explain_unnumbered(location, part.min_id, part.max_id, blocks())
            raise UnnumberedError(f"{folder}/{name}: {text}")
    made = Manifest(
        model={},
        n=n,
        num_edges=rows,
        dtype="int32" if n < 1 << 31 else "int64",
        compression=", ".join(sorted({part.compression for part in descriptions})),
        parts=tuple(
            PartRecord(name, part.rows, 0, n, 0, folder.size(name)) for name, part in named
        ),
        created_by=printable(", ".join(sorted({part.created_by for part in descriptions}))),
        weight_dtype=next(iter(dtypes), None),
        directed=True,
    )
    unread = sorted({name for part in descriptions for name in part.unread_columns})
    notes = columns.note() + column_names.unread_note(unread, columns.weight is not None)
    return Described(False, made, names, tuple(unread), notes=tuple(notes))


def describe_folder(folder: Folder, request: ColumnRequest) -> Described:
    """Read a folder's manifest, or survey the Parquet files in it and below it.

    Raises DatasetError if Parquet files in the folder would be ignored.
    """
    entries = folder.entries()
    if entries is None:
        return Described(True, manifest.read(folder))
    if "" in entries:
        raise DatasetError(
            f"{folder} holds objects whose names continue with a second /, which no file system "
            "allows; rename them"
        )
    visible = {name: is_folder for name, is_folder in entries.items() if name[0] not in "._"}
    files = [name for name, is_folder in visible.items() if not is_folder and is_parquet(name)]
    others = [name for name in visible if name not in files]
    if manifest.NAME in entries:
        existing = manifest.read(folder)
        listed = {part.file for part in existing.parts} | set(existing.vertex_files)
        if unlisted := sorted(set(files) - listed):
            more = f" and {pluralize(len(unlisted) - 1, 'other')}" * (len(unlisted) > 1)
            raise DatasetError(
                f"{folder} holds Parquet files that its {manifest.NAME} does not list: "
                f"{unlisted[0]}{more}; move them out, or remove {manifest.NAME} to have all read"
            )
        return Described(True, existing, ignored=tuple(others))
    for name in others:
        if not visible[name] and _begins_as_parquet(folder, name):
            raise DatasetError(
                f"{folder}/{name} is a Parquet file by its content but not by its name: rename it "
                "to end in .parquet, or move it out"
            )
    _check_finished(folder, files)
    below: list[str] = []
    if any(visible.values()):
        below = _files_below(folder, [name for name in others if visible[name]])
    if not files and not below:
        return Described(True, manifest.read(folder), ignored=tuple(others))
    read = {name.split("/")[0] for name in below}
    ignored = tuple(name for name in others if name not in read)
    return survey(folder, sorted(files + below), request)._replace(ignored=ignored)


def is_parquet(name: str) -> bool:
    """Return whether a file's name is that of a Parquet file."""
    return name.lower().endswith((".parquet", ".parq", ".pq"))


def _files_below(folder: Folder, names: Sequence[str]) -> list[str]:
    """Return the Parquet files in subfolders, without those that are datasets of their own."""
    found = []
    for name in names:
        entries = {} if name == "lost+found" else folder.entries(name) or {}
        if manifest.NAME in entries:
            continue
        paths = [path for path, is_folder in entries.items() if not is_folder and is_parquet(path)]
        visible = [x for x in paths if not any(part[:1] in "._" for part in x.split("/"))]
        _check_finished(folder, [f"{name}/{path}" for path in visible])
        found += [f"{name}/{path}" for path in visible]
    return found


def _begins_as_parquet(folder: Folder, name: str) -> bool:
    """Return whether a regular file begins with the magic number of Parquet."""
    try:
        return folder.read(name, 4) == b"PAR1"
    except StorageError as error:
        if isinstance(error.__cause__, OSError) and error.__cause__.errno == errno.EINVAL:
            return False
        raise


def _check_finished(folder: Folder, files: list[str]) -> None:
    """Raise DatasetError if there are parts that mgraph wrote and no manifest lists."""
    parts = [name for name in files if PART_NAME.fullmatch(name.rpartition("/")[2])]
    if not parts:
        return
    from mgraph.io.parquet import read_metadata

    try:
        read_metadata(folder, parts[0])
    except DatasetError:
        return
    writer = ownership.writer_of(folder)
    raise DatasetError(
        f"{folder} holds {pluralize(len(parts), 'part')} of an unfinished dataset and no "
        f"{manifest.NAME}; "
        + (writer or "finish it with the call that began it, and `resume=True`")
    )
