"""steiner on the command line."""

import numpy as np
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph.cli.main import main
from mgraph.io.vertex_lists import read_queries

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
        (["g"], "give --terminals, --group, --queries, --sample or --prizes, or a SteinLib file"),
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


@pytest.fixture(scope="module")
def graph(folder):
    return mgraph.read_graph(folder / "g", backend="cpu")


def test_groups(folder, graph, capsys):
    groups = ["--group", "3,9", "--group", "499 7", "--terminals", "20"]
    output = said(capsys, "steiner", folder / "g", *groups, "--backend", "cpu", "-q")
    expected = mgraph.group_steiner_tree(graph, [[20], [3, 9], [499, 7]], backend="cpu")
    assert f"3 groups: cost {expected.cost}, {expected.src.size} edges; optimal; " in output


def test_the_best_trees(folder, graph, capsys):
    given = ["--terminals", "3,9", "--group", "499,7", "--best", "3"]
    output = said(capsys, "steiner", folder / "g", *given, "-q")
    expected = mgraph.k_best_steiner_trees(graph, [3, 9, [499, 7]], 3)
    lines = output.splitlines()
    assert len(lines) == len(expected) == 3
    for line, tree in zip(lines, expected, strict=True):
        assert f"3 terminals: cost {tree.cost}, {tree.src.size} edges; " in line


def test_a_root_vertex_weights_and_prizes(folder, graph, capsys):
    output = said(capsys, "steiner", folder / "g", "--root", "5", "--terminals", "3,9", "-q")
    assert f"cost {mgraph.steiner_arborescence(graph, 5, [3, 9]).cost}, " in output
    values = np.zeros(500, np.int64)
    values[[3, 30, 300]] = 5, 2, 700
    file = folder / "values.txt"
    file.write_text("# a comment\n3 5\n30, 2\n300 700\n")
    given = ["--vertex-weights", file, "--terminals", "3,9", "-q", "--out", folder / "tree.gexf"]
    output = said(capsys, "steiner", folder / "g", *given)
    expected = mgraph.node_weighted_steiner_tree(graph, [3, 9], values)
    cost = f"cost {expected.cost} ({expected.vertex_cost} of vertices), "
    assert cost in output
    assert (folder / "tree.gexf").exists()
    output = said(capsys, "steiner", folder / "g", "--prizes", file, "-q")
    expected = mgraph.prize_collecting_steiner_tree(graph, values)
    assert f"1 prize: cost {expected.cost} (7 of vertices), 0 edges; optimal; " in output
    output = said(capsys, "steiner", folder / "g", "--prizes", file, "--root", "3", "-q")
    expected = mgraph.prize_collecting_steiner_tree(graph, values, root=3)
    assert f"cost {expected.cost}" in output


def test_many_queries_of_groups(folder, graph, capsys):
    file, out = folder / "groups.txt", folder / "of groups"
    file.write_text('3, 4; 9 # none\n\n499; 7 8;\n"5"; 6; 7\n')
    output = said(capsys, "steiner", folder / "g", "--queries", file, "--out", out, *LOCAL)
    assert "3 queries, 3 trees of " in output
    table = pq.read_table(out / "_queries.parquet")
    queries = [[[3, 4], [9]], [[499], [7, 8]], [[5], [6], [7]]]
    assert table["groups"].to_pylist() == queries
    trees = dict(mgraph.group_steiner_trees(graph, queries, backend="cpu"))
    assert table["cost"].to_pylist() == [trees[i].cost for i in range(3)]
    assert table["terminals"].to_pylist() == [trees[i].terminals.tolist() for i in range(3)]
    sample = ["--sample", "2:3,3:2", "--group-size", "20"]
    assert "5 queries, 5 trees of " in said(capsys, "steiner", folder / "g", *sample, *LOCAL)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--group", "1,2", "--prizes", "none"], "--prizes cannot be given together with --group"),
        (["--group", "1", "--method", "star"], "--method does not apply to --group"),
        (["--root", "1"], "--root needs --terminals"),
        (["--root", "1", "--terminals", "2", "--backend", "cpu"], "--backend does not apply"),
        (["--best", "2", "--terminals", "1,2", "--out", "x"], "--out does not apply to --best"),
        (["--best", "0", "--terminals", "1,2"], "--best must be at least 1 (got 0)"),
        (["--root", "5,6", "--terminals", "1,2"], "--root must be one vertex (got 2)"),
        (["--group", "1,500"], "group 0 must lie in [0, 500) (got 500)"),
        (["--prizes", "none.txt"], "none.txt cannot be read"),
        (["--prizes", "a.stp"], "a.stp must have a vertex and a number per line"),
        (["--prizes", "twice.txt"], "must name each vertex once (vertex 3 is there again)"),
        (["--prizes", "negative.txt"], "prizes must be"),
        (["--terminals", "1,2", "--group-size", "3"], "--group-size needs --sample"),
        (["--sample", "2:2", "--group-size", "0"], "--group-size must be at least 1 (got 0)"),
        (["--sample", "2:2", "--group-size", "400"], "800 terminals were asked for"),
        (["--sample", "2:2", "--group-size", "2", "--bound"], "--bound does not apply to groups"),
        (["--queries", "empty.txt"], "query 0: group 1 has no vertex"),
        (["--queries", "groups.txt", "--method", "star"], "--method does not apply to groups"),
    ],
)
def test_wrong_use_of_variants(folder, capsys, monkeypatch, arguments, words):
    monkeypatch.chdir(folder)
    (folder / "twice.txt").write_text("3 1\n4 1\n3 2\n")
    (folder / "negative.txt").write_text("3 -1\n")
    (folder / "empty.txt").write_text("3;;4\n")
    (folder / "groups.txt").write_text("3;4\n")
    local = LOCAL if {"--sample", "--queries"} & {*arguments} else ["-q"]
    assert main(["steiner", "g", *arguments, *local]) in (1, 2)
    printed = capsys.readouterr()
    assert words in printed.err
    assert "Traceback" not in printed.err


def test_names_in_files_of_queries(tmp_path):
    file = tmp_path / "q.txt"
    file.write_text('3 "4\nZed Bar5" Joe\'s\n"a b" c#d\n# none\n')
    assert read_queries(file) == ([["3", '"4'], ["Zed", 'Bar5"', "Joe's"], ["a b", "c"]], False)
    file.write_text('"a;b" c;\n1 2\n"a b" ;"c\n 3;;4 # ; 5\n')
    groups = [[["a;b", "c"]], [["1"], ["2"]], [["a b"], ['"c']], [["3"], [], ["4"]]]
    assert read_queries(file) == (groups, True)
