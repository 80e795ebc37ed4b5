"""The fork server imports this once: what every local worker needs, with a compiled kernel."""

import gc
import os
import sys

gc.disable()  # imported objects stay, so that collecting finds nothing and delays every start

import numpy as np
import pyarrow.parquet  # noqa: F401

from mgraph import compilation
from mgraph.core import light_numba
from mgraph.distributed.protocol.interrupts import ignore_interrupts
from mgraph.generators.copy_model import CopyModel
from mgraph.generators.cuppa_hash_cpu import fill_range

light_numba.install()
ignore_interrupts()
is_announced = os.environ.pop(compilation.NOTIFY_IN_FORK_SERVER, None)
notice = f"mgraph: {compilation.NOTICE}"
print_notice = (lambda: print(notice, file=sys.stderr, flush=True)) if is_announced else None
compilation.set_notifier(print_notice)

# Compiles the kernel, or loads it from Numba's cache, before the workers fork.
fill_range(CopyModel(n=2, d=1), range(2), np.empty(1, np.int32), np.empty(1, np.int32))
# From here on workers report compiling to their client, whose progress line shows it.
compilation.set_notifier(None)
gc.freeze()  # a collection in a worker would copy the pages that the workers share
gc.enable()
