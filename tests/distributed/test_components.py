"""The components of a dataset: the whole graph's, over any workers, resumed or not."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import CopyModel, DatasetError, EdgeList, MgraphWarning, UsageError
from mgraph.distributed.operations import components as operations
from mgraph.distributed.operations import components_tasks
from mgraph.io import graph_dataset
from tests.components.oracles import draw_edges, labels_of

N = 3000


@pytest.fixture(scope="module")
def edges():
    return draw_edges(1, N, 2600)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory, edges):
    """Many components, in ten parts of small row groups."""
    out = tmp_path_factory.mktemp("components") / "g"
    weight = np.arange(edges[0].size)
    graph = mgraph.from_edges(
        EdgeList(*edges, weight), N, directed=False, drop_loops=False, backend="cpu"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(graph_dataset, "_MIN_PART_EDGES", 300)
        patch.setattr(graph_dataset, "_MAX_PART_EDGES", 300)
        patch.setattr(graph_dataset, "_BLOCK_EDGES", 50)
        mgraph.write_graph(graph, out)
    return out


@pytest.fixture(scope="module")
def expected(edges):
    return labels_of(*edges, N)


@pytest.fixture(scope="module")
def in_process():
    """Tasks in threads of this process, where its patches hold."""
    with mgraph.connect(backend="cpu", dashboard="127.0.0.1:0", in_process=True) as cluster:
        yield cluster


def search(dataset, out, cluster, **options):
    return mgraph.components_dataset(dataset, out, cluster=cluster, progress=None, **options)


def read_components(out):
    manifest = json.loads((out / "_manifest.json").read_text())
    tables = [pq.read_table(out / part["file"]) for part in manifest["parts"]]
    return pa.concat_tables(tables)


def assert_labels(out, expected):
    table = read_components(out)
    np.testing.assert_array_equal(table["vertex"].to_numpy(), np.arange(expected.size))
    np.testing.assert_array_equal(table["component"].to_numpy(), expected)


def test_each_vertex_with_its_component_and_each_component_with_its_size(
    tmp_path, cluster, dataset, expected
):
    run = search(dataset, tmp_path / "c", cluster)
    assert_same(tmp_path / "c", run, expected)
    names = {path.name for path in (tmp_path / "c").iterdir()}
    assert names == {"_manifest.json", "_components.parquet", "part-00000.parquet"}


def assert_same(out, run, expected):
    """The folder has each vertex, each component and its size, as the result says."""
    assert_labels(out, expected)
    roots, sizes = np.unique(expected, return_counts=True)
    assert (run.n, run.num_components) == (expected.size, roots.size)
    if roots.size:
        assert (run.largest, run.largest_size) == (roots[sizes.argmax()], sizes.max())
    distinct, counts = np.unique(sizes, return_counts=True)
    np.testing.assert_array_equal(run.sizes, distinct)
    np.testing.assert_array_equal(run.counts, counts)
    table = pq.read_table(out / "_components.parquet").to_pandas()
    order = np.lexsort((roots, -sizes))
    assert table.component.tolist() == roots[order].tolist()
    assert table.vertices.tolist() == sizes[order].tolist()


@pytest.mark.parametrize("workers", [1, 3, 4])
def test_any_workers_give_the_same_labels(tmp_path, dataset, expected, workers):
    with mgraph.connect(workers=workers, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        run = search(dataset, tmp_path / "c", cluster, largest=tmp_path / "largest")
    assert_labels(tmp_path / "c", expected)
    assert_largest(dataset, tmp_path / "largest", expected, run.largest)


def assert_largest(dataset, largest, expected, root):
    """The largest component as a dataset is the subgraph of its members, with their ids."""
    whole, part = (mgraph.read_graph(path, backend="cpu") for path in (dataset, largest))
    members = np.flatnonzero(expected == root)
    subgraph = mgraph.connected_components(whole).subgraph(whole)
    assert list(part.labels) == members.tolist()
    for name in ("indptr", "indices", "weights"):
        np.testing.assert_array_equal(getattr(part, name), getattr(subgraph, name))


def test_resume_replaces_the_largest_of_this_graph_and_no_other_dataset(
    tmp_path, in_process, dataset
):
    largest = tmp_path / "l"
    first = search(dataset, None, in_process, largest=largest)
    with pytest.raises(UsageError, match="already holds a dataset"):
        search(dataset, None, in_process, largest=largest)
    (largest / "_manifest.json").unlink()  # as a run leaves it that was cut short
    search(dataset, None, in_process, largest=largest, resume=True)
    assert mgraph.open_dataset(largest).n == first.largest_size
    other = tmp_path / "other"
    mgraph.generate(other, CopyModel(500, 2), cluster=in_process, progress=None)
    with pytest.raises(UsageError, match="holds parts of another dataset"):
        search(dataset, None, in_process, largest=other, resume=True)
    assert mgraph.verify(other, cluster=in_process, progress=None).ok


def test_the_dataset_of_the_largest_verifies(tmp_path, cluster):
    mgraph.generate(tmp_path / "g", CopyModel(2000, 3), cluster=cluster, parts=3, progress=None)
    search(tmp_path / "g", None, cluster, largest=tmp_path / "l")
    assert mgraph.verify(tmp_path / "l", cluster=cluster, progress=None).ok
    assert mgraph.open_dataset(tmp_path / "l").num_edges == CopyModel(2000, 3).num_edges


def test_nothing_is_written_where_nothing_is_asked_for(in_process, dataset, expected):
    run = search(dataset, None, in_process)
    assert run.location is None
    assert run.num_components == np.unique(expected).size
    assert str(run).startswith(f"{run.num_components:,} components of 3,000 vertices, the largest")


def test_files_of_others_with_arcs_and_infinite_weights(tmp_path, in_process):
    """Arcs count in both directions; closed ones do not connect."""
    table = pa.table({"a": [0, 2, 3, 5], "b": [1, 1, 4, 4], "w": [1.0, 2.0, np.inf, 1.0]})
    pq.write_table(table, tmp_path / "g.parquet")
    reading = {"src": "a", "dst": "b", "weight": "w"}
    search(tmp_path / "g.parquet", tmp_path / "all", in_process, reading=reading)
    assert_labels(tmp_path / "all", np.array([0, 0, 0, 3, 3, 3]))
    reading["drop_infinite"] = True
    search(tmp_path / "g.parquet", tmp_path / "open", in_process, reading=reading)
    assert_labels(tmp_path / "open", np.array([0, 0, 0, 3, 4, 4]))
    with pytest.raises(UsageError, match="has no manifest; convert it first"):
        search(tmp_path / "g.parquet", None, in_process, largest=tmp_path / "l", reading=reading)
    with pytest.raises(UsageError, match="delimiter does not apply"):
        search(tmp_path / "g.parquet", None, in_process, reading={"delimiter": ","})


def test_own_ids_and_their_attributes(tmp_path, in_process):
    source, people = tmp_path / "e.csv", tmp_path / "people.csv"
    source.write_text("src,dst,note\nann,bob,x\ncid,bob,y\ndan,eve,z\n")
    people.write_text("name,age\neve,5\nann,1\nbob,2\ncid,3\ndan,4\n")
    mgraph.convert(
        source, tmp_path / "g", vertices=people, vertex_id="name", symmetrise=True,
        text_ids=True, cluster=in_process,
    )  # fmt: skip
    search(tmp_path / "g", tmp_path / "c", in_process, ids="original", largest=tmp_path / "l")
    rows = read_components(tmp_path / "c").to_pylist()
    groups = {frozenset(r["vertex"] for r in rows if r["component"] == c)
              for c in {r["component"] for r in rows}}  # fmt: skip
    assert groups == {frozenset({"ann", "bob", "cid"}), frozenset({"dan", "eve"})}
    vertices = pq.read_table(tmp_path / "l" / "_vertices-00000.parquet").to_pandas()
    assert dict(zip(vertices.id, vertices.age, strict=True)) == {"ann": 1, "bob": 2, "cid": 3}
    notes = pq.read_table(tmp_path / "l" / "part-00000.parquet").column("note").to_pylist()
    assert sorted(notes) == ["x", "y"]


def test_an_empty_graph(tmp_path, in_process):
    none = np.empty(0, np.int32)
    graph = mgraph.from_edges(EdgeList(none, none), 5, directed=False, backend="cpu")
    mgraph.write_graph(graph, tmp_path / "g")
    run = search(tmp_path / "g", tmp_path / "c", in_process, largest=tmp_path / "l")
    assert (run.num_components, run.largest, run.largest_size) == (5, 0, 1)
    assert mgraph.open_dataset(tmp_path / "l").n == 1


@pytest.fixture
def checkpoints(monkeypatch):
    """A checkpoint after every step, of about 100 edges."""
    monkeypatch.setattr(components_tasks, "STEP_EDGES", {"cpu": 100, "gpu": 100})
    monkeypatch.setattr(components_tasks, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(components_tasks, "CHECKPOINT_COST", 0)


def interrupt_after(monkeypatch, steps):
    """Have a task stop after some steps, as if its worker had died; return the blocks it read."""
    write, count = components_tasks._Checkpoints.write_if_due, []

    def write_and_stop(self, done, read_labels):
        write(self, done, read_labels)
        count.append(done)
        if done == steps:
            raise mgraph.StorageError("stopped")

    monkeypatch.setattr(components_tasks._Checkpoints, "write_if_due", write_and_stop)
    return count


def test_resume_goes_on_from_a_checkpoint(
    tmp_path, in_process, dataset, expected, checkpoints, monkeypatch
):
    out = tmp_path / "c"
    with monkeypatch.context() as patch:
        interrupt_after(patch, 7)
        with pytest.raises(mgraph.StorageError, match="stopped"):
            search(dataset, out, in_process)
    assert [path.name for path in out.iterdir()] == ["_labels-00000.parquet"]
    with pytest.raises(UsageError, match="checkpoints of a run that was cut short; pass `resume"):
        search(dataset, out, in_process)
    with monkeypatch.context() as patch:
        steps = interrupt_after(patch, -1)
        search(dataset, out, in_process, resume=True)
    assert steps[0] == 8
    assert_labels(out, expected)
    assert not list(out.glob("_labels*"))
    again = search(dataset, out, in_process, resume=True)
    assert again.num_components == np.unique(expected).size
    assert again.sizes.sum() > 0
    assert again.work_seconds == 0


@pytest.mark.parametrize("damage", ["bytes", "other graph", "labels"])
def test_a_checkpoint_that_does_not_fit_is_not_gone_on_from(
    tmp_path, in_process, dataset, expected, checkpoints, monkeypatch, damage
):
    out = tmp_path / "c"
    with monkeypatch.context() as patch:
        interrupt_after(patch, 7)
        with pytest.raises(mgraph.StorageError, match="stopped"):
            search(dataset, out, in_process)
    file = out / "_labels-00000.parquet"
    if damage == "bytes":
        file.write_bytes(file.read_bytes()[:500])
    else:
        table = pq.read_table(file)
        metadata = json.loads(pq.read_metadata(file).metadata[b"mgraph"])
        if damage == "labels":
            table = pa.table({"component": pa.array(np.arange(1, N + 1, dtype=np.int32))})
        else:
            metadata["graph_identity"] = "another"
        table = table.replace_schema_metadata({"mgraph": json.dumps(metadata)})
        pq.write_table(table, file)
    search(dataset, out, in_process, resume=True)
    assert_labels(out, expected)


def test_what_must_not_be_touched_is_not(tmp_path, in_process, dataset, expected):
    out, other = tmp_path / "c", tmp_path / "g"
    search(dataset, out, in_process)
    with pytest.raises(UsageError, match="pass `resume=True`"):
        search(dataset, out, in_process)
    mgraph.generate(other, CopyModel(500, 2), cluster=in_process, progress=None)
    with pytest.raises(UsageError, match="holds the components of another graph"):
        search(other, out, in_process, resume=True)
    for name in (other, f"file://{other}"):
        with pytest.raises(UsageError, match="is the graph; write its components to another"):
            search(name, other, in_process, overwrite=True)
        with pytest.raises(UsageError, match="is the graph; give largest another folder"):
            search(name, None, in_process, largest=other, overwrite=True)
    with pytest.raises(UsageError, match="out and largest must be two folders"):
        search(other, out, in_process, largest=out, overwrite=True)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "letter").write_text("mine")
    with pytest.raises(UsageError, match="holds other files"):
        search(other, tmp_path / "full", in_process, overwrite=True)
    assert_labels(out, expected)
    assert search(other, out, in_process, overwrite=True).num_components == 1
    assert_labels(out, np.zeros(500, np.int32))


def test_a_wrong_id_names_the_files(tmp_path, in_process, dataset):
    """The manifest says how many vertices there are."""
    graph = tmp_path / "g"
    shutil.copytree(dataset, graph)
    manifest = json.loads((graph / "_manifest.json").read_text())
    manifest["n"] = N - 100
    (graph / "_manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(DatasetError, match=r"g: vertices must lie in \[0, 2,900\)"):
        search(graph, tmp_path / "c", in_process)
    assert not list((tmp_path / "c").glob("part*"))


def test_too_many_vertices_for_a_worker(in_process, dataset):
    """One worker cannot share the graph with others."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operations, "MEMORY_SHARE", 1e-12)
        with pytest.raises(UsageError, match="GiB of memory on each worker, and one has"):
            search(dataset, None, in_process)


