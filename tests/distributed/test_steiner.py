"""Many queries over a cluster: the trees of one query each, resumed or not, in any batches."""

import dataclasses
import json

import numpy as np
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import CopyModel, EdgeList, UsageError
from mgraph.distributed.operations.steiner_tasks import TABLE

MODEL = CopyModel(3000, 3, weights=(0, 20))
QUERIES = [[5, 9], [0, 2999, 7, 7], [11], [1, 2, 3, 4, 5, 6], [2000, 1000]]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory, cluster):
    out = tmp_path_factory.mktemp("steiner") / "g"
    mgraph.generate(out, MODEL, cluster=cluster, parts=3, progress=None)
    return out


def solve(dataset, cluster, queries=QUERIES, out=None, **options):
    return mgraph.steiner_many(dataset, queries, out, cluster=cluster, progress=None, **options)


def rows_of(out):
    return pq.read_table([str(file) for file in sorted(out.glob("part-*.parquet"))]).to_pandas()


@pytest.mark.parametrize("batch", [1, 2, None])
def test_rows_are_those_of_each_query(tmp_path, cluster, dataset, batch):
    run = solve(dataset, cluster, out=tmp_path / "r", batch=batch, bound=True)
    graph = mgraph.read_graph(dataset, backend="cpu")
    rows = rows_of(tmp_path / "r")
    assert list(rows) == ["query", "src", "dst", "weight"]
    table = pq.read_table(tmp_path / "r" / TABLE).to_pylist()
    assert (
        [answer.query for answer in run.answers] == [row["query"] for row in table] == [*range(5)]
    )
    for query, answer, row in zip(QUERIES, run.answers, table, strict=True):
        expected = mgraph.steiner_tree(graph, query, backend="cpu", bound=True)
        found = rows[rows["query"] == answer.query]
        for name in ("src", "dst", "weight"):
            np.testing.assert_array_equal(found[name], getattr(expected, name))
        for name in ("cost", "initial_cost", "lower_bound", "searches", "accepted", "gap"):
            assert getattr(answer, name) == row[name] == getattr(expected, name)
        assert row["terminals"] == sorted(set(query))
        assert row["error"] is None
    manifest = json.loads((tmp_path / "r" / "_manifest.json").read_text())
    assert manifest["checksum"] == f"{run.checksum:016x}"
    whole = pq.read_table(tmp_path / "r")  # the table beside the parts is none of them
    assert whole.num_rows == len(rows) == sum(answer.edges for answer in run.answers)


def test_rows_do_not_depend_on_batches(tmp_path, cluster, dataset):
    checksums = {
        solve(dataset, cluster, out=tmp_path / str(batch), batch=batch).checksum
        for batch in (1, 3, 5)
    }
    assert len(checksums) == 1
    assert 0 not in checksums


def figures(run):
    return [dataclasses.replace(answer, seconds={}) for answer in run.answers]


def test_resume_answers_only_what_is_missing(tmp_path, cluster, dataset):
    out = tmp_path / "r"
    whole = solve(dataset, cluster, out=out, batch=1)
    table = (out / TABLE).read_bytes()
    for name in ("_manifest.json", TABLE, "part-00001.parquet"):
        (out / name).unlink()
    cut = out / "part-00002.parquet"
    cut.write_bytes(cut.read_bytes()[:100])
    again = solve(dataset, cluster, out=out, resume=True)
    assert (again.made_parts, again.kept_parts) == (2, 3)
    assert again.checksum == whole.checksum
    assert figures(again) == figures(whole)
    assert len((out / TABLE).read_bytes()) == pytest.approx(len(table), rel=0.1)
    with pytest.raises(UsageError, match="parts of another dataset"):
        solve(dataset, cluster, queries=[[1, 2]], out=out, resume=True)
    with pytest.raises(UsageError, match="parts of another dataset"):
        solve(dataset, cluster, out=out, epsilon=0.5, resume=True)
    with pytest.raises(UsageError, match="`overwrite=True`"):
        solve(dataset, cluster, out=out)
    replaced = solve(dataset, cluster, queries=[[1, 2]], out=out, overwrite=True)
    assert replaced.made_parts == 1
    assert set(rows_of(out)["query"]) == {0}


def test_a_query_without_a_tree_is_told_and_the_others_go_on(tmp_path, cluster):
    graph = mgraph.from_edges(
        EdgeList(np.array([0, 1, 3]), np.array([1, 2, 4])), 6, directed=False, backend="cpu"
    )
    mgraph.write_graph(graph, tmp_path / "g")
    run = solve(tmp_path / "g", cluster, [[0, 2], [2, 3], [5], [3, 4]], tmp_path / "r", batch=2)
    assert [answer.cost for answer in run.answers] == [2, None, 0, 1]
    assert "terminals 2 and 3 lie in different components" in run.answers[1].error
    table = pq.read_table(tmp_path / "r" / TABLE).to_pylist()
    assert [row["error"] is None for row in table] == [True, False, True, True]
    assert set(rows_of(tmp_path / "r")["query"]) == {0, 3}


