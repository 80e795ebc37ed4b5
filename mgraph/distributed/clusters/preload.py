"""Imported once by the fork server: what every local worker needs, the compiled kernel included."""

import gc
import os
import sys

gc.disable()  # what is imported stays: there is nothing to find, and this delays every start

import numpy as np
import pyarrow.parquet  # noqa: F401

from mgraph import compilation
from mgraph.distributed.protocol.interrupts import ignore_interrupts
from mgraph.generators.copy_model import CopyModel
from mgraph.generators.cuppa_hash_cpu import fill_range

ignore_interrupts()
tell = os.environ.pop(compilation.NOTIFY_IN_FORK_SERVER, None)
notice = f"mgraph: {compilation.NOTICE}"
compilation.set_notifier((lambda: print(notice, file=sys.stderr, flush=True)) if tell else None)

# Compiles the kernel, or loads it from Numba's cache, before the workers fork.
fill_range(CopyModel(n=2, d=1), range(2), np.empty(1, np.int32), np.empty(1, np.int32))
compilation.set_notifier(None)  # workers tell it to their client, whose progress line shows it
gc.freeze()  # nor do the workers look here, which would also copy the pages that they share
gc.enable()
