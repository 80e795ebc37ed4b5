"""Random graphs that other programs wrote, in each of their formats, are read as they were."""

import json

import networkx
import numpy as np
import pandas as pd
import pytest
import scipy.io
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph

duckdb = pytest.importorskip("duckdb", reason="DuckDB is not installed")
igraph = pytest.importorskip("igraph", reason="igraph is not installed")
polars = pytest.importorskip("polars", reason="Polars is not installed")

pytestmark = pytest.mark.filterwarnings("ignore::mgraph.MgraphWarning")


class Case:
    """A random graph: names of its vertices, and edges (u, v, weight) between their positions."""

    def __init__(self, names, edges, directed, weighted):
        self.names, self.directed, self.weighted = names, directed, weighted
        self.edges = edges if weighted else [(u, v) for u, v, _ in edges]

    def rows(self):
        """Return the edges by name, in one order whatever the direction of undirected ones."""
        return sorted(self._row(*edge) for edge in self.edges)

    def _row(self, u, v, *weight):
        ends = (str(self.names[u]), str(self.names[v]))
        return (*(ends if self.directed else sorted(ends)), *weight)

    def frame(self, names):
        columns = list(zip(*self.edges, strict=True)) or [()] * (2 + self.weighted)
        ends = [[self.names[vertex] for vertex in column] for column in columns[:2]]
        columns = dict(zip(names, [*ends, *map(list, columns[2:])], strict=False))
        return {name: np.array(column) for name, column in columns.items()}

    def networkx(self, multigraph=True):
        kinds = {
            (True, True): networkx.MultiDiGraph, (True, False): networkx.MultiGraph,
            (False, True): networkx.DiGraph, (False, False): networkx.Graph,
        }  # fmt: skip
        graph = kinds[multigraph, self.directed]()
        graph.add_nodes_from(self.names)
        for u, v, *weight in self.edges:
            more = {"weight": weight[0]} if weight else {}
            graph.add_edge(self.names[u], self.names[v], **more)
        return graph

    def igraph(self):
        graph = igraph.Graph(n=len(self.names), directed=self.directed)
        graph.vs["name"] = [str(name) for name in self.names]
        graph.add_edges([edge[:2] for edge in self.edges])
        if self.weighted:
            graph.es["weight"] = [edge[2] for edge in self.edges]
        return graph


NAMES = {
    "dense": lambda n: st.just(list(range(n))),
    "sparse": lambda n: st.lists(
        st.integers(-(2**63), 2**63 - 1), min_size=n, max_size=n, unique=True
    ),
    "text": lambda n: st.lists(
        st.text("abcdeäß", min_size=1, max_size=5), min_size=n, max_size=n, unique=True
    ),
}
NAMES["ascii"] = lambda n: st.lists(
    st.text("abcXYZ", min_size=1, max_size=5), min_size=n, max_size=n, unique=True
)
WEIGHTS = {
    "whole": st.integers(0, 2**40),
    "real": st.floats(0, 1e9, allow_nan=False, allow_subnormal=False),
    "eighths": st.integers(0, 2**40).map(lambda number: number / 8),  # of 15 digits at most
    "none": st.none(),
}


@st.composite
def cases(
    draw, names=("dense", "sparse", "text"), weights=("whole", "real", "none"), directed=None
):
    """At least one edge, and every vertex in one: tables have no others."""
    n = draw(st.integers(1, 8))
    labels = draw(NAMES[draw(st.sampled_from(names))](n))
    kind = draw(st.sampled_from(weights))
    ends = st.integers(0, n - 1)
    edges = draw(st.lists(st.tuples(ends, ends, WEIGHTS[kind]), min_size=1, max_size=15))
    edges += [(vertex, draw(ends), draw(WEIGHTS[kind])) for vertex in range(n)]
    if kind in ("real", "eighths"):  # else a column of floats becomes one of whole numbers
        edges[0] = (*edges[0][:2], edges[0][2] + 0.5)
    directed = draw(st.booleans()) if directed is None else directed
    return Case(labels, edges, directed, kind != "none")


def read_back(case, location, **options):
    """Read, and compare names, edges, weights and direction."""
    options.setdefault("symmetrise", False)
    graph = mgraph.read_graph(location, backend="cpu", **options)
    labels = range(graph.n) if graph.labels is None else list(graph.labels)
    src, dst, *weight = (column.tolist() for column in graph.to_edges())
    rows = []
    for i, (u, v) in enumerate(zip(src, dst, strict=True)):
        ends = (str(labels[u]), str(labels[v]))
        rows.append((*(ends if graph.directed else sorted(ends)), *(w[i] for w in weight)))
    assert graph.directed == case.directed
    assert sorted(rows) == case.rows()
    assert len(set(map(str, labels))) == len(labels)


def property_test(**draws):
    """A test of a few graphs, each in a folder of its own."""

    def decorate(check):
        @settings(deadline=None, max_examples=25)
        @given(case=cases(**draws))
        def test(case, tmp_path_factory):
            check(case, tmp_path_factory.mktemp("other"))

        return test

    return decorate


def table_options(case):
    """Numbers with gaps are renumbered; the rest follows from the file."""
    whole = all(isinstance(name, int) for name in case.names)
    return {"renumber": whole and case.names != list(range(len(case.names)))}


ENDS = ("source", "target", "weight")


