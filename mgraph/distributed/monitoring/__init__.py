"""What a cluster shows while it works: counters, page, metrics; upkeep of Dask's records."""
