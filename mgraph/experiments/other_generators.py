"""Generators of other libraries, timed beside mgraph's: KaGen and NetworKit, if they are installed.

Sources: D. Funke et al., "Communication-free massively distributed graph generation" (IPDPS 2018);
C. Staudt, A. Sazonovs, H. Meyerhenke, "NetworKit: a tool suite for large-scale complex network
analysis" (2016); J. Leskovec et al., "Kronecker graphs" (2010), whose generator with the numbers of
Graph500 KaGen has.
"""

import time
from collections.abc import Callable
from typing import Any

from mgraph.errors import UsageError


def _import(module: str) -> Any:
    try:
        return __import__(module)
    except ImportError as error:
        remedy = f"pip install {module}"
        raise UsageError(f"{module} is not installed; run `{remedy}`", remedy=remedy) from error


def _kagen(n: int, d: int, seed: int) -> None:
    _import("kagen").generate_ba(n, d, seed=seed, directed=True)


def _kronecker(n: int, d: int, seed: int) -> None:
    vertices = 1 << (n - 1).bit_length()
    _import("kagen").generate_kronecker(vertices, n * d, seed=seed, directed=True)


def _networkit(n: int, d: int, seed: int) -> None:
    networkit = _import("networkit")
    networkit.setSeed(seed, False)
    networkit.generators.BarabasiAlbertGenerator(d, n, d, True).generate()


_GENERATORS: dict[str, Callable[[int, int, int], None]] = {
    "kagen": _kagen,
    "kagen_kronecker": _kronecker,
    "networkit": _networkit,
}
OTHER_GENERATORS = tuple(_GENERATORS)


def other_generator_seconds(name: str, n: int, d: int, *, repeats: int = 1) -> list[float]:
    """Time another library's generator, with the graph in memory, on one core.

    Parameters
    ----------
    name : {"kagen", "kagen_kronecker", "networkit"}
        Barabási and Albert's model by KaGen; Graph500's stochastic Kronecker graph by KaGen, with
        as many edges on the next power of two of vertices; Batagelj and Brandes' algorithm by
        NetworKit.
    n, d : int
        Vertices, and edges per vertex.
    repeats : int, default 1
        How many graphs are made, after a small one.

    Returns
    -------
    list of float
        Seconds of each, by the wall clock.

    Raises
    ------
    UsageError
        If the library is not installed.
    """
    generate = _GENERATORS[name]
    generate(max(100, 10 * d), d, 1)
    times = []
    for seed in range(repeats):
        began = time.perf_counter()
        generate(n, d, seed + 1)
        times.append(time.perf_counter() - began)
    return times
