"""mgraph's tests."""

import os

# Every event loop of Dask's asks 50 times per second whether it is late, so that an idle cluster of
# two workers takes a tenth of a core; of every process that these tests start, twice suffices.
os.environ.setdefault("DASK_DISTRIBUTED__ADMIN__TICK__INTERVAL", "500ms")
