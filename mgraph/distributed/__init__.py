"""Everything that touches Dask: connect, cut into parts, submit, reduce.

The algorithms know nothing of it: tasks here call them with a part and return small records. No
module imports Dask before it needs it, so that the command line starts at once.
"""

from mgraph.io import timeouts


def _store_seconds() -> float:
    from mgraph.distributed.protocol import configuration

    return float(configuration.given("store-timeout"))


timeouts.store_seconds = _store_seconds
