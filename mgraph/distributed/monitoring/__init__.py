"""What a cluster shows while it works: counters, the page, metrics; upkeep of Dask's records."""
