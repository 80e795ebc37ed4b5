"""convert, info and sssp on the command line."""

import json

import pytest

import mgraph
from mgraph.cli.main import main
from mgraph.io import graph_memory
from mgraph.shortest_paths.trace import read_trace

LOCAL = ["-q", "--workers", "1", "--backend", "cpu", "--dashboard", "127.0.0.1:0"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("verbs")
    arguments = ["generate", str(folder / "g"), "-n", "500", "-d", "3", "--weights", "1:50"]
    assert main([*arguments, *LOCAL]) == 0
    return folder


def said(capsys, *arguments):
    assert main([*map(str, arguments)]) == 0
    return capsys.readouterr().out


def test_convert_and_info(folder, capsys):
    before = said(capsys, "info", folder / "g")
    assert "weights = [1, 50]" in before
    assert "components 1, the largest of 500 vertices" in before
    for name in ("g.gr", "g.mtx", "g.graph.gz", "g.gexf", "g.graphml"):
        assert f"in {folder / name}" in said(capsys, "convert", folder / "g", folder / name)
    output = said(capsys, "info", folder / "g.gr")
    assert "directed" in output
    assert "components 1, the largest of 500 vertices" in output
    assert "undirected" in said(capsys, "convert", folder / "g.graph.gz", folder / "h")
    names = ("checksum", "m", "degree", "weight", "components")
    one, two = (json.loads(said(capsys, "info", "--json", folder / name)) for name in ("g", "h"))
    assert [one[name] for name in names] == [two[name] for name in names]
    assert "--scan" in said(capsys, "info", "--no-scan", folder / "g")


def test_one_source(folder, capsys):
    files = folder / "t.parquet", folder / "t.png"
    output = said(
        capsys, "sssp", folder / "g", "--source", 3, "--target", 7, "--backend", "cpu",
        "--trace", files[0], "--plot", files[1],
    )  # fmt: skip
    assert "source 3" in output
    assert " vertices reached up to the target, the farthest at " in output
    assert "target 7: at" in output
    rows = read_trace(files[0])
    assert f"{len(rows)} iterations" in output
    assert rows["x2"].sum() > 0
    assert files[1].read_bytes()[:4] == b"\x89PNG"


def test_one_source_of_a_graph_that_two_workers_hold_together(folder, capsys, monkeypatch):
    search = ["sssp", folder / "g", "--source", 3, "--target", 7, "--target", 400, "--path"]
    here = said(capsys, *search, "--backend", "cpu", "-q").splitlines()
    spread = [*search, "-q", "--workers", "2", "--backend", "cpu", "--dashboard", "127.0.0.1:0"]
    assert_same_answer(said(capsys, *spread, "--partition", "always"), here)
    reason = "the graph takes some 9.0 GiB, and this machine has 1.0 GiB of memory"
    monkeypatch.setattr(graph_memory, "find_local_shortage", lambda *_, directed: reason)
    assert main([*map(str, spread)]) == 0
    captured = capsys.readouterr()
    assert_same_answer(captured.out, here)
    assert f"{reason}: its arcs are spread over 2 workers" in captured.err
    monkeypatch.setattr(graph_memory, "bytes_of_graph", lambda *_, directed: 1 << 60)
    assert main([*map(str, spread)]) == 1
    error = f"{reason}, and 2 workers cannot hold it together; use a cluster with more memory, or "
    assert f"{error}try it here with `--partition never`" in capsys.readouterr().err
    assert main([*map(str, [*search, "--backend", "cpu", "-q", "--partition", "never"])]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == here[1:]
    one_device = {
        "--method": "dijkstra", "--trace": folder / "x.parquet", "--frontier-bound": "vertex",
    }  # fmt: skip
    for option, value in one_device.items():
        assert main([*map(str, [*spread, "--partition", "always", option, value])]) == 2
        assert f"{option} does not apply to a graph spread" in capsys.readouterr().err


def assert_same_answer(output, here):
    """The same, but for who searched how fast."""
    lines = output.splitlines()
    assert "over 2 workers on the cpu" in lines[0]
    assert lines[0].split(";")[0] == here[0].split(";")[0]
    assert lines[1:] == here[1:]


def test_the_path_to_a_target(tmp_path, capsys):
    lines = ["p sp 4 4", "a 1 2 1000", "a 2 3 9", "a 1 3 2000", "a 3 2 1"]
    (tmp_path / "g.gr").write_text("\n".join(lines))
    search = ["sssp", tmp_path / "g.gr", "--source", 0, "--target", 2, "--target", 3, "--path"]
    output = said(capsys, *search, "--backend", "cpu").splitlines()
    assert output[0].startswith("source 0: 3 of 4 vertices reached, the farthest at 1,009")
    assert output[-5:] == [
        "target 2: at 1,009",
        "  0: at 0",
        "  1: at 1,000, by an arc of weight 1,000",
        "  2: at 1,009, by an arc of weight 9",
        "target 3: not reached",
    ]


def test_many_sources(folder, capsys):
    (folder / "sources.txt").write_text("3, 4\n# none\n499\n")
    out = folder / "r"
    arguments = ["sssp", folder / "g", "--sources", folder / "sources.txt", "--out", out, *LOCAL]
    assert "3 sources, 1,500 vertices reached" in said(capsys, *arguments)
    assert "kept" in said(capsys, *arguments, "--resume")
    found = mgraph.sssp(mgraph.read_graph(folder / "g", backend="cpu"), 3, backend="cpu")
    assert str(int(found.distance.max())) in (out / "_manifest.json").read_text()


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["sssp", "G"], 2, "give one of --source"),
        (["sssp", "G", "--source", "1", "--random", "2"], 2, "give one of --source"),
        (["sssp", "G", "--source", "500"], 2, "source must lie in [0, 500)"),
        (["sssp", "G", "--source", "1", "--method", "magic"], 2, "must be one of"),
        (["sssp", "G", "--source", "1", "--workers", "2"], 2, "--workers applies to many sources"),
        (["sssp", "G", "--source", "1", "--power-limit", "300"], 2, "applies to many sources"),
        (["sssp", "G", "--source", "1", "--cutoff", "-1"], 2, "cutoff must be at least 0"),
        (["sssp", "G", "--source", "1", "--batch", "0"], 2, "--batch applies to many sources"),
        (["sssp", "G", "--source", "1", "--target", "500"], 2, "targets must lie in [0, 500)"),
        (["sssp", "G", "--source", "2^63"], 2, "(got 9,223,372,036,854,775,808)"),
        (["sssp", "G", "--source", "1e30"], 2, "source must lie in [0, 500)"),
        (["sssp", "G", "--source", "1", "--trace", "/"], 2, "/ is a folder"),
        (["sssp", "G", "--source", "1", "--trace", "/etc/passwd"], 2, "exists; pass --overwrite"),
        (["sssp", "G", "--source", "1", "--trace", "s3://b/t"], 2, "on this machine"),
        (["sssp", "G", "--source", "1", "--plot", "x"], 2, "name must end in .png"),
        (["sssp", "G", "--source", "1", "--seed", "2"], 2, "--seed needs --random"),
        (["sssp", "G", "--source", "1", "--overwrite"], 2, "--overwrite needs"),
        (["sssp", "G", "--random", "2", "--resume"], 2, "--resume needs --out"),
        (["sssp", "G", "--random", "2", "--trace", "x"], 2, "--trace applies to one"),
        (["sssp", "G", "--random", "2", "--target", "3"], 2, "--target applies to one"),
        (["sssp", "G", "--source", "2", "--path"], 2, "--path needs --target"),
        (["sssp", "G", "--random", "2", "--seed", "-1"], 2, "seed must lie in"),
        (["sssp", "G", "--random", "2", "--out", "G", "--overwrite"], 2, "is the graph"),
        (["degrees", "G", "--plot", "x.y"], 2, "name must end in .png"),
        (["sssp", "G", "--sources", "none.txt"], 2, "none.txt cannot be read"),
        (["sssp", "none", "--source", "1"], 1, "does not exist"),
        (["info", "none.gr"], 1, "does not exist"),
        (["convert", "G", "x.doc.gz"], 2, "a graph file's name must end in"),
        (["convert", "none", "x.gr"], 1, "does not exist"),
        (["convert", "none", "x.doc"], 2, "should be given without .doc"),  # before IN is read
        (["generate", "x", "-n", "9", "--weights", "3"], 2, "must be LOW:HIGH"),
        (["generate", "x", "-n", "9", "--weights", "3:2"], 2, "3 is above 2"),
    ],
)  # fmt: skip
def test_wrong_use(folder, tmp_path, monkeypatch, capsys, arguments, status, words):
    monkeypatch.chdir(tmp_path)
    graph = str(folder / "g")
    backend = ["--backend", "cpu"] if arguments[0] == "sssp" else []
    assert main([graph if word == "G" else word for word in arguments] + backend) == status
    complaint = capsys.readouterr().err.strip().splitlines()[-1]
    assert complaint.startswith("mgraph: ")
    assert words in complaint
    assert not list(tmp_path.iterdir())


