"""Files named ``.gr``: DIMACS shortest-path graphs, or Steiner instances of PACE 2018."""

import io
import re
from typing import BinaryIO

from mgraph.io import dimacs, steinlib
from mgraph.io.dimacs import write as write
from mgraph.io.listing import Listing

_PACE = re.compile(rb"^[ \t]*SECTION[ \t]+Graph", re.I | re.M)


def read(stream: BinaryIO) -> Listing:
    """Read the edges of a file of either format; raise ValueError for anything else."""
    content = stream.read()
    is_steiner = dimacs.problem_line(content) is None and _PACE.search(content)
    return (steinlib if is_steiner else dimacs).read(io.BytesIO(content))
