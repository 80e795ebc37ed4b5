"""While a command reads its graph to a GPU, it compiles and loads what the graph is for.

The types of a dataset stand in its manifest, so a graph of two vertices of the same types can be
built and searched meanwhile, in threads of their own. What fails there fails again, with its
message, when it is needed; what is guessed wrong, such as the type of path lengths, is compiled
then.
"""

import contextlib
import logging
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mgraph.core.choices import Backend

_USUAL_WEIGHT = 100  # from which the type of lengths is guessed, if nothing is known of weights


@contextlib.contextmanager
def preparing(location: str, backend: Backend, use: Callable[[Any], Any]) -> Iterator[None]:
    """While the block reads a graph, build a tiny one, and call ``use`` with another.

    The block's end waits for both.
    """
    works = _works(location, backend, use)
    if works:
        from mgraph.cuda.memory import import_cupy

        import_cupy()
    threads = [threading.Thread(target=_logging_errors, args=(work,)) for work in works]
    for thread in threads:
        thread.daemon = True  # compilers cannot be interrupted
        thread.start()
    yield
    for thread in threads:
        thread.join()


def _logging_errors(work: Callable[[], Any]) -> None:
    try:
        work()
    except Exception:
        logging.getLogger("mgraph").debug("preparation failed", exc_info=True)


def _works(location: str, backend: Backend, use: Callable[[Any], Any]) -> list[Callable[[], Any]]:
    from mgraph.core.backend import gpu_count
    from mgraph.errors import MgraphError
    from mgraph.io import manifest as manifests
    from mgraph.io.folder import Folder
    from mgraph.io.formats import format_of

    if backend == "cpu" or not gpu_count() or format_of(location)[0]:
        return []
    try:
        manifest = manifests.read(Folder(location))
    except MgraphError:  # no manifest: other programs' files are not surveyed twice
        return []

    def build() -> None:
        from mgraph.core.csr import from_edges

        from_edges(_edges(manifest), 2, directed=manifest.directed, backend="gpu")

    def use_tiny_graph() -> None:
        from mgraph.core.graph import Graph

        edges, known = _edges(manifest), {"rows_ascend": True, "symmetric": True}
        indptr, weight = np.array([0, 1, 2]), edges.weight
        use(Graph.unchecked(indptr, edges.dst, weight, False, **known).to_gpu())

    return [build, use_tiny_graph]


def _edges(manifest: Any) -> Any:
    """Return the arcs between two vertices, in a dataset's types."""
    from mgraph.core.edges import EdgeList

    ends = np.array([0, 1], manifest.dtype)
    if manifest.weight_dtype is None:
        return EdgeList(ends, ends[::-1].copy())
    bounds = manifest.model.get("weights")
    largest = bounds[1] if isinstance(bounds, list) and len(bounds) == 2 else _USUAL_WEIGHT
    is_long = largest * manifest.n >= 1 << 31  # a path may be
    weight = np.full(2, (1 << 31) - 1 if is_long else 1, manifest.weight_dtype)
    return EdgeList(ends, ends[::-1].copy(), weight)
