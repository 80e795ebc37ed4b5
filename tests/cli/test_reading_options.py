"""Every command that takes a graph takes the names of its columns, and leaves closed arcs out."""

import networkx
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import UsageError
from mgraph.cli.main import main

INFINITE = float("inf")
NAMES = ["--src", "a", "--dst", "b", "--weight", "cost", "--drop-infinite"]
LOCAL = ["-q", "--workers", "1", "--dashboard", "127.0.0.1:0", "--backend", "cpu"]
READING = {"src": "a", "dst": "b", "weight": "cost", "drop_infinite": True}


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """The same arcs, one of them closed, in the forms that have names of columns."""
    folder = tmp_path_factory.mktemp("tables")
    table = pa.table(
        {"b": [1, 2, 0, 3], "cost": [1.5, INFINITE, 2.0, 4.0], "a": [0, 1, 2, 2], "x": [1, 2, 3, 4]}
    )
    pq.write_table(table, folder / "p.parquet")
    (folder / "f").mkdir()
    pq.write_table(table.slice(0, 2), folder / "f" / "1.parquet")
    pq.write_table(table.slice(2), folder / "f" / "2.parquet")
    lines = [",".join(map(str, row.values())) for row in table.to_pylist()]
    (folder / "t.csv").write_text("b,cost,a,x\n" + "\n".join(lines) + "\n")
    (folder / "c").mkdir()
    (folder / "c" / "t.csv").write_text((folder / "t.csv").read_text())
    return folder


FORMS = ["p.parquet", "f", "t.csv", "c", "c/*.csv"]


@pytest.mark.parametrize("form", FORMS)
def test_in_process(form, tables, capsys):
    graph = str(tables / form)
    assert main(["sssp", graph, "--source", "2", "--target", "1", *NAMES, "-q"]) == 0
    out, err = capsys.readouterr()
    assert "target 1: at 3.5" in out
    assert "column x not read" in err
    arguments = ["steiner", graph, "--terminals", "0,3", "--symmetrise", *NAMES, "-q"]
    assert main(arguments) == 0
    assert "cost 6," in capsys.readouterr().out
    assert main(["msf", graph, "--symmetrise", *NAMES, "-q"]) == 0
    assert "total weight 7.5" in capsys.readouterr().out
    assert main(["single-linkage", graph, "-k", "2", "--symmetrise", *NAMES, "-q"]) == 0
    assert "2 clusters of 4 vertices" in capsys.readouterr().out
    assert main(["info", graph, *NAMES]) == 0
    assert "1.5 to 4" in capsys.readouterr().out


@pytest.mark.parametrize("form", FORMS)
def test_over_a_cluster(form, tables, tmp_path, capsys):
    graph, out = str(tables / form), str(tmp_path / "out")
    with mgraph.connect(backend="cpu", dashboard="127.0.0.1:0", in_process=True) as cluster:
        run = mgraph.sssp_many(graph, [2], out, cluster=cluster, reading=READING)
        assert run.searches[0].reached == 4
        lengths = pq.read_table(f"{out}/part-00000.parquet").to_pydict()
        assert dict(zip(lengths["vertex"], lengths["distance"], strict=True)) == {
            2: 0.0, 0: 2.0, 3: 4.0, 1: 3.5
        }  # fmt: skip
        with pytest.raises(UsageError, match="another dataset"):
            mgraph.sssp_many(
                graph, [2], out, cluster=cluster, resume=True,
                reading=READING | {"weight": "x"},
            )  # fmt: skip
        answers = mgraph.steiner_many(
            graph, [[0, 3]], cluster=cluster, symmetrise=True, reading=READING
        ).answers
        assert answers[0].cost == 6.0


@pytest.mark.parametrize("form", ["p.parquet", "f"])
def test_the_forest_of_a_dataset(form, tables, tmp_path, capsys):
    graph, out = str(tables / form), str(tmp_path / "out")
    arguments = ["msf", graph, "--out", out, "--symmetrise", *NAMES, *LOCAL]
    assert main(arguments) == 0
    assert "total weight 7.5" in capsys.readouterr().out
    assert main([*arguments, "--resume"]) == 0
    assert "0 forests made, 1 kept" in capsys.readouterr().out
    without = [word for word in arguments if word != "--drop-infinite"]
    assert main([*without, "--resume"]) == 2
    assert "is not of" in capsys.readouterr().err
    assert main([*arguments, "--text-ids", "--overwrite"]) == 2
    assert "does not apply to the forest of a dataset" in capsys.readouterr().err


@pytest.mark.parametrize("ending", ["graphml", "gexf"])
def test_a_weight_by_the_name_of_an_attribute(ending, tmp_path, capsys):
    graph = networkx.path_graph(3)
    networkx.set_edge_attributes(graph, 2.5, "length")
    file = tmp_path / f"a.{ending}"
    {"graphml": networkx.write_graphml, "gexf": networkx.write_gexf}[ending](graph, file)
    assert main(["sssp", str(file), "--source", "0", "--weight", "length", "-q"]) == 0
    assert "the farthest at 5;" in capsys.readouterr().out
    assert main(["msf", str(file), "--weight", "long"]) == 2
    assert "no edge has an attribute 'long'" in capsys.readouterr().err


def test_text_without_a_header(tmp_path, capsys):
    (tmp_path / "a.txt").write_text("7|0|1\n9|1|2\n")
    options = ["--columns", "weight,src,dst", "--delimiter", "|", "-q"]
    assert main(["sssp", str(tmp_path / "a.txt"), "--source", "0", *options]) == 0
    assert "the farthest at 16" in capsys.readouterr().out


def test_names_that_do_not_apply(tables, tmp_path, capsys):
    dataset = str(tmp_path / "d")
    mgraph.write_graph(mgraph.from_edges(mgraph.EdgeList([0], [1]), backend="cpu"), dataset)
    for command in (["sssp", "--source", "0"], ["info"], ["msf", "--symmetrise"]):
        name, *more = command
        assert main([name, dataset, *more, "--weight", "x"]) == 2
        assert "is a dataset of mgraph" in capsys.readouterr().err
    for reading, words in (
        ({"wieght": "x"}, "did you mean 'weight'"),
        ({"symmetrise": True}, "reading must have names among"),
    ):
        with pytest.raises(UsageError, match=words):
            mgraph.sssp_many(str(tables / "p.parquet"), [0], reading=reading)


def test_ids_stay_text(tmp_path, capsys):
    pq.write_table(pa.table({"src": [5, 7], "dst": [7, 9]}), tmp_path / "a.parquet")
    assert main(["sssp", str(tmp_path / "a.parquet"), "--source", "5", "--text-ids", "-q"]) == 0
    assert "3 of 3 vertices reached" in capsys.readouterr().out
    arguments = ["sssp", str(tmp_path / "a.parquet"), "--random", "1", "--text-ids"]
    assert main([*arguments, "--out", str(tmp_path / "o"), *LOCAL]) == 0
    table = pq.read_table(tmp_path / "o" / "part-00000.parquet")
    assert set(table["vertex"].to_pylist()) <= {"5", "7", "9"}
    assert np.isfinite(table["distance"].to_numpy()).all()
