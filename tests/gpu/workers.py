"""What GPU tests ask of workers."""


def edges_handled(dask_worker):
    """Runs on a worker: the edges that it has counted."""
    return dask_worker.metrics["mgraph_edges"](dask_worker)
