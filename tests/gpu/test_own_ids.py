"""Vertices' own ids, and edges of other libraries, on a GPU."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import EdgeList

pytestmark = pytest.mark.gpu


@pytest.fixture(scope="module")
def named(tmp_path_factory):
    """A dataset of names, and the same graph with its labels."""
    folder = tmp_path_factory.mktemp("named")
    model = mgraph.CopyModel(3000, 4, weights=(1, 99))
    edges = model.edges(backend="cpu").edges
    names = np.array([f"vertex {v * 7919 % 3000:04d}" for v in range(3000)])
    columns = {"from": names[edges.src], "to": names[edges.dst], "km": edges.weight}
    pq.write_table(pa.table(columns), folder / "a.parquet")
    mgraph.convert(folder / "a.parquet", folder / "g", weight="km", symmetrise=True)
    return folder


def read(folder, **options):
    files = sorted(folder.glob("part-*.parquet"))
    return pa.concat_tables([pq.read_table(file) for file in files], **options)


def test_the_rows_of_both_backends_have_the_same_names(named, tmp_path):
    sources = ["vertex 0000", "vertex 1234", "vertex 2999"]
    tables = {}
    for backend in ("cpu", "gpu"):
        out = tmp_path / backend
        mgraph.sssp_many(named / "g", sources, out, ids="original", backend=backend)
        tables[backend] = read(out).sort_by([("source", "ascending"), ("vertex", "ascending")])
    assert tables["cpu"].equals(tables["gpu"])
    assert sorted(set(tables["gpu"]["source"].to_pylist())) == sources
    queries = [sources, sources[:2]]
    costs = {}
    for backend in ("cpu", "gpu"):
        out = tmp_path / f"trees-{backend}"
        run = mgraph.steiner_many(
            named / "g", queries, out, ids="original", method="star", backend=backend
        )
        costs[backend] = [answer.cost for answer in run.answers]
        rows = read(out).to_pylist()
        assert all(row["src"].startswith("vertex ") for row in rows)
        terminals = pq.read_table(out / "_queries.parquet")["terminals"].to_pylist()
        assert terminals == [sorted(query) for query in queries]
    assert costs["cpu"] == costs["gpu"]


def test_groups_of_names_have_the_same_trees_on_both_backends(named, tmp_path):
    queries = [
        [["vertex 0000", "vertex 0007"], ["vertex 1234"]],
        [["vertex 2999"], ["vertex 0042", "vertex 0043"], ["vertex 1000"]],
    ]
    tables = {}
    for backend in ("cpu", "gpu"):
        out = tmp_path / backend
        mgraph.steiner_many(named / "g", queries, out, ids="original", backend=backend)
        table = pq.read_table(out / "_queries.parquet")
        tables[backend] = table.select(["groups", "terminals", "cost", "lower_bound"]).to_pylist()
        assert table["groups"].to_pylist() == queries
    assert tables["cpu"] == tables["gpu"]


def test_a_dataset_of_names_on_the_device(named):
    graph = mgraph.read_graph(named / "g", backend="gpu")
    assert graph.backend == "gpu"
    assert graph.labels[graph.vertex("vertex 0042")] == "vertex 0042"
    found = mgraph.sssp(graph, graph.vertex("vertex 0000"), predecessors=True)
    path = found.path("vertex 0042")
    assert (path.labels[0], path.labels[-1]) == ("vertex 0000", "vertex 0042")


def test_columns_of_other_names_are_decoded_on_the_device(tmp_path):
    random = np.random.default_rng(1)
    columns = {"target": random.integers(0, 1000, 5000), "source": random.integers(0, 1000, 5000)}
    pq.write_table(
        pa.table(columns), tmp_path / "a.parquet", use_dictionary=False, compression="lz4",
        column_encoding="BYTE_STREAM_SPLIT",
    )  # fmt: skip
    graphs = [mgraph.read_graph(tmp_path, backend=backend) for backend in ("cpu", "gpu")]
    for ours, theirs in zip(*(graph.to_cpu().to_edges() for graph in graphs), strict=True):
        np.testing.assert_array_equal(ours, theirs)


class Foreign:
    """An array of another library on the device, which shares it by DLPack."""

    def __init__(self, array):
        self._array, self.shape, self.dtype = array, array.shape, array.dtype
        self.__cuda_array_interface__ = array.__cuda_array_interface__

    def __getitem__(self, row):
        return Foreign(self._array[row])

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def test_an_edge_index_on_the_device():
    import cupy

    index = cupy.asarray([[0, 1, 0], [1, 2, 2]])
    for value in (index, Foreign(index)):
        graph = mgraph.from_edges(value)
        assert (graph.backend, graph.n, graph.num_arcs) == ("gpu", 3, 3)
        assert mgraph.sssp(value, 0).distance.tolist() == [0, 1, 1]


def test_infinite_weights_on_the_device(tmp_path):
    edges = EdgeList([0, 1], [1, 2], np.array([np.inf, 2.5]))
    table = pa.table(dict(zip(("src", "dst", "weight"), edges, strict=True)))
    pq.write_table(table, tmp_path / "a.parquet")
    graph = mgraph.read_graph(tmp_path, drop_infinite=True, backend="gpu")
    assert (graph.n, graph.num_arcs) == (3, 1)


def test_columns_by_their_names_and_closed_arcs(tmp_path):
    """Every way of reading a table gives both backends the same graph."""
    random = np.random.default_rng(2)
    columns = {name: random.integers(0, 500, 4000) for name in "ab"}
    cost = random.integers(1, 1000, 4000) / 8
    cost[::7] = np.inf
    pq.write_table(pa.table({"x": cost[::-1], "cost": cost, **columns}), tmp_path / "t.parquet")
    reading = {"src": "a", "dst": "b", "weight": "cost", "drop_infinite": True}
    lengths, costs, totals = {}, {}, {}
    for backend in ("cpu", "gpu"):
        options = {"backend": backend, "symmetrise": True, "reading": reading}
        mgraph.sssp_many(tmp_path / "t.parquet", [1, 2], tmp_path / backend, **options)
        lengths[backend] = read(tmp_path / backend).sort_by("vertex")["distance"].to_pylist()
        found = mgraph.steiner_many(tmp_path / "t.parquet", [[1, 2, 3]], method="star", **options)
        costs[backend] = [answer.cost for answer in found.answers]
        forest = mgraph.spanning_forest_dataset(
            tmp_path / "t.parquet", tmp_path / f"forest-{backend}", **options
        )
        totals[backend] = forest.total_weight
    assert sorted(lengths["cpu"]) == sorted(lengths["gpu"])
    assert costs["cpu"] == costs["gpu"]
    assert totals["cpu"] == totals["gpu"]
