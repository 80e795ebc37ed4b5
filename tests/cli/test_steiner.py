"""steiner on the command line."""

import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph.cli.main import main

LOCAL = ["-q", "--workers", "1", "--backend", "cpu", "--dashboard", "127.0.0.1:0"]
STP = """33D32945 STP File, STP Format Version 1.0
SECTION Graph
Nodes 4
Edges 4
E 1 2 1
E 2 3 1
E 3 4 1
E 4 1 5
END
SECTION Terminals
Terminals 2
T 1
T 4
END
EOF
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("steiner")
    arguments = ["generate", str(folder / "g"), "-n", "500", "-d", "3", "--weights", "1:50"]
    assert main([*arguments, *LOCAL]) == 0
    (folder / "a.stp").write_text(STP)
    return folder


def said(capsys, *arguments):
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_one_query(folder, capsys):
    output = said(capsys, "steiner", folder / "g", "--terminals", "3,9, 499", "--backend", "cpu")
    expected = mgraph.steiner_tree(mgraph.read_graph(folder / "g", backend="cpu"), [3, 9, 499])
    assert f"3 terminals: cost {expected.cost}, {expected.src.size} edges; " in output
    assert "dreyfus_wagner on the cpu" in output
    star = ["--method", "star", "--backend", "cpu"]
    assert "dijkstra on" in said(capsys, "steiner", folder / "g", "--terminals", "3,9", *star)
    tree = folder / "tree.stp"
    output = said(
        capsys, "steiner", folder / "g", "--terminals", "3 9 499", "-q", "--bound", "--out", tree,
        "--backend", "cpu",
    )  # fmt: skip
    assert ("optimal; " in output) or ("% above the best, which costs at least" in output)
    assert mgraph.read_graph(tree, backend="cpu").weights.sum() == 2 * expected.cost
    assert mgraph.experiments.read_steinlib(tree).terminals.tolist() == [3, 9, 499]
    assert f"cost {expected.cost}, " in said(capsys, "steiner", tree, "-q")
    output = said(capsys, "steiner", tree, "--method", "mehlhorn")
    assert f"{expected.src.size} edges; mehlhorn on the cpu, " in output


def test_a_steinlib_file_has_its_own_terminals(folder, capsys):
    output = said(capsys, "steiner", folder / "a.stp", "--improve")
    assert "2 terminals: cost 3, 3 edges; optimal; " in output
    assert "cost 2, 2 edges" in said(capsys, "steiner", folder / "a.stp", "--terminals", "0,2")


def test_many_queries(folder, capsys):
    (folder / "queries.txt").write_text("3, 4\n# none\n\n499 7 8\n")
    out = folder / "r"
    asked = ["steiner", folder / "g", "--queries", folder / "queries.txt", "--out", out, *LOCAL]
    output = said(capsys, *asked)
    assert "2 queries, 2 trees of " in output
    assert f"in {out}" in output
    assert pq.read_table(out / "_queries.parquet")["terminals"].to_pylist() == [[3, 4], [7, 8, 499]]
    assert "2 of them kept" in said(capsys, *asked, "--resume")
    output = said(capsys, "steiner", folder / "g", "--sample", "2:3,4:2", "--bound", *LOCAL)
    assert "5 queries, 5 trees of " in output
    assert "proven optimal" in output


def test_a_query_without_a_tree_is_told(folder, capsys):
    graph = mgraph.from_edges(mgraph.EdgeList([0, 2], [1, 3]), directed=False, backend="cpu")
    mgraph.write_graph(graph, folder / "two")
    (folder / "some.txt").write_text("0 1\n1 2\n")
    assert (
        main(["steiner", str(folder / "two"), "--queries", str(folder / "some.txt"), *LOCAL]) == 1
    )
    printed = capsys.readouterr()
    assert "2 queries, 1 tree of 1 edge" in printed.out
    assert "query 1: terminals 1 and 2 lie in different components" in printed.err
    assert main(["steiner", str(folder / "two"), "--terminals", "1,2", "--backend", "cpu"]) == 1
    assert "lie in different components" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["g"], "give --terminals, --queries or --sample, or a SteinLib file"),
        (["g", "--terminals", "1,2", "--sample", "2:2"], "give one of"),
        (["g", "--terminals", "1,x"], "terminals must be a whole number"),
        (["g", "--terminals", "1,2", "--resume"], "--resume applies to many queries"),
        (["g", "--terminals", "1,2", "--overwrite"], "--overwrite needs --out"),
        (["g", "--terminals", "1,500"], "terminals must lie in [0, 500) (got 500)"),
        (["g", "--sample", "2"], "must be K:COUNT"),
        (["g", "--sample", "2:1", "--resume"], "--resume needs --out"),
        (["g", "--queries", "none.txt"], "none.txt cannot be read as a list of queries"),
        (["g", "--queries", "a.stp"], "a.stp, query 0: terminals must be a whole number"),
        (["none", "--terminals", "1,2"], "does not exist"),
        (["g", "--terminals", "1,2", "--method", "prim"], "must be one of"),
        (["g", "--terminals", "1,2", "--search", "edge", "--backend", "cpu"], "needs a GPU"),
    ],
)
def test_wrong_use(folder, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(folder)
    assert main(["steiner", *arguments]) in (1, 2)
    printed = capsys.readouterr()
    assert words in printed.err
    assert "Traceback" not in printed.err