def test_samples_are_drawn_by_seed_where_a_tree_can_be(tmp_path, cluster):
    graph = mgraph.from_edges(
        EdgeList(np.array([0, 1, 3]), np.array([1, 2, 4])), 9, directed=False, backend="cpu"
    )
    mgraph.write_graph(graph, tmp_path / "g")

    def drawn(sample, seed=1):
        run = solve(tmp_path / "g", cluster, None, tmp_path / "r", sample=sample, seed=seed,
                    overwrite=True)  # fmt: skip
        assert all(answer.error is None for answer in run.answers)
        return [row["terminals"] for row in pq.read_table(tmp_path / "r" / TABLE).to_pylist()]

    one = drawn([(2, 40), (3, 2), (1, 30)])
    assert one == drawn([(2, 40), (3, 2), (1, 30)]) != drawn([(2, 40), (3, 2), (1, 30)], seed=2)
    assert {tuple(some) for some in one[:40]} == {(0, 1), (0, 2), (1, 2), (3, 4)}
    assert one[40:42] == [[0, 1, 2]] * 2
    assert len({*map(tuple, one[42:])}) > 5
    assert drawn([(2, 40)]) == one[:40]  # whatever else is drawn
    with pytest.raises(UsageError, match="4 terminals were asked for, and the largest component"):
        drawn([(4, 1)])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"queries": [[0], [3000]]}, r"query 1: terminals must lie in \[0, 3,000\)"),
        ({"queries": [[0], []]}, "query 1 has no terminal"),
        ({"queries": []}, "there must be at least one query"),
        ({"queries": None}, "either queries or sample"),
        ({"sample": [(2, 3)]}, "either queries or sample"),
        ({"queries": None, "sample": [(0, 3)]}, "a sample must be K:COUNT with K of at least 1"),
        ({"method": "magic"}, "method must be one of"),
        ({"search": "node"}, "search node needs a GPU"),
        ({"batch": 0}, "batch must be at least 1"),
        ({"seed": -1}, "seed must lie in"),
        ({"epsilon": -1}, "epsilon must be a finite number"),
    ],
)
def test_bad_questions_leave_no_rows(tmp_path, cluster, dataset, options, words):
    with pytest.raises(UsageError, match=words):
        solve(dataset, cluster, out=tmp_path / "r", **options)
    assert not list(tmp_path.glob("r/*"))


def test_graphs_that_have_no_trees(tmp_path, cluster):
    (tmp_path / "g.gr").write_text("p sp 3 2\na 1 2 7\na 3 2 1\n")
    with pytest.raises(UsageError, match="need an undirected graph"):
        solve(tmp_path / "g.gr", cluster, [[0, 1]], tmp_path / "r")
    assert solve(tmp_path / "g.gr", cluster, [[0, 2]], symmetrise=True).answers[0].cost == 8
    assert not (tmp_path / "r").exists()


GROUPS = [[[5, 9], [7]], [[0, 1, 2], [2999, 7, 7], [11]], [[4]], [3, [8, 9], 20]]


@pytest.mark.parametrize("batch", [1, None])
def test_groups_are_answered_as_one_at_a_time(tmp_path, cluster, dataset, batch):
    run = solve(dataset, cluster, GROUPS, tmp_path / "r", batch=batch)
    graph = mgraph.read_graph(dataset, backend="cpu")
    rows = rows_of(tmp_path / "r")
    table = pq.read_table(tmp_path / "r" / TABLE).to_pylist()
    for i, (query, answer, row) in enumerate(zip(GROUPS, run.answers, table, strict=True)):
        groups = [np.unique(group).tolist() for group in query]
        expected = mgraph.group_steiner_tree(graph, groups, backend="cpu")
        found = rows[rows["query"] == i]
        np.testing.assert_array_equal(found["src"], expected.src)
        assert answer.cost == row["cost"] == expected.cost
        assert row["groups"] == groups
        assert row["terminals"] == answer.chosen == expected.terminals.tolist()
        assert answer.terminals == row["k"] == len(query)


def test_groups_resume(tmp_path, cluster, dataset):
    first = solve(dataset, cluster, GROUPS, tmp_path / "r", batch=2)
    (tmp_path / "r" / "part-00001.parquet").unlink()
    again = solve(dataset, cluster, GROUPS, tmp_path / "r", batch=2, resume=True)
    assert (again.made_parts, again.kept_parts) == (1, 1)
    assert again.answers[0].cost == first.answers[0].cost
    assert again.checksum == first.checksum


def test_groups_are_drawn(cluster, dataset):
    how = {"sample": [(2, 3), (4, 2)], "group_size": 30}
    first, again, other = (solve(dataset, cluster, None, seed=seed, **how) for seed in (1, 1, 2))
    costs = [[answer.cost for answer in run.answers] for run in (first, again, other)]
    assert [answer.terminals for answer in first.answers] == [2, 2, 2, 4, 4]
    assert costs[0] == costs[1] != costs[2]


def test_groups_refuse_what_they_lack(cluster, dataset):
    for options, words in (
        ({"method": "star"}, "method does not apply to groups"),
        ({"bound": True}, "bound does not apply to groups"),
        ({"group_size": 3}, "group_size needs sample"),
    ):
        with pytest.raises(UsageError, match=words):
            solve(dataset, cluster, GROUPS, **options)
    with pytest.raises(UsageError, match=r"query 1: group 0 has no vertex"):
        solve(dataset, cluster, [[1, 2], [[], 3]])
