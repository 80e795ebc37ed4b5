"""The forest of a dataset: the whole graph's, in any batches, resumed or not."""

import functools
import json
import os
import shutil
import signal
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import CopyModel, DatasetError, EdgeList, MgraphWarning, StorageError, UsageError
from mgraph.distributed.operations import ranks, spanning_forest
from mgraph.distributed.operations.spanning_forest_plan import (
    plan_batches,
)
from tests.distributed import paused_exchange
from tests.spanning_trees.oracles import kruskal

MODEL = CopyModel(20_000, 4, weights=(1, 9))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory, cluster):
    out = tmp_path_factory.mktemp("msf") / "g"
    mgraph.generate(out, MODEL, cluster=cluster, parts=11, progress=None)
    return out


@pytest.fixture(scope="module")
def whole(dataset):
    return mgraph.minimum_spanning_forest(mgraph.read_graph(dataset, backend="cpu"))


def span(dataset, out, cluster, **options):
    return mgraph.spanning_forest_dataset(dataset, out, cluster=cluster, progress=None, **options)


def edges_of(out):
    columns = zip(*(part.read() for part in mgraph.open_dataset(out)), strict=True)
    return [np.concatenate(column) for column in columns]


def assert_same(out, forest):
    for ours, theirs in zip(edges_of(out), (forest.src, forest.dst, forest.weight), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("batch", [None, 10_000, 1])
def test_any_batches_give_the_forest_of_the_whole(tmp_path, cluster, dataset, whole, batch):
    run = span(dataset, tmp_path / "f", cluster, batch=batch)
    assert_same(tmp_path / "f", whole)
    assert (run.total_weight, run.components) == (whole.total_weight, 1)
    assert run.is_in_memory == (batch is None)
    assert run.made == {None: 1, 10_000: 11 + 5 + 2 + 1 + 1, 1: 11 + 5 + 2 + 1 + 1}[batch]
    names = {path.name for path in (tmp_path / "f").iterdir()}
    parts = {part.file for part in run.records}
    assert names == {"_manifest.json", *parts}
    assert len(parts) == (2 if run.is_in_memory else 1)
    forest_record = json.loads((tmp_path / "f" / "_manifest.json").read_text())["forest"]
    assert forest_record["of"] == str(dataset)
    assert forest_record["total_weight"] == whole.total_weight
    assert mgraph.verify(tmp_path / "f", cluster=cluster, progress=None).ok


@pytest.mark.parametrize("batch", [None, 300])
@pytest.mark.parametrize("dtype", ["int64", "float32", "float64", None])
def test_files_of_others_with_loops_and_components(tmp_path, cluster, dtype, batch):
    random = np.random.default_rng(1)
    src, dst = random.integers(0, 500, (2, 900))
    weight = None if dtype is None else (random.integers(-3, 4, 900) / 2).astype(dtype)
    columns = {"src": src, "dst": dst} | ({} if dtype is None else {"weight": weight})
    (tmp_path / "g").mkdir()
    for i in range(3):
        rows = {name: values[300 * i : 300 * (i + 1)] for name, values in columns.items()}
        pq.write_table(pa.table(rows), tmp_path / "g" / f"{i}.parquet")
    run = span(tmp_path / "g", tmp_path / "f", cluster, symmetrise=True, batch=batch)
    graph = mgraph.from_edges(EdgeList(src, dst, weight), directed=False, backend="cpu")
    ids = kruskal(graph)
    src, dst, *weights = edges_of(tmp_path / "f")
    assert src.tolist() == (np.searchsorted(graph.indptr, ids, "right") - 1).tolist()
    assert dst.tolist() == graph.indices[ids].tolist()
    assert run.components == graph.n - len(ids) > 1
    if dtype is None:
        assert weights == []
        assert run.total_weight == len(ids)
    else:
        np.testing.assert_array_equal(weights[0], graph.weights[ids])
        assert weights[0].dtype == dtype
        assert run.total_weight == graph.weights[ids].sum()


def test_a_lost_worker_leads_to_forests_in_files(tmp_path, cluster, dataset, whole, monkeypatch):
    def lost(*arguments, **options):
        raise ranks.RankLostError("a worker has ended")

    monkeypatch.setattr(ranks.Ranks, "run", lost)
    with pytest.warns(MgraphWarning, match="a worker was lost"):
        run = span(dataset, tmp_path / "f", cluster)
    assert not run.is_in_memory
    assert run.made == 2 + 1
    assert_same(tmp_path / "f", whole)


@pytest.mark.parametrize("calls", [0, 5, 12, 20])
def test_a_worker_is_killed_while_all_make_the_forest(tmp_path, dataset, whole, monkeypatch, calls):
    """It is started again, and forests are merged in files."""
    monkeypatch.setattr(
        spanning_forest, "span_rank", functools.partial(paused_exchange.paused_span, calls)
    )

    def kill():
        while not (paused := list(tmp_path.glob("paused-*"))):
            time.sleep(0.02)
        os.kill(int(paused[0].name.rpartition("-")[2]), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        killer.start()
        with pytest.warns(MgraphWarning, match="a worker was lost"):
            run = span(dataset, tmp_path / "f", cluster)
        killer.join()
    assert not run.is_in_memory
    assert_same(tmp_path / "f", whole)
    assert {path.name for path in (tmp_path / "f").iterdir()} == {
        "_manifest.json", *(part.file for part in run.records),
    }  # fmt: skip


def test_a_forest_that_is_not_written(tmp_path, cluster, dataset, whole, monkeypatch):
    run = span(dataset, None, cluster)
    assert (run.location, run.is_in_memory, run.records) == (None, True, ())
    assert (run.total_weight, run.components) == (whole.total_weight, 1)
    assert run.manifest.num_edges == len(whole)
    with pytest.raises(UsageError, match="batch, resume and overwrite need `out`"):
        span(dataset, None, cluster, batch=100)
    monkeypatch.setattr(spanning_forest, "fits_ranks", lambda *_: False)
    with pytest.raises(UsageError, match=r"79,990 edges and .* at once; pass `out=FOLDER`"):
        span(dataset, None, cluster)


def test_an_empty_graph(tmp_path, cluster):
    none = np.empty(0, np.int32)
    graph = mgraph.from_edges(EdgeList(none, none), 5, directed=False, backend="cpu")
    mgraph.write_graph(graph, tmp_path / "g")
    run = span(tmp_path / "g", tmp_path / "f", cluster)
    assert (run.manifest.num_edges, run.components, run.total_weight) == (0, 5, 0)


def test_resume_goes_on_from_the_forests_there_are(tmp_path, cluster, dataset, whole, monkeypatch):
    out, run_parts = tmp_path / "f", spanning_forest.run_parts
    levels = []

    def interrupted(cluster, task, arguments, *more, verb, **options):
        levels.append(len(arguments))
        if verb == "msf-merge":
            raise KeyboardInterrupt
        return run_parts(cluster, task, arguments, *more, verb=verb, **options)

    monkeypatch.setattr(spanning_forest, "run_parts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        span(dataset, out, cluster, batch=10_000)
    monkeypatch.setattr(spanning_forest, "run_parts", run_parts)
    with pytest.raises(UsageError, match="a run that was cut short; pass `resume=True`"):
        span(dataset, out, cluster)
    with pytest.raises(DatasetError):
        mgraph.open_dataset(out)
    with pytest.raises(UsageError, match=r"begun with `batch=10000` \(got batch=500\); go on"):
        span(dataset, out, cluster, resume=True, batch=500)
    done = sorted(out.glob("*done.json"))
    assert len(done) == levels[0] == 11
    done[3].unlink()
    done[4].write_text("[{")
    next(out.glob("_forest-0-00006-0*.parquet")).write_bytes(b"cut short")
    run = span(dataset, out, cluster, resume=True)
    assert (run.made, run.kept) == (3 + 5 + 2 + 1 + 1, 8)
    assert_same(out, whole)
    assert not list(out.glob("_forest*"))
    (out / "_forest-0-00000-done.json").write_text("left by one that was killed")
    again = span(dataset, out, cluster, resume=True)
    assert (again.made, again.kept, again.total_weight) == (0, 1, whole.total_weight)
    assert {path.name for path in out.iterdir()} == {"_manifest.json", "part-00000.parquet"}


def test_a_run_that_began_is_recognised(tmp_path, cluster, dataset):
    out = tmp_path / "f"
    out.mkdir()
    (out / "_forests.json").write_text("{")
    with pytest.raises(DatasetError, match=r"_forests\.json is damaged; pass `overwrite=True`"):
        span(dataset, out, cluster, resume=True)


def test_a_large_file_is_read_in_pieces(tmp_path, cluster, dataset, whole):
    edges = pa.concat_tables(pq.read_table(file) for file in sorted(dataset.glob("*.parquet")))
    pq.write_table(edges, tmp_path / "g.parquet", row_group_size=3000)
    run = span(tmp_path / "g.parquet", tmp_path / "f", cluster, batch=20_000, symmetrise=True)
    assert run.made == 5 + 2 + 1
    assert_same(tmp_path / "f", whole)
    part = mgraph.open_dataset(tmp_path / "g.parquet")[0]
    assert [len(piece) for piece in part.pieces(7000)] == [6000] * 13 + [len(part) - 78_000]
    assert [len(piece) for piece in part.pieces(1)][:2] == [3000, 3000]
    assert part.pieces(len(part)) == [part]
    rows = [len(piece.read()) for piece in part.pieces(7000)]
    assert rows == [len(piece) for piece in part.pieces(7000)]


def test_forests_of_other_parts_are_not_gone_on_from(tmp_path, cluster, monkeypatch):
    graph, out, run_parts = tmp_path / "g", tmp_path / "f", spanning_forest.run_parts

    def interrupted(*arguments, verb, **options):
        if verb == "msf-merge":
            raise KeyboardInterrupt
        return run_parts(*arguments, verb=verb, **options)

    same = {"cluster": cluster, "progress": None, "overwrite": True}
    mgraph.generate(graph, MODEL, parts=11, **same)
    monkeypatch.setattr(spanning_forest, "run_parts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        span(graph, out, cluster, batch=10_000)
    mgraph.generate(graph, MODEL, parts=7, **same)  # the same edges
    with pytest.raises(UsageError, match=f"{out} is not of {graph}, or that was changed"):
        span(graph, out, cluster, resume=True)


def test_finished_forests_outlive_a_damaged_part(tmp_path, cluster, dataset, whole):
    graph, out = tmp_path / "g", tmp_path / "f"
    shutil.copytree(dataset, graph)
    part = graph / "part-00010.parquet"
    good, when = part.read_bytes(), part.stat()
    part.write_bytes(good[:200] + b"x" * 800 + good[1000:])
    with pytest.raises(DatasetError):
        span(graph, out, cluster, batch=1)
    kept = len(list(out.glob("*done.json")))
    assert kept
    part.write_bytes(good)
    os.utime(part, ns=(when.st_atime_ns, when.st_mtime_ns))
    run = span(graph, out, cluster, resume=True)
    assert run.kept >= kept
    assert_same(out, whole)


def test_what_must_not_be_touched_is_not(tmp_path, cluster, dataset, whole):
    out = tmp_path / "f"
    span(dataset, out, cluster)
    with pytest.raises(UsageError, match="already holds a dataset; pass `resume=True`"):
        span(dataset, out, cluster)
    other = tmp_path / "g"
    mgraph.generate(other, CopyModel(500, 2), cluster=cluster, progress=None)
    for graph, result in ((other, out), (dataset, other)):
        with pytest.raises(UsageError, match=f"{result} is not of {graph}, or that was changed"):
            span(graph, result, cluster, resume=True)
    with pytest.raises(UsageError, match=r"begun with `compression=lz4` \(got compression=zstd\)"):
        span(dataset, out, cluster, resume=True, compression="zstd")
    with pytest.raises(UsageError, match="is the graph; write its forest to another folder"):
        span(other, other, cluster, overwrite=True)
    (tmp_path / "link").symlink_to(other)
    for name in (tmp_path / "link", f"file://{other}"):
        with pytest.raises(UsageError, match="is the graph; write its forest to another folder"):
            span(name, other, cluster, overwrite=True)
    assert_same(out, whole)
    assert span(other, out, cluster, overwrite=True).manifest.num_edges == 499
    span(other, out, cluster, overwrite=True, batch=500)
    assert {path.name for path in out.iterdir()} == {"_manifest.json", "part-00000.parquet"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"batch": 0}, "batch must be a whole number of edges, at least 1 .got 0"),
        ({"batch": 1.5}, "batch must be a whole number of edges, at least 1 .got 1.5"),
        ({"compression": "zip"}, "compression must be one of"),
        ({"resume": True, "overwrite": True}, "choose one"),
    ],
)
def test_wrong_options(tmp_path, cluster, dataset, options, message):
    with pytest.raises(UsageError, match=message):
        span(dataset, tmp_path / "f", cluster, **options)
    assert not (tmp_path / "f").exists()


def test_bad_data_leaves_nothing(tmp_path, cluster):
    for name, weight in (("nan", [1.0, np.nan]), ("inf", [1.0, np.inf])):
        table = pa.table({"src": [1, 2], "dst": [0, 0], "weight": weight})
        (tmp_path / name).mkdir()
        pq.write_table(table, tmp_path / name / "a.parquet")
        with pytest.raises(UsageError, match="lists arcs; pass `symmetrise=True`"):
            span(tmp_path / name, tmp_path / "f", cluster)
        with pytest.raises(DatasetError, match=f"{name}: .*{name}|{name}: .*NaN"):
            span(tmp_path / name, tmp_path / "f", cluster, symmetrise=True)
        assert not (tmp_path / "f").exists()
    with pytest.raises(DatasetError, match="does not exist"):
        span(tmp_path / "nothing", tmp_path / "f", cluster)
    with pytest.raises(StorageError, match="is not a folder"):
        span(tmp_path / "nan", tmp_path / "nan" / "a.parquet" / "f", cluster, symmetrise=True)


def test_too_many_vertices_for_a_worker(cluster):
    with pytest.raises(UsageError, match="GiB of memory on each worker, and one has"):
        plan_batches(cluster, 1 << 36, 1 << 38)
    with pytest.raises(UsageError, match="GiB of memory on each worker, and one has"):
        plan_batches(cluster, 1 << 36, 1 << 38, 5)
    found = plan_batches(cluster, 1000, 10_000)
    assert (found.min_count, found.share(10_000)) == (2, 5000)
    assert plan_batches(cluster, 1000, 10_000, 5) == (5, 1)
