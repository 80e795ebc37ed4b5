"""Many sources over a cluster: the rows of one search each, resumed or not, in any batches."""

import json
import threading
from types import SimpleNamespace

import numpy as np
import pyarrow.parquet as pq
import pytest
from distributed import LocalCluster

import mgraph
from mgraph import CopyModel, DatasetError, EdgeList, UsageError
from mgraph.core import gauges
from mgraph.core.edge_list_cpu import checksum
from mgraph.distributed.operations import sssp_tasks
from mgraph.distributed.operations.graph_operation import BatchPlan, GraphFacts

MODEL = CopyModel(3000, 3, weights=(0, 20))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory, cluster):
    out = tmp_path_factory.mktemp("sssp") / "g"
    mgraph.generate(out, MODEL, cluster=cluster, parts=3, progress=None)
    return out


@pytest.fixture(scope="module")
def graph(dataset):
    return mgraph.read_graph(dataset, backend="cpu")


def search(dataset, cluster, sources=(5, 0, 2999, 7), out=None, **options):
    return mgraph.sssp_many(dataset, sources, out, cluster=cluster, progress=None, **options)


def figures(run):
    return [(one.source, one.reached, one.max_distance) for one in run.searches]


def rows_of(out):
    return pq.read_table([str(file) for file in sorted(out.glob("part-*.parquet"))]).to_pandas()


@pytest.mark.parametrize("batch", [1, 3, None])
def test_rows_are_those_of_each_search(tmp_path, cluster, dataset, graph, batch):
    run = search(dataset, cluster, out=tmp_path / "r", batch=batch)
    rows = rows_of(tmp_path / "r")
    assert list(rows) == ["source", "vertex", "distance", "predecessor"]
    assert set(rows["source"]) == {5, 0, 2999, 7}
    for source, found in rows.groupby("source"):
        expected = mgraph.sssp(graph, source, backend="cpu", predecessors=True)
        np.testing.assert_array_equal(found["vertex"], np.flatnonzero(expected.reached))
        np.testing.assert_array_equal(found["distance"], expected.distance[expected.reached])
        np.testing.assert_array_equal(found["predecessor"], expected.predecessor[expected.reached])
    columns = [rows[name].to_numpy() for name in ("source", "vertex", "distance")]
    assert run.checksum == checksum(EdgeList(*columns))
    assert [s.source for s in run.searches] == [5, 0, 2999, 7]
    assert all(s.reached == 3000 for s in run.searches)
    manifest = json.loads((tmp_path / "r" / "_manifest.json").read_text())
    assert manifest["checksum"] == f"{run.checksum:016x}"


