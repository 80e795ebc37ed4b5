"""The degree distribution against a plain count, in one slice and in many."""

import collections
import json
import math
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import CopyModel, UsageError
from mgraph.distributed.operations import degrees as counting
from tests import oracles

MODEL = CopyModel(30_000, 4)


@pytest.fixture(scope="module")
def dataset(tmp_path_factory, cluster):
    out = tmp_path_factory.mktemp("degrees") / "g"
    mgraph.generate(out, MODEL, cluster=cluster, parts=5, progress=None)
    return out


@pytest.mark.parametrize("share", [8, 1 << 21])
def test_it_is_the_plain_count(dataset, cluster, monkeypatch, share):
    monkeypatch.setattr(counting, "COUNTER_SHARE", share)
    slices = counting.plan_jobs(mgraph.open_dataset(dataset), cluster)
    assert (len(slices) > 1) == (share > 8)
    found = mgraph.degrees(dataset, cluster=cluster, progress=None)
    (src, dst), _ = MODEL.edges(backend="cpu")
    degree, count = np.unique(oracles.degrees_of(src, dst, MODEL.n), return_counts=True)
    np.testing.assert_array_equal(found.degree, degree)
    np.testing.assert_array_equal(found.count, count)
    assert (found.degree * found.count).sum() == 2 * MODEL.num_edges
    assert abs(found.power_law.exponent - 3) < 0.2
    assert found.to_json()["max"] == degree[-1]


def test_all_its_tasks_are_named(dataset, cluster):
    def prefixes(dask_scheduler):
        return set(dask_scheduler.task_prefixes)

    mgraph.degrees(dataset, cluster=cluster, progress=None)
    found = cluster.client.run_on_scheduler(prefixes)
    assert "mgraph-degrees" in found
    assert not {"add", "count_group", "summarize_slice"} & found


@settings(deadline=None, max_examples=25)  # fmt: skip
@given(st.data())
def test_vertices_that_are_many_more_than_the_edges(cluster, tmp_path, data):
    n = data.draw(st.sampled_from([50, 2**31, 2**35 + 1]))
    ids = st.integers(0, 5) | st.integers(n - 6, n - 1) | st.integers(0, n - 1)
    edges = data.draw(st.lists(st.tuples(ids, ids), min_size=1, max_size=12))
    parts = data.draw(st.integers(1, 4))
    folder = tmp_path / "few"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for i in range(parts):
        src, dst = (np.array([e[side] for e in edges[i::parts]], np.int64) for side in (0, 1))
        pq.write_table(pa.table({"src": src, "dst": dst}), folder / f"{i}.parquet")
    found = mgraph.degrees(folder, cluster=cluster, progress=None)
    ends = collections.Counter(end for edge in edges for end in edge)
    expected = collections.Counter(ends.values())
    if found.n > len(ends):
        expected[0] = found.n - len(ends)
    assert dict(zip(found.degree.tolist(), found.count.tolist(), strict=True)) == expected
    assert list(found.degree) == sorted(expected)
    assert found.n == max(ends) + 1


@pytest.mark.parametrize("few", [False, True])
def test_both_plans_count_alike_and_find_foreign_ids(dataset, cluster, monkeypatch, tmp_path, few):
    monkeypatch.setattr(counting, "has_few_edges", lambda *arguments: few)
    monkeypatch.setattr(counting, "COUNTER_SHARE", 8 if few else 1 << 21)
    found = mgraph.degrees(dataset, cluster=cluster, progress=None)
    monkeypatch.undo()
    whole = mgraph.degrees(dataset, cluster=cluster, progress=None)
    np.testing.assert_array_equal(found.degree, whole.degree)
    np.testing.assert_array_equal(found.count, whole.count)
    monkeypatch.setattr(counting, "has_few_edges", lambda *arguments: few)
    other = tmp_path / "g"
    shutil.copytree(dataset, other)
    manifest = json.loads((other / "_manifest.json").read_text())
    manifest["n"] -= 1  # so that the last vertex is foreign
    manifest["parts"][-1]["stop"] -= 1
    (other / "_manifest.json").write_text(json.dumps(manifest))
    with pytest.raises(mgraph.DatasetError, match="its parts hold"):
        mgraph.degrees(other, cluster=cluster, progress=None)


def test_a_graph_without_vertices(tmp_path, cluster):
    (tmp_path / "g").mkdir()
    pq.write_table(pa.table({"src": pa.array([], "int32"), "dst": pa.array([], "int32")}),
                   tmp_path / "g" / "a.parquet")  # fmt: skip
    found = mgraph.degrees(tmp_path / "g", cluster=cluster, progress=None)
    assert (found.n, found.num_edges, found.degree.size, found.power_law) == (0, 0, 0, None)
    as_json = found.to_json()
    assert as_json["min"] is as_json["max"] is as_json["mean"] is None


def test_a_star_has_no_tail_to_fit(tmp_path, cluster):
    mgraph.generate(tmp_path / "g", CopyModel(500, 1, 0.0), cluster=cluster, progress=None)
    found = mgraph.degrees(tmp_path / "g", cluster=cluster, progress=None)
    assert found.degree.tolist() == [1, 499]
    assert found.power_law is None
    assert found.to_json()["power_law"] is None


def test_the_plot_is_an_image(dataset, cluster, tmp_path):
    found = mgraph.degrees(dataset, cluster=cluster, progress=None)
    found.plot(tmp_path / "d.png")
    assert (tmp_path / "d.png").read_bytes().startswith(b"\x89PNG")
    with pytest.raises(UsageError, match="a plot's file name must end in"):
        found.plot(tmp_path / "d.words")


def test_views_agree(dataset):
    opened = mgraph.open_dataset(dataset)
    src = np.concatenate([part.read().src for part in opened])
    assert len(opened[1:3]) == 2
    assert sum(map(len, opened)) == opened.num_edges == MODEL.num_edges
    np.testing.assert_array_equal(opened.to_arrow().to_table()["src"].to_numpy(), src)
    frame = opened.to_dask()
    assert frame.npartitions == 5
    np.testing.assert_array_equal(frame.compute(scheduler="sync")["src"], src)


@pytest.mark.parametrize(("p", "expected"), [(0.5, 3.0), (0.25, 1 + 1 / 0.75), (0.0, 2.0)])
def test_the_models_exponent_stands_beside_the_measured_one(tmp_path, cluster, p, expected):
    mgraph.generate(tmp_path / "g", CopyModel(3000, 2, p), cluster=cluster, progress=None)
    found = mgraph.degrees(tmp_path / "g", cluster=cluster, progress=None)
    assert found.predicted == pytest.approx(expected)
    assert found.to_json()["predicted_exponent"] == pytest.approx(expected)


def test_uniform_attachment_has_no_exponent(tmp_path, cluster):
    mgraph.generate(tmp_path / "g", CopyModel(3000, 2, 1.0), cluster=cluster, progress=None)
    found = mgraph.degrees(tmp_path / "g", cluster=cluster, progress=None)
    assert found.predicted == math.inf
    assert found.to_json()["predicted_exponent"] is None
