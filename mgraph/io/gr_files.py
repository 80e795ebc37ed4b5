"""Files named ``.gr``: DIMACS shortest-path graphs, or Steiner instances of PACE 2018."""

import re
from typing import BinaryIO

from mgraph.errors import UsageError
from mgraph.io import dimacs, steinlib
from mgraph.io.dimacs import write as write
from mgraph.io.listing import Listing
from mgraph.io.text import read_text

_GALOIS = tuple(version.to_bytes(8, "little") for version in (1, 2))  # the first eight bytes
_PACE = re.compile(rb"^[ \t]*SECTION[ \t]+Graph", re.I | re.M)


def read(stream: BinaryIO, weight: str | None = None, attributes: bool = False) -> Listing:
    """Read the edges of a file of either format; raise ValueError for anything else.

    weight: as for ``dimacs.read``. attributes: as for ``steinlib.read``.
    """
    head = stream.read(len(_GALOIS[0]))
    if head in _GALOIS:
        raise ValueError("it is a binary graph of Galois, and should be text of DIMACS or PACE")
    content = read_text(stream, head)
    is_steiner = dimacs.problem_line(content) is None and _PACE.search(content)
    if is_steiner and weight not in (None, "weight"):
        raise UsageError("its edges have one weight, and no name for it", parameter="weight")
    return steinlib.parse(content, attributes) if is_steiner else dimacs.parse(content, weight)