@property_test(directed=True)
def test_polars(case, folder):
    frame = polars.DataFrame(case.frame(ENDS))
    frame.write_parquet(folder / "a.parquet")
    frame.write_ipc(folder / "a.arrow")
    frame.write_csv(folder / "a.csv")
    frame.write_csv(folder / "a.tsv", separator="\t")
    for name in ("a.parquet", "a.arrow", "a.csv", "a.tsv"):
        read_back(case, folder / name, **table_options(case))


@property_test(directed=True)
def test_duckdb(case, folder):
    frame = pd.DataFrame(case.frame(ENDS))
    frame["day"] = np.arange(len(frame)) % 3
    connection = duckdb.connect()
    connection.register("edges", frame)
    for words in (
        "a.parquet' (compression zstd",
        "b.parquet' (row_group_size 2",
        "a.csv' (header",
        "b.csv' (delimiter '|', header",
        "c.csv.gz' (header, quote '\"', force_quote *",
    ):
        name = words.partition("'")[0]
        columns = "*" if name == "a.parquet" else "* exclude day"
        connection.execute(f"copy (select {columns} from edges) to '{folder}/{words})")
        read_back(case, folder / name, **table_options(case))
    connection.execute(f"copy edges to '{folder}/hive' (format parquet, partition_by day)")
    read_back(case, folder / "hive", **table_options(case))


@property_test(directed=True)
def test_pandas(case, folder):
    frame = pd.DataFrame(case.frame(ENDS))
    frame.to_parquet(folder / "a.parquet")
    frame.to_feather(folder / "a.feather")
    frame.to_csv(folder / "a.csv", index=False)
    frame.to_csv(folder / "a.csv.gz", index=False, sep=";")
    for name in ("a.parquet", "a.feather", "a.csv", "a.csv.gz"):
        read_back(case, folder / name, **table_options(case))


@property_test()
def test_networkx_xml_and_json(case, folder):
    graph = case.networkx()
    networkx.write_graphml_xml(graph, folder / "a.graphml")
    read_back(case, folder / "a.graphml")
    (folder / "a.json").write_text(json.dumps(networkx.node_link_data(graph, edges="edges")))
    read_back(case, folder / "a.json")
    networkx.write_gexf(graph, folder / "a.gexf")
    read_back(case, folder / "a.gexf")


@property_test(names=["dense", "text"], directed=True, weights=["whole", "real"])
def test_networkx_weighted_edge_lists(case, folder):
    for delimiter in (" ", "\t", ","):
        networkx.write_weighted_edgelist(
            case.networkx(), folder / "a.edgelist", delimiter=delimiter
        )
        read_back(case, folder / "a.edgelist", columns="src,dst,weight")


@property_test(names=["dense", "text"], directed=True, weights=["none"])
def test_networkx_edge_lists(case, folder):
    networkx.write_edgelist(case.networkx(), folder / "a.txt", data=False)
    read_back(case, folder / "a.txt")


@property_test(weights=["whole", "eighths", "none"])
def test_igraph_graphml(case, folder):
    case.igraph().write_graphml(str(folder / "a.graphml"))
    graph = mgraph.read_graph(folder / "a.graphml", backend="cpu")
    assert graph.directed == case.directed
    plain = Case(list(range(len(case.names))), [], case.directed, case.weighted)
    plain.edges = case.edges
    plain.names = [f"n{vertex}" for vertex in plain.names]  # their names are an attribute
    read_back(plain, folder / "a.graphml")


@property_test(names=["ascii"], directed=True, weights=["whole", "eighths"])
def test_igraph_ncol(case, folder):
    case.igraph().write_ncol(str(folder / "a.ncol"), names="name", weights="weight")
    read_back(case, folder / "a.ncol", columns="src,dst,weight")


@property_test(names=["dense"], directed=True, weights=["none"])
def test_igraph_edge_lists(case, folder):
    case.igraph().write_edgelist(str(folder / "a.edgelist"))
    read_back(case, folder / "a.edgelist")


@property_test(names=["dense"], directed=True, weights=["whole"])
def test_igraph_dimacs(case, folder):
    if len(case.names) < 2:
        return
    graph = case.igraph()
    graph.write_dimacs(str(folder / "a.max"), source=0, target=1, capacity="weight")
    read_back(case, folder / "a.max")


@property_test(names=["dense"], weights=["whole", "real", "none"])
def test_scipy(case, folder):
    n = len(case.names)
    unique = {
        edge[:2] if case.directed else tuple(sorted(edge[:2], reverse=True)): edge
        for edge in case.edges
    }
    case.edges = [(u, v, *edge[2:]) for (u, v), edge in unique.items()]
    src, dst = zip(*unique, strict=True)
    weight = [edge[2] for edge in case.edges] if case.weighted else [1] * len(src)
    rows = list(zip(src, dst, weight, strict=True))
    if not case.directed:
        rows += [(v, u, w) for u, v, w in rows if u != v]
    src, dst, weight = zip(*rows, strict=True)
    matrix = scipy.sparse.coo_array((weight, (src, dst)), shape=(n, n))
    field = None if case.weighted else "pattern"
    symmetry = "general" if case.directed else "symmetric"
    scipy.io.mmwrite(folder / "a.mtx", matrix, field=field, symmetry=symmetry, precision=17)
    read_back(case, folder / "a.mtx")
