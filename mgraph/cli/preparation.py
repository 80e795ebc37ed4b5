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
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from mgraph.core.choices import Backend

if TYPE_CHECKING:
    from mgraph.cuda.source import Loader

Loaders = Callable[[Any, int], "list[Loader]"]
_USUAL_WEIGHT = 100  # from which the type of lengths is guessed, if nothing is known of weights


@contextlib.contextmanager
def preparing(
    location: str, backend: Backend, use: Callable[[Any, int], Any], loaders: Loaders
) -> Iterator[None]:
    """While the block reads a graph, build a tiny one, and use another.

    use: called with the tiny graph and the number of arcs of the one that is read. loaders: called
    with the same; returns what compiles or loads the kernels of ``use``, each in a thread of its
    own. The block's end waits for all.
    """
    works = _works(location, backend, use, loaders)
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


def _works(
    location: str, backend: Backend, use: Callable[[Any, int], Any], loaders: Loaders
) -> list[Callable[[], Any]]:
    from mgraph.core import primitives_gpu
    from mgraph.core.backend import gpu_count
    from mgraph.core.graph import Graph
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
        use(tiny.to_gpu(), num_arcs)

    def load() -> None:
        needed = [*primitives_gpu.loaders("int64"), *loaders(tiny, num_arcs)]
        with ThreadPoolExecutor(len(needed)) as pool:
            for loaded in [pool.submit(loader) for loader in needed]:
                loaded.result()

    edges, known = _edges(manifest), {"rows_ascend": True, "symmetric": True}
    tiny = Graph.unchecked(np.array([0, 1, 2]), edges.dst, edges.weight, False, **known)
    num_arcs = manifest.num_edges * (1 if manifest.directed else 2)
    return [build, use_tiny_graph, load]


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
