"""The graphs of the paper on heaps (its table 2), and those of them that a generator can make.

Source: section 5.7.1 of "Accelerating concurrent heap on GPUs". All 13 are in the SuiteSparse
collection of matrices. Three are random graphs of a known model, made here; the others come from
meshes, engineering, films, papers and the web. The paper says nothing about weights.
"""

from typing import NamedTuple

from mgraph.core.choices import Backend, check_choice
from mgraph.core.csr import from_edges
from mgraph.core.graph import Graph
from mgraph.core.numbers import check_integer
from mgraph.experiments.random_graphs import (
    delaunay_edges,
    kronecker_edges,
    random_geometric_edges,
)

WEIGHTS = (1, 1000)
MIN_SCALE = 10


class PaperGraph(NamedTuple):
    """A row of the paper's table 2.

    vertices, edges, kind: as the paper prints them. An edge of an undirected graph counts twice.
    scale: the logarithm of the vertices, to base 2, if a generator makes such graphs; else 0.
    """

    vertices: int
    edges: int
    kind: str
    scale: int = 0


HEAP_PAPER_GRAPHS = {
    "AS365": PaperGraph(3_799_275, 22_736_152, "2D FE triangular meshes"),
    "bundle_adj": PaperGraph(513_351, 20_721_402, "Bundle adjustment problem"),
    "coPapersDBLP": PaperGraph(540_486, 30_491_458, "DIMACS10 set"),
    "delaunay_n22": PaperGraph(4_194_304, 25_165_738, "DIMACS10 set", scale=22),
    "hollywood-2009": PaperGraph(1_139_905, 115_031_232, "Graph of movie actors"),
    "Hook_1498": PaperGraph(1_498_023, 62_415_468, "3D mechanical problem"),
    "kron_g500_logn20": PaperGraph(1_048_576, 89_240_544, "DIMACS10 set", scale=20),
    "Stanford_Berkeley": PaperGraph(685_230, 7_600_595, "Berkeley-Stanford web graph"),
    "Long_Coup_dt0": PaperGraph(1_470_152, 88_559_144, "Coupled consolidation problem"),
    "M6": PaperGraph(3_501_776, 21_003_872, "2D FE triangular meshes"),
    "NLR": PaperGraph(4_163_763, 24_975_952, "2D FE triangular meshes"),
    "rgg_n_2_20_s0": PaperGraph(1_048_576, 13_783_240, "Undirected Random Graph", scale=20),
    "Serena": PaperGraph(1_391_349, 65_923_050, "Structural Problem"),
}
MADE_HEAP_GRAPHS = tuple(name for name, graph in HEAP_PAPER_GRAPHS.items() if graph.scale)


def make_heap_graph(
    name: str, *, smaller: int = 0, seed: int = 0, backend: Backend = "auto"
) -> tuple[str, Graph]:
    """Make a graph of the paper's table 2 by its model, at its size or smaller.

    Parameters
    ----------
    name : {"delaunay_n22", "kron_g500_logn20", "rgg_n_2_20_s0"}
        The name in the table.
    smaller : int, default 0
        Halve the number of vertices this many times, to 2^10 at the least.
    seed : int, default 0
        Of the random numbers, which are not those of the original.
    backend : {"auto", "cpu", "gpu"}
        Where the graph is built. Its edges are drawn on one core.

    Returns
    -------
    str, Graph
        The name with the logarithm of the size that was made, such as ``delaunay_n15``, and the
        graph, undirected and simple, with int32 weights from 1 to 1,000.

    Raises
    ------
    UsageError
        If there is no such graph.

    Notes
    -----
    At the paper's sizes one core takes about 2 s (geometric), 12 s (Kronecker) and 40 s (Delaunay);
    memory up to 3 GB.

    Examples
    --------
    >>> mgraph.experiments.make_heap_graph("rgg_n_2_20_s0", smaller=9, backend="cpu")[0]
    'rgg_n_2_11_s0'
    """
    check_choice("name", name, MADE_HEAP_GRAPHS)
    scale = HEAP_PAPER_GRAPHS[name].scale
    made = max(MIN_SCALE, scale - check_integer("smaller", smaller, 0, 64))
    if name.startswith("delaunay"):
        edges = delaunay_edges(1 << made, weights=WEIGHTS, seed=seed)
    elif name.startswith("rgg"):
        edges = random_geometric_edges(1 << made, weights=WEIGHTS, seed=seed)
    else:
        edges = kronecker_edges(made, weights=WEIGHTS, seed=seed)
    graph = from_edges(edges, 1 << made, directed=False, backend=backend)
    return name.replace(str(scale), str(made)), graph