def test_infinite_weights_are_told_as_such(tmp_path, capsys):
    file = tmp_path / "inf.mtx"
    file.write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 inf\n2 1 1.5\n")
    assert main(["sssp", str(file), "--source", "0", "--backend", "cpu"]) == 2
    said = capsys.readouterr().err
    assert "(one is infinite); read the graph with --drop-infinite" in said
    assert main(["sssp", str(file), "--source", "1", "--drop-infinite", "--backend", "cpu"]) == 0
    assert "2 of 2 vertices reached" in capsys.readouterr().out


def test_a_weight_that_is_none_is_told_with_its_file(tmp_path, capsys):
    file = tmp_path / "nan.mtx"
    file.write_text("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 2 nan\n2 1 1.5\n")
    assert main(["convert", str(file), str(tmp_path / "x.gr")]) == 1
    complaint = capsys.readouterr().err.strip()
    assert complaint == f"mgraph: {file}: weight must not be NaN (one is)"
    assert not (tmp_path / "x.gr").exists()


def test_sources_that_are_no_numbers(folder, tmp_path, capsys):
    for word in ("1 \u00b2", "9" * 5000, "-1", "1.5"):
        (tmp_path / "s.txt").write_text(word)
        asked = ["sssp", str(folder / "g"), "--sources", str(tmp_path / "s.txt"), *LOCAL]
        assert main(asked) == 2
        assert "sources must " in capsys.readouterr().err


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.iterdir()}


def test_one_kind_of_folder_does_not_replace_another(folder, tmp_path, capsys):
    graph, rows, other = folder / "g", tmp_path / "r", tmp_path / "h.gr"
    before = contents(graph)
    assert main(["sssp", str(graph), "--random", "2", "--out", str(rows), *LOCAL]) == 0
    assert main(["convert", str(graph), str(other)]) == 0
    for arguments in (
        ["sssp", other, "--random", "2", "--out", graph, *LOCAL],
        ["generate", rows, "-n", "99", *LOCAL],
        ["convert", graph, rows],
    ):
        capsys.readouterr()
        assert main([*map(str, arguments), "--overwrite"]) == 2
        assert "does not replace" in capsys.readouterr().err
    assert contents(graph) == before
    assert main(["info", str(rows)]) == 1
    assert "holds 'mgraph shortest paths'" in capsys.readouterr().err
