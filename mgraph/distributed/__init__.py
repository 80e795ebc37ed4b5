"""Everything that touches Dask: clusters, operations over a dataset's parts, submitted workflows.

The algorithms do not import Dask: a task calls an algorithm with one part and returns a small
record. No module imports Dask before it needs it, so that the command line starts at once.
"""

from mgraph.io import timeouts


def _store_seconds() -> float:
    from mgraph.distributed.protocol import configuration

    return float(configuration.get_setting("store-timeout"))


timeouts.store_seconds = _store_seconds
