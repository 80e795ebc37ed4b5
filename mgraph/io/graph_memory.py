"""Whether the memory of one device holds the graph of a dataset, before anything is read."""

from mgraph.core.choices import Backend
from mgraph.io.dataset import EdgeDataset

MAX_HELD_N = (1 << 31) - 1  # vertices of a graph that one device searches


def bytes_of_graph(dataset: EdgeDataset, *, directed: bool) -> int:
    """Return about how many bytes the whole graph takes while it is built, with a search.

    directed: whether arcs may lack their mirrors.
    """
    id_bytes, _, *weights = (dtype.itemsize for dtype in dataset.dtypes)
    weight_bytes = sum(weights)
    arcs = dataset.num_edges * (1 if directed else 2)
    edges = dataset.num_edges * (2 * id_bytes + weight_bytes)
    return edges + arcs * (4 + weight_bytes) + 48 * dataset.n


def find_shortage(
    dataset: EdgeDataset, free: int, holder: str, on_gpu: bool, *, directed: bool
) -> str | None:
    """Return why so many free bytes do not hold the graph, in a sentence; None if they do.

    holder: who has them, with a verb.
    """
    if dataset.n > MAX_HELD_N:
        return f"a graph of {dataset.n:,} vertices is more than one device searches"
    needed = bytes_of_graph(dataset, directed=directed)
    if needed <= free:
        return None
    return (
        f"the graph takes some {needed / 2**30:,.1f} GiB, and {holder} {free / 2**30:,.1f} GiB "
        f"{'on its GPU' if on_gpu else 'of memory'}"
    )


def find_local_shortage(dataset: EdgeDataset, backend: Backend, *, directed: bool) -> str | None:
    """Return why this process does not hold the graph, in a sentence; None if it does."""
    from mgraph.core import backend as backends
    from mgraph.core.host import available_memory

    on_gpu = backends.resolve(backend) == "gpu"
    if on_gpu:
        from mgraph.cuda.memory import free_bytes

        free = free_bytes()
    else:
        free = available_memory()
    return find_shortage(dataset, free, "this machine has", on_gpu, directed=directed)