@pytest.mark.parametrize(("backend", "at_once"), [("cpu", 1), ("gpu", 3)])
def test_searches_are_counted_as_they_are_made(graph, monkeypatch, backend, at_once):
    """On cores one by one, on a GPU, for which cores stand in here, all of a batch together."""
    asked, searched_here = [], mgraph.sssp

    def search(graph, sources, *, backend, **options):
        asked.append(len(sources))
        return searched_here(graph, sources, backend="cpu", **options)

    monkeypatch.setattr("mgraph.shortest_paths.sssp.sssp", search)
    options = {"method": "auto", "predecessors": False, "power_limit": None}
    facts = GraphFacts(graph.n, graph.num_arcs, "int32")
    plan = BatchPlan({}, None, "lz4", backend, options, facts, "holder")
    holder = SimpleNamespace(graph=lambda: graph, memory={})
    before = gauges.read()["queries"]
    answers = sssp_tasks._search_all(holder, [5, 0, 7], plan)
    assert next(answers)[0].source == 5
    assert gauges.read()["queries"] == before + at_once
    assert [searched.source for searched, _ in answers] == [0, 7]
    assert gauges.read()["queries"] == before + 3
    assert asked == [at_once] * (3 // at_once)


def test_results_do_not_depend_on_batches_and_methods(tmp_path, cluster, dataset):
    checksums = {
        search(dataset, cluster, out=tmp_path / f"{i}", **options).checksum
        for i, options in enumerate(
            ({"batch": 1}, {"batch": 4}, {"method": "self_tuning"}, {"delta": 5.0})
        )
    }
    assert len(checksums) == 1


def test_cutoff_and_distances_alone(tmp_path, cluster, dataset, graph):
    run = search(dataset, cluster, out=tmp_path / "r", cutoff=6, predecessors=False)
    rows = rows_of(tmp_path / "r")
    assert list(rows) == ["source", "vertex", "distance"]
    assert rows["distance"].max() <= 6
    assert len(rows) == sum(s.reached for s in run.searches) < 12000


def test_resume_searches_only_what_is_missing(tmp_path, cluster, dataset):
    out = tmp_path / "r"
    whole = search(dataset, cluster, out=out, batch=1)
    (out / "_manifest.json").unlink()
    (out / "part-00001.parquet").unlink()
    cut = out / "part-00002.parquet"
    cut.write_bytes(cut.read_bytes()[:100])
    before = (out / "part-00000.parquet").stat().st_mtime_ns
    again = search(dataset, cluster, out=out, resume=True)
    assert (again.made_parts, again.kept_parts) == (2, 2)
    assert again.checksum == whole.checksum
    assert figures(again) == figures(whole)
    assert (out / "part-00000.parquet").stat().st_mtime_ns == before
    with pytest.raises(UsageError, match="parts of another dataset"):
        search(dataset, cluster, sources=(5, 0, 2999, 8), out=out, resume=True)
    with pytest.raises(UsageError, match="`overwrite=True`"):
        search(dataset, cluster, out=out)
    replaced = search(dataset, cluster, sources=(1,), out=out, overwrite=True)
    assert set(rows_of(out)["source"]) == {1}
    assert replaced.made_parts == 1


def test_resume_notices_a_graph_that_changed(tmp_path, cluster):
    file, out = tmp_path / "g.gr", tmp_path / "r"
    for weight in (3, 30):
        file.write_text(f"p sp 2 1\na 1 2 {weight}\n")
        if weight == 3:
            search(file, cluster, sources=[0], out=out)
            assert search(file, cluster, sources=[0], out=out, resume=True).kept_parts == 1
    with pytest.raises(UsageError, match="was changed, touched or moved"):
        search(file, cluster, sources=[0], out=out, resume=True)


def test_random_sources_are_drawn_by_seed(cluster, dataset):
    runs = [
        mgraph.sssp_many(dataset, random=5, seed=seed, cluster=cluster, progress=None)
        for seed in (1, 1, 2)
    ]
    one, same, other = ([s.source for s in run.searches] for run in runs)
    assert one == same != other
    assert len(set(one)) == 5
    assert runs[0].location is None
    with pytest.raises(UsageError, match="random must be at most 3,000"):
        mgraph.sssp_many(dataset, random=3001, cluster=cluster, progress=None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sources": [3000]}, r"sources must lie in \[0, 3,000\)"),
        ({"sources": []}, "at least one source"),
        ({"sources": None}, "exactly one of sources and random"),
        ({"method": "magic"}, "method must be one of"),
        ({"cutoff": -1}, "cutoff must be at least 0"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"delta": 0}, "delta must be positive"),
        ({"set_point": 5, "power_limit": 300}, "give power_limit or set_point"),
        ({"power_limit": -1}, "more than 0 watts"),
        ({"power_limit": 300}, "needs a GPU"),
    ],
)
def test_bad_questions_leave_no_rows(tmp_path, cluster, dataset, options, words):
    with pytest.raises(UsageError, match=words):
        search(dataset, cluster, out=tmp_path / "r", **options)
    assert not list(tmp_path.glob("r/*"))


def test_questions_a_cpu_cannot_answer_replace_nothing(tmp_path, cluster, dataset):
    search(dataset, cluster, sources=[0], out=tmp_path / "r")
    before = sorted(path.name for path in (tmp_path / "r").iterdir())
    with pytest.raises(UsageError, match="needs a GPU"):
        search(dataset, cluster, sources=[0], out=tmp_path / "r", power_limit=300, overwrite=True)
    assert sorted(path.name for path in (tmp_path / "r").iterdir()) == before


def test_graphs_that_cannot_be_searched(tmp_path, cluster):
    graph = mgraph.from_edges(EdgeList([0], [1], np.array([-2])), backend="cpu")
    mgraph.write_graph(graph, tmp_path / "g.mtx")
    with pytest.raises(UsageError, match="weights must be at least 0"):
        search(tmp_path / "g.mtx", cluster, sources=[0], out=tmp_path / "r")
    with pytest.raises(DatasetError, match="does not exist"):
        search(tmp_path / "none", cluster, sources=[0], out=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_files_and_symmetry(tmp_path, cluster):
    (tmp_path / "g.gr").write_text("p sp 3 2\na 1 2 7\na 3 2 1\n")
    arcs = search(tmp_path / "g.gr", cluster, sources=[0])
    both = search(tmp_path / "g.gr", cluster, sources=[0], symmetrise=True)
    assert (arcs.searches[0].reached, arcs.searches[0].max_distance) == (2, 7)
    assert (both.searches[0].reached, both.searches[0].max_distance) == (3, 8)


def test_threads_of_a_cpu_worker_search_at_the_same_time(dataset, monkeypatch):
    met, sssp = threading.Barrier(2), mgraph.sssp

    def meet(*arguments, **options):
        met.wait(60)
        return sssp(*arguments, **options)

    monkeypatch.setattr("mgraph.shortest_paths.sssp.sssp", meet)
    here = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
    with here, mgraph.connect(scheduler=here.scheduler_address, backend="cpu") as cluster:
        run = mgraph.sssp_many(dataset, [0, 5], batch=1, cluster=cluster, progress=None)
    assert [search.source for search in run.searches] == [0, 5]
