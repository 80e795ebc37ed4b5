"""What a command compiles for a GPU is compiled while the graph is read."""

import threading

import pytest

import mgraph
from mgraph.cli import preparation
from mgraph.core import backend, csr
from mgraph.core.graph import Graph
from mgraph.cuda import memory
from mgraph.shortest_paths.problem import length_dtype


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
    return calls


def dataset(folder, **options):
    model = mgraph.CopyModel(100, 2, **options)
    mgraph.generate(folder / "g", model, backend="cpu", progress=None)
    return str(folder / "g")


@pytest.mark.parametrize("weights", [None, (1, 9), (1, (1 << 31) - 1)])
def test_a_tiny_graph_has_the_types_of_the_large_one(tmp_path, built, weights):
    location, used = dataset(tmp_path, weights=weights), []
    with preparation.preparing(location, "auto", used.append):
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

    with preparation.preparing(location, "gpu", fail):
        is_read.set()
    assert len(built) == 1


@pytest.mark.parametrize("name", ["missing", "graph.mtx", "g"])
def test_nothing_is_prepared_without_a_manifest_or_a_gpu(tmp_path, built, name, monkeypatch):
    location = str(tmp_path / name)
    if name == "g":
        location = dataset(tmp_path)
        monkeypatch.setattr(backend, "gpu_count", lambda: 0)
    used = []
    with preparation.preparing(location, "auto", used.append):
        pass
    with preparation.preparing(location, "cpu", used.append):
        pass
    assert used == built == []


def test_files_without_a_manifest_are_not_surveyed(tmp_path, built, monkeypatch):
    location, used = dataset(tmp_path), []
    (tmp_path / "g" / "_manifest.json").unlink()
    monkeypatch.setattr("mgraph.io.parquet.describe", lambda *asked: used.append(asked))
    with preparation.preparing(location, "auto", used.append):
        pass
    assert used == built == []
