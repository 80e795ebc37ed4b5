"""``sssp_many`` on a graph that is spread over the workers: the rows of one worker's graph."""

import json
import warnings

import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import CopyModel, EdgeList, MgraphWarning, UsageError
from mgraph.cli.main import main
from mgraph.distributed.operations import partitioned_sssp, partitioned_tasks
from mgraph.io import graph_memory

MODEL = CopyModel(2500, 3, weights=(0, 20))
SOURCES = [5, 0, 2499, 7]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    out = tmp_path_factory.mktemp("sssp") / "g"
    mgraph.generate(out, MODEL, backend="cpu", parts=3)
    return out


def search(dataset, cluster, sources=SOURCES, out=None, partition="always", **options):
    return mgraph.sssp_many(
        dataset, sources, out, cluster=cluster, partition=partition, progress=None, **options
    )


def rows_of(out):
    return pq.read_table([str(file) for file in sorted(out.glob("part-*.parquet"))]).to_pandas()


def figures(run):
    return [(one.source, one.reached, one.max_distance) for one in run.searches]


@pytest.mark.parametrize("options", [{}, {"predecessors": False}, {"cutoff": 12}])
def test_rows_and_checksum_are_those_of_one_workers_graph(tmp_path, cluster, dataset, options):
    expected = search(dataset, cluster, out=tmp_path / "one", partition="never", **options)
    run = search(dataset, cluster, out=tmp_path / "all", **options)
    assert figures(run) == figures(expected)
    assert run.checksum == expected.checksum
    assert run.facts[:3] == expected.facts[:3]
    assert run.made_parts == 2 * len(SOURCES)
    assert rows_of(tmp_path / "all").equals(rows_of(tmp_path / "one"))
    manifest = json.loads((tmp_path / "all" / "_manifest.json").read_text())
    assert manifest["checksum"] == f"{run.checksum:016x}"
    assert sum(part["rows"] for part in manifest["parts"]) == sum(s.reached for s in run.searches)


def test_random_sources_are_the_same(cluster, dataset):
    runs = [
        search(dataset, cluster, None, partition=partition, random=9, seed=4)
        for partition in ("always", "never")
    ]
    assert figures(runs[0]) == figures(runs[1])


def test_a_graph_that_does_not_fit_a_worker_is_spread_aloud(cluster, dataset, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search(dataset, cluster, partition="auto")
    monkeypatch.setattr(graph_memory, "bytes_of_graph", lambda *_, directed: 1 << 60)
    with pytest.warns(MgraphWarning, match=r"takes some .* GiB.* are spread over 2 workers"):
        run = search(dataset, cluster, partition="auto")
    assert run.made_parts == 2 * len(SOURCES)
    # What needs a graph on one device is tried there.
    assert search(dataset, cluster, partition="auto", method="dijkstra").made_parts < 8


def test_more_vertices_than_one_device_searches(cluster, dataset, monkeypatch):
    monkeypatch.setattr(graph_memory, "MAX_HELD_N", 2499)
    with pytest.warns(MgraphWarning, match="2,500 vertices is more than one device searches"):
        run = search(dataset, cluster, partition="auto")
    assert run.made_parts == 2 * len(SOURCES)
    with pytest.raises(UsageError, match="one worker cannot hold it; leave out method to spread"):
        search(dataset, cluster, partition="auto", method="dijkstra")


def test_finished_sources_are_kept(tmp_path, cluster, dataset, monkeypatch):
    out = tmp_path / "r"
    expected = search(dataset, cluster, out=out)
    gone = sorted(out.glob("part-*.parquet"))[5]  # of the third source
    gone.unlink()
    programs = []
    run = partitioned_sssp.PartitionedGraph.run

    def noted(self, program, *arguments, **options):
        programs.append(program)
        return run(self, program, *arguments, **options)

    monkeypatch.setattr(partitioned_sssp.PartitionedGraph, "run", noted)
    again = search(dataset, cluster, out=out, resume=True)
    assert programs.count(partitioned_tasks.search_rank) == 1
    assert figures(again) == figures(expected)
    assert again.checksum == expected.checksum
    assert (again.made_parts, again.kept_parts) == (2, 6)


@pytest.mark.parametrize("first", ["always", "never"])
def test_parts_of_the_other_kind_are_not_kept(tmp_path, cluster, dataset, first):
    """A part of a graph over all workers has some of a search's rows, whatever else is equal."""
    second = {"always": "never", "never": "always"}[first]
    out = tmp_path / "r"
    search(dataset, cluster, out=out, partition=first, batch=1)
    with pytest.raises(UsageError, match="workers is"):
        search(dataset, cluster, out=out, partition=second, batch=1, resume=True)


def test_own_ids(tmp_path, cluster):
    table = tmp_path / "edges.csv"
    table.write_text("src,dst,weight\nA,B,2\nB,C,3\nD,C,1\n")
    mgraph.convert(table, tmp_path / "g", text_ids=True)
    for partition in ("always", "never"):
        run = search(
            tmp_path / "g", cluster, ["A"], tmp_path / partition, partition, ids="original",
            symmetrise=True,
        )  # fmt: skip
        assert run.searches[0].reached == 4
    assert rows_of(tmp_path / "always").equals(rows_of(tmp_path / "never"))
    assert list(rows_of(tmp_path / "always")["vertex"]) == ["A", "B", "C", "D"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "dijkstra"}, "method does not apply"),
        ({"set_point": 5.0}, "set_point does not apply"),
        ({"reading": {"merge": True}}, "merge does not apply"),
        ({"partition": "sometimes"}, "partition must be one of"),
        ({"sources": [2500]}, "sources must lie in"),
    ],
)
def test_what_does_not_apply_is_refused(cluster, dataset, options, message):
    with pytest.raises(UsageError, match=message):
        search(dataset, cluster, **options)


def test_a_file_is_no_dataset(tmp_path, cluster):
    file = tmp_path / "g.json"
    mgraph.write_graph(mgraph.from_edges(EdgeList([0], [1]), 2, directed=False), file)
    with pytest.raises(mgraph.MgraphError):
        search(file, cluster, [0])


def test_on_the_command_line(tmp_path, dataset, capsys):
    arguments = ["sssp", str(dataset), "--sources", str(tmp_path / "s"), "--partition", "always"]
    (tmp_path / "s").write_text("5 0")
    where = ["--workers", "2", "--backend", "cpu", "--dashboard", "127.0.0.1:0", "--quiet"]
    assert main([*arguments, *where]) == 0
    assert "2 sources, 5,000 vertices reached" in capsys.readouterr().out