@pytest.fixture
def scarce(monkeypatch):
    """No worker has memory for the labels."""
    monkeypatch.setattr(operations, "MEMORY_SHARE", 1e-12)


@pytest.mark.parametrize("compression", ["lz4", "none"])
def test_labels_that_no_worker_holds(tmp_path, cluster, dataset, expected, scarce, compression):
    with pytest.warns(MgraphWarning, match=r"components of 3,000 .* spread over 2 workers"):
        run = search(dataset, tmp_path / "c", cluster, compression=compression)
    assert_same(tmp_path / "c", run, expected)
    with pytest.warns(MgraphWarning):
        again = search(dataset, None, cluster)
    assert (again.num_components, again.largest) == (run.num_components, run.largest)
    np.testing.assert_array_equal(again.sizes, run.sizes)
    with pytest.raises(UsageError, match="already holds"):
        search(dataset, tmp_path / "c", cluster)
    assert search(dataset, tmp_path / "c", cluster, resume=True).num_components
    with pytest.raises(UsageError, match="without which largest does not work"):
        search(dataset, None, cluster, largest=tmp_path / "l")


def test_weights_are_not_read(tmp_path, cluster, scarce):
    """Of generated graphs, and of files whose weights no search would take."""
    for name in ("none", "some"):
        weights = None if name == "none" else (1, 9)
        mgraph.generate(tmp_path / name, CopyModel(500, 1, weights=weights), cluster=cluster)
    weight = np.array([1.0, np.nan, np.inf])
    (tmp_path / "other").mkdir()
    table = pa.table({"src": [0, 1, 4], "dst": [1, 2, 3], "weight": weight})
    pq.write_table(table, tmp_path / "other" / "a.parquet")
    for name in ("none", "some", "other"):
        with pytest.warns(MgraphWarning):
            run = search(tmp_path / name, tmp_path / f"{name}-c", cluster)
        graph = mgraph.read_graph(tmp_path / name, backend="cpu") if name != "other" else None
        labels = [0, 0, 0, 3, 3] if graph is None else mgraph.connected_components(graph).labels
        assert_same(tmp_path / f"{name}-c", run, np.asarray(labels))


@pytest.mark.parametrize("n", [1, 5])
def test_few_vertices_over_more_workers(tmp_path, cluster, scarce, n):
    none = np.empty(0, np.int32)
    graph = mgraph.from_edges(EdgeList(none, none), n, directed=False, backend="cpu")
    mgraph.write_graph(graph, tmp_path / "g")
    with pytest.warns(MgraphWarning):
        run = search(tmp_path / "g", tmp_path / "c", cluster)
    assert_same(tmp_path / "c", run, np.arange(n))
