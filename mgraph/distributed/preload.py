"""Imported once by the fork server: what every local worker needs, the compiled kernel included."""

import numpy as np
import pyarrow.parquet  # noqa: F401

from mgraph.distributed.interrupts import ignore_interrupts
from mgraph.generators.copy_model import CopyModel
from mgraph.generators.cuppa_hash_cpu import fill_range

ignore_interrupts()

# Compiles the kernel, or loads it from Numba's cache, before the workers fork.
fill_range(CopyModel(n=2, d=1), range(2), np.empty(1, np.int32), np.empty(1, np.int32))
