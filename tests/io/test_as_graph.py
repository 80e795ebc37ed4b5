"""What users hold as a graph is taken as it is."""

import networkx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from scipy import sparse

import mgraph
from mgraph import EdgeList, MgraphWarning, UsageError

SRC, DST, WEIGHT = [0, 1, 0], [1, 2, 2], [5, 7, 30]
COLUMNS = {"src": SRC, "dst": DST, "weight": WEIGHT}


class Stream:
    """Only the Arrow PyCapsule interface."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


class Frame:
    """As cuDF's: columns and ``to_arrow``."""

    columns = tuple(COLUMNS)

    def to_arrow(self):
        return pa.table(COLUMNS)


class Tensor:
    """As PyTorch's on the CPU: an array by its protocol, rows by index."""

    def __init__(self, array):
        self._array, self.shape, self.dtype = array, array.shape, array.dtype

    def __getitem__(self, row):
        return Tensor(self._array[row])

    def __array__(self, dtype=None, copy=None):
        return self._array

    def __len__(self):
        return len(self._array)


TABLES = {
    "pandas": pd.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
    "batch": pa.RecordBatch.from_pydict(COLUMNS),
    "stream": Stream(pa.table(COLUMNS)),
    "cudf": Frame(),
    "dict": COLUMNS,
}


@pytest.mark.parametrize("kind", [*TABLES, "polars"])
def test_tables_in_memory(kind):
    make = pytest.importorskip("polars").DataFrame if kind == "polars" else TABLES.get
    table = make(COLUMNS if kind == "polars" else kind)
    graph = mgraph.from_dataframe(table, backend="cpu")
    assert [column.tolist() for column in graph.to_edges()] == [[0, 0, 1], [1, 2, 2], [5, 30, 7]]
    assert graph.directed
    assert not mgraph.from_dataframe(table, directed=False, backend="cpu").directed


def test_names_and_types_of_columns():
    frame = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"], "km": [5.5, 7]})
    graph = mgraph.from_dataframe(frame, "a", "b", "km", backend="cpu")
    assert graph.labels == ("x", "y", "z")
    assert graph.weights.tolist() == [5.5, 7]
    with pytest.warns(MgraphWarning, match="the columns source, target"):
        graph = mgraph.from_dataframe({"source": [5], "target": [9]}, backend="cpu")
    assert graph.n == 10
    graph = mgraph.from_dataframe({"src": [2**62], "dst": [-1]}, renumber=True, backend="cpu")
    assert graph.labels == (-1, 2**62)
    assert mgraph.from_dataframe(pd.DataFrame({"src": [], "dst": []}), backend="cpu").n == 0
    categories = pd.DataFrame({"src": ["x"], "dst": ["y"]}).astype("category")
    assert mgraph.from_dataframe(categories, backend="cpu").labels == ("x", "y")


@pytest.mark.parametrize(
    ("table", "columns", "words"),
    [
        (COLUMNS, ("a", "b"), "no column a; the columns are src, dst, weight"),
        (COLUMNS, ("src", "dst", "wait"), "no column wait"),
        ({"x": [1], "y": [2]}, (), "must have columns src, dst"),
        ({"src": [2**50], "dst": [1]}, (), r"`renumber=True` numbers the vertices"),
        ({"src": [1.5], "dst": [1]}, (), "must be whole numbers or strings"),
        ({"src": [None, 1], "dst": [1, 2]}, (), "must not be missing"),
        ({"src": [1], "dst": [2], "weight": ["a"]}, (), "weight must be a number"),
        ({"src": [1], "dst": [2, 3]}, (), "cannot be read as columns"),
        ([(0, 1)], (), r"table must be a data frame .* \(got list\)"),
        (7, (), r"\(got int\)"),
    ],
)
def test_wrong_tables_are_refused(table, columns, words):
    with pytest.raises(UsageError, match=words):
        mgraph.from_dataframe(table, *columns, backend="cpu")


def values(tmp_path):
    graph = mgraph.from_edges(EdgeList(SRC, DST, WEIGHT), directed=False, backend="cpu")
    mgraph.write_graph(graph, tmp_path / "g")
    made = networkx.Graph()
    made.add_weighted_edges_from(zip(SRC, DST, WEIGHT, strict=True))
    both = sparse.coo_array((WEIGHT + WEIGHT, (SRC + DST, DST + SRC)), (3, 3))
    return {
        "graph": graph,
        "path": tmp_path / "g",
        "text": str(tmp_path / "g"),
        "dataset": mgraph.open_dataset(tmp_path / "g"),
        "networkx": made,
        "sparse": both,
        "edges": EdgeList(SRC, DST, WEIGHT),
        "frame": pd.DataFrame(COLUMNS),
    }


def test_front_doors_take_what_users_hold(tmp_path):
    for name, value in values(tmp_path).items():
        options = {"backend": "cpu"}
        assert mgraph.sssp(value, 0, **options).distance.tolist() == [0, 5, 12], name
        assert mgraph.minimum_spanning_forest(value, **options).total_weight == 12, name
        assert mgraph.steiner_tree(value, [0, 2], **options).cost == 12, name
        assert mgraph.single_linkage(value, 1, **options).labels.tolist() == [0, 0, 0], name
        ((_, tree),) = mgraph.steiner_trees(value, [[0, 1]], **options)
        assert tree.cost == 5


def test_an_edge_index():
    index = np.array([SRC, DST])
    for value in (index, Tensor(index)):
        graph = mgraph.from_edges(value, backend="cpu")
        assert (graph.n, graph.num_arcs) == (3, 3)
        assert mgraph.sssp(value, 0, backend="cpu").distance.tolist() == [0, 1, 1]


@pytest.mark.parametrize("value", [None, 7, [(0, 1)], {"a": 1}, np.zeros((3, 4))])
def test_other_things_are_refused(value):
    for call in (mgraph.minimum_spanning_forest, lambda graph: mgraph.sssp(graph, 0)):
        with pytest.raises(UsageError, match=r"graph must be a Graph, .* \(got "):
            call(value)


def test_wrong_types_are_refused_in_a_sentence():
    made = networkx.Graph()
    made.add_edge(0, 1, weight=[1])
    made.add_edge(1, 2, weight=[1, 2])
    for call, value in (
        (mgraph.from_networkx, made),
        (mgraph.from_networkx, [(0, 1)]),
        (mgraph.from_sparse, sparse.coo_array(np.array([1, 0, 2]))),
        (mgraph.from_sparse, np.eye(2)),
        (mgraph.read_graph, []),
        (mgraph.read_graph, [7]),
        (mgraph.from_edges, [(0, 1)]),
    ):
        with pytest.raises(UsageError):
            call(value)
