"""What a command compiles for a GPU is compiled while the graph is read."""

import threading

import numpy as np
import pytest

import mgraph
from mgraph.cli import preparation
from mgraph.core import backend, csr, primitives_gpu
from mgraph.core.graph import Graph
from mgraph.cuda import memory
from mgraph.cuda.source import Source
from mgraph.shortest_paths import rehearsal as sssp_rehearsal
from mgraph.shortest_paths.problem import length_dtype
from mgraph.spanning_trees import spanning_forest_gpu
from mgraph.steiner import rehearsal as steiner_rehearsal


@pytest.fixture
def built(monkeypatch):
    """The edges of which graphs are built on a GPU that there is not."""
    calls, build = [], csr.from_edges

    def from_edges(edges, n, *, directed, backend, **options):
        if backend == "cpu":
            return build(edges, n, directed=directed, backend=backend, **options)
        calls.append((edges, n, directed, backend))

    monkeypatch.setattr(memory, "import_cupy", lambda: None)
    monkeypatch.setattr(backend, "gpu_count", lambda: 1)
    monkeypatch.setattr(csr, "from_edges", from_edges)
    monkeypatch.setattr(Graph, "to_gpu", lambda graph: graph)
    monkeypatch.setattr(primitives_gpu, "loaders", lambda *dtypes: [])
    return calls


def prepared(location, backend, use, loaders=lambda graph, num_arcs: []):
    """What a command does, with a function of the tiny graph alone."""
    return preparation.preparing(location, backend, lambda graph, num_arcs: use(graph), loaders)


def dataset(folder, **options):
    model = mgraph.CopyModel(100, 2, **options)
    mgraph.generate(folder / "g", model, backend="cpu", progress=None)
    return str(folder / "g")


@pytest.mark.parametrize("weights", [None, (1, 9), (1, (1 << 31) - 1)])
def test_a_tiny_graph_has_the_types_of_the_large_one(tmp_path, built, weights):
    location, used = dataset(tmp_path, weights=weights), []
    with prepared(location, "auto", used.append):
        graph = mgraph.read_graph(location, backend="cpu")
    (tiny,), ((edges, n, directed, where),) = used, built
    assert (n, directed, where) == (2, False, "gpu")
    assert edges.src.dtype == tiny.indices.dtype == graph.indices.dtype
    assert length_dtype(tiny) == length_dtype(graph)
    for arrays in (edges.weight, tiny.weights):
        assert (arrays is None) == (weights is None)
        assert arrays is None or arrays.dtype == graph.weights.dtype
    expected = mgraph.sssp(tiny, 0, backend="cpu").distance
    assert expected.tolist() == [0, 1 if tiny.weights is None else int(tiny.weights[0])]


def test_the_graph_is_read_meanwhile_and_errors_are_left_to_it(tmp_path, built):
    location, is_read = dataset(tmp_path), threading.Event()

    def fail(tiny):
        assert is_read.wait(30)
        raise OSError("no compiler")

    with prepared(location, "gpu", fail):
        is_read.set()
    assert len(built) == 1


def test_kernels_are_loaded_at_the_same_time_and_none_is_left_out(tmp_path, built):
    location, all_run = dataset(tmp_path), threading.Barrier(4)
    loaded, asked, used = [], [], []

    def load():
        all_run.wait(30)
        loaded.append(threading.current_thread())

    def fail():
        all_run.wait(30)
        raise OSError("no compiler")

    def loaders(graph, num_arcs):
        asked.append((graph.n, num_arcs))
        return [load, fail, load, load]

    with prepared(location, "auto", used.append, loaders):
        num_arcs = mgraph.read_graph(location, backend="cpu").num_arcs
    assert asked == [(2, num_arcs)]
    assert len(set(loaded)) == 3
    assert len(used) == len(built) == 1


@pytest.mark.parametrize("weight", [None, "int32", "int64", "float32", "float64"])
@pytest.mark.parametrize("vertex", ["int32", "int64"])
def test_the_kernels_of_a_command_are_among_those_that_are_checked(weight, vertex, monkeypatch):
    """So each is in wheels, and compiled by the warm-up."""
    listed = []
    monkeypatch.setattr(Source, "loader", lambda source, **macros: listed.append((source, macros)))
    weights = None if weight is None else np.ones(2, weight)
    graph = Graph(np.array([0, 1, 2]), np.array([1, 0], vertex), weights, directed=False)
    star = {"backend": "auto", "method": "star", "search": "auto"}
    for method in ("self_tuning", "near_far", "heap", "frontier_node"):
        sssp_rehearsal.kernel_loaders(graph, method)
    for method in ("boruvka", "filter_boruvka"):
        spanning_forest_gpu.loaders(graph, method)
    assert len(steiner_rehearsal.kernel_loaders(graph, 1 << 30, star)) > 4
    assert all(tuple(macros.items()) in source.check for source, macros in listed)
    assert {"near_far.cu", "star.cu", "filter_boruvka.cu", "boruvka.cu"} <= {
        source.file for source, _ in listed
    }


@pytest.mark.parametrize(
    ("arcs", "changed"),
    [(1000, {}), (1 << 30, {"search": "dijkstra"}), (1 << 30, {"backend": "cpu"})],
)
def test_queries_that_a_core_answers_need_no_kernels(arcs, changed):
    graph = Graph(np.array([0, 1, 2]), np.array([1, 0]), None, directed=False)
    options = {"backend": "auto", "method": "star", "search": "auto"} | changed
    assert steiner_rehearsal.kernel_loaders(graph, arcs, options) == []


@pytest.mark.parametrize("name", ["missing", "graph.mtx", "g"])
def test_nothing_is_prepared_without_a_manifest_or_a_gpu(tmp_path, built, name, monkeypatch):
    location = str(tmp_path / name)
    if name == "g":
        location = dataset(tmp_path)
        monkeypatch.setattr(backend, "gpu_count", lambda: 0)
    used = []
    with prepared(location, "auto", used.append):
        pass
    with prepared(location, "cpu", used.append):
        pass
    assert used == built == []


def test_files_without_a_manifest_are_not_surveyed(tmp_path, built, monkeypatch):
    location, used = dataset(tmp_path), []
    (tmp_path / "g" / "_manifest.json").unlink()
    monkeypatch.setattr("mgraph.io.parquet.describe", lambda *asked: used.append(asked))
    with prepared(location, "auto", used.append):
        pass
    assert used == built == []
