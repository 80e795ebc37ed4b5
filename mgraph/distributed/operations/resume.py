"""What an earlier run left in an output folder, and which of its parts the next run keeps.

Every part's footer says to which output the part belongs: its parameters, its number, its checksum.
So a folder without a manifest, which a killed run leaves behind, is enough to go on from.
"""

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mgraph.core.formatting import pluralize
from mgraph.errors import DatasetError, UsageError
from mgraph.io import untrusted
from mgraph.io.dataset import part_name, replaceable_parts
from mgraph.io.folder import Folder

Footer = dict[str, Any]


@dataclass(frozen=True)
class ExistingOutput:
    """The part files in an output folder, and the footers of those that may be kept, by name."""

    names: tuple[str, ...] = ()
    footers: dict[str, Footer] = field(default_factory=dict)

    def previous_value(self, key: str, maximum: int) -> int | None:
        """Return the integer under ``key`` in the first kept footer, if it is valid."""
        for footer in self.footers.values():
            with contextlib.suppress(ValueError):
                return untrusted.parse_int(key, footer.get(key), 1, maximum)
            break
        return None


def existing_parts(
    folder: Folder, resume: bool, overwrite: bool, format_name: str, tables: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Return the part files in the folder. Raises UsageError if they must not be touched.

    format_name: of the folder's manifest; tables: other files of that format.
    """
    if resume and overwrite:
        raise UsageError(
            "`resume=True` keeps finished parts and `overwrite=True` replaces them: choose one"
        )
    parts, is_complete = replaceable_parts(folder, format_name, tables)
    if (parts or is_complete) and not (resume or overwrite):
        unfinished = f"{pluralize(len(parts), 'part')} of an unfinished dataset"
        state = "a dataset" if is_complete else unfinished
        raise UsageError(
            f"{folder} already holds {state}; pass `resume=True` to make what is missing, or "
            "`overwrite=True` to replace it"
        )
    return tuple(parts)


def read_footers(folder: Folder, names: tuple[str, ...]) -> dict[str, Footer]:
    """Read the footers of parts, by name; a damaged part has none, and is made again.

    Raises UsageError for a part that another program wrote, StorageError for one that cannot be
    read.
    """
    from mgraph.io.parquet import ForeignFileError, read_metadata

    def footer_of(name: str) -> Footer | None:
        try:
            return read_metadata(folder, name)
        except ForeignFileError as error:
            raise UsageError(
                f"{error}, and would be replaced: move it out, give another folder, or pass "
                "`overwrite=True`"
            ) from None
        except DatasetError:
            return None

    footers = zip(names, folder.call_each(footer_of, list(names)), strict=True)
    return {name: footer for name, footer in footers if footer is not None}


def matching_parts(
    folder: Folder, footers: dict[str, Footer], expected_of: Callable[[int], Footer], parts: int
) -> dict[int, Footer]:
    """Return the footers of parts that belong to this run, by part number.

    expected_of: the footer that part i would have, without results. A part with a malformed
    checksum is left out, and made again. Raises UsageError for a part of another run.
    """
    kept = {}
    for name, footer in footers.items():
        index = footer.get("part")
        if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < parts:
            index = 0
        expected = expected_of(index)
        differing = [key for key, value in expected.items() if footer.get(key) != value]
        if differing:
            key = differing[0]
            raise UsageError(
                f"{folder} holds parts of another dataset ({key} is {footer.get(key)} there and "
                f"{expected[key]} here); give the same parameters to resume, or pass "
                "`overwrite=True`"
            )
        with contextlib.suppress(ValueError):
            untrusted.parse_checksum(footer.get("checksum"))
            if name == part_name(index):
                kept[index] = footer
    return kept
