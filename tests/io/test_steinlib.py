"""Steiner-tree instances of SteinLib and PACE: odd spellings, damage, and related problems."""

import bz2
import csv
import gzip
import lzma
import os
import pathlib

import numpy as np
import pytest
from hypothesis import given, settings

import mgraph
from mgraph import DatasetError, Graph, UsageError
from mgraph.io.steinlib import read_steinlib
from tests.strategies import graphs

SHARED = pathlib.Path(os.environ.get("MGRAPH_SHARED", pathlib.Path(__file__).parents[3] / "shared"))
STEINLIB = SHARED / "data" / "steinlib"

MAGIC = "33D32945 STP File, STP Format Version 1.0\n"
COMMENT = 'SECTION Comment\nName "Small"\nEND\n'
GRAPH = "SECTION Graph\nNodes 4\nEdges 3\nE 1 2 7\nE 2 3 1\nE 4 2 5\nEND\n"
TERMINALS = "SECTION Terminals\nTerminals 2\nT 4\nT 1\nEND\n"
COORDINATES = "SECTION Coordinates\nDD 1 10 20\nDD 2 5 5\nEND\n"
WHOLE = f"{MAGIC}\n{COMMENT}\n{GRAPH}\n{TERMINALS}\n{COORDINATES}\nEOF\n"
DECOMPOSITION = "SECTION Tree Decomposition\nc a guess\ns td 2 2 4\nb 1 1 2\nb 2 2 3 4\n1 2\nEND\n"
PACE = f"{GRAPH}\n{TERMINALS}\n{DECOMPOSITION}\nEOF\n"


def instance_of(folder, text, name="x.stp"):
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_steinlib(folder / name, backend="cpu")


def assert_small(graph):
    assert (graph.n, graph.num_arcs, graph.directed) == (4, 6, False)
    np.testing.assert_array_equal(graph.indices, [1, 0, 2, 3, 1, 1])
    np.testing.assert_array_equal(graph.weights, [7, 7, 1, 5, 1, 5])
    assert graph.weights.dtype == np.int32


DRESSES = {
    "as it should be": WHOLE,
    "without the first line": WHOLE.removeprefix(MAGIC),
    "of another version": WHOLE.replace("1.0", "1.00"),
    "without the last": WHOLE.replace("EOF\n", ""),
    "more after the last": f"{WHOLE}SECTION Graph\nwhat else",
    "no last line feed": WHOLE.removesuffix("\n"),
    "in another order": MAGIC + TERMINALS + COORDINATES + GRAPH + COMMENT,
    "capitals": WHOLE.upper().replace("SMALL", "Small"),
    "small letters": WHOLE.lower().replace("small", "Small"),
    "tabs": WHOLE.replace(" ", "\t"),
    "wide": WHOLE.replace(" ", "   ").replace("\n", "  \n   "),
    "CRLF": WHOLE.replace("\n", "\r\n"),
    "CR": WHOLE.replace("\n", "\r"),
    "comments": WHOLE.replace("\n", " # END\n# E 1 1 1\n").replace("Name", "Name\t"),
    "blank lines": WHOLE.replace("\n", "\n\n \n"),
    "a terminal twice": WHOLE.replace("Terminals 2\n", "Terminals 3\nT 1\n"),
    "counts last": WHOLE.replace("Nodes 4\n", "").replace("E 4 2 5\n", "E 4 2 5\nNodes 4\n"),
    "PACE": COMMENT + PACE,
    "notes": WHOLE.replace("Nodes 4\n", "Nodes 4\nOptimal 82\nOptimum: 8.2e1\n").replace(
        "Terminals 2\n", 'Terminals 2\noptimal 82\nSource "a book"\n'
    ),
    "Presolve": f"{WHOLE.removesuffix('EOF')}SECTION Presolve\nFixed 3\nEND\nEOF\n",
    "a long comment": WHOLE.replace(
        "Name", 'Remark "the\nEND of it"\n Section 3 # EOF \nEND of all. EOF\nT 9\nArcs 7\nName'
    ),
    "Comments": WHOLE.replace("SECTION Comment", "Section Comments"),
    "of the plain problem": WHOLE.replace(
        "Name", 'Problem "Classical Steiner tree problem in graphs"\nName'
    ),
    "SPG": WHOLE.replace("Name", 'problem   "SPG"\nName'),
    "unquoted": WHOLE.replace("Name", "PROBLEM STP \nName"),
    "nothing said": WHOLE.replace("Name", 'Problem ""\nName'),
    "a sentence": WHOLE.replace("Name", "Problem of many people\nName"),
}


@pytest.mark.parametrize("dress", DRESSES)
def test_one_instance_in_many_spellings(tmp_path, dress):
    found = instance_of(tmp_path, DRESSES[dress])
    assert_small(found.graph)
    assert found.name == "Small"
    assert found.terminals.dtype == np.int64
    np.testing.assert_array_equal(found.terminals, [0, 3])


def test_bytes_that_are_not_utf8(tmp_path):
    text = WHOLE.replace("Name", 'Creator "Voß"\nName').encode("latin-1")
    assert instance_of(tmp_path, text).name == "Small"


@pytest.mark.parametrize(("ending", "pack"), [("gz", gzip), ("bz2", bz2), ("xz", lzma)])
def test_compressed(tmp_path, ending, pack):
    found = instance_of(tmp_path, pack.compress(WHOLE.encode()), f"x.stp.{ending}")
    assert_small(found.graph)
    assert_small(mgraph.read_graph(tmp_path / f"x.stp.{ending}", backend="cpu"))


def test_pace(tmp_path):
    found = instance_of(tmp_path, PACE.replace("Graph", "GRAPH"), "instance001.gr")
    assert_small(found.graph)
    assert found.name == "instance001"
    assert_small(mgraph.read_graph(tmp_path / "instance001.gr", backend="cpu"))


def test_a_file_without_terminals(tmp_path):
    (tmp_path / "x.stp").write_text(GRAPH)
    assert_small(mgraph.read_graph(tmp_path / "x.stp", backend="cpu"))
    with pytest.raises(DatasetError, match=r"x\.stp .* no section Terminals"):
        read_steinlib(tmp_path / "x.stp", backend="cpu")


@pytest.mark.parametrize(
    ("word", "weight"),
    [
        ("7", 7),
        ("-7", -7),
        (str(1 << 40), 1 << 40),
        ("7.0", 7.0),
        (".5", 0.5),
        ("5.", 5.0),
        ("2e-3", 0.002),
        ("2E3", 2000.0),
    ],
)
def test_weights(tmp_path, word, weight):
    found = instance_of(tmp_path, WHOLE.replace("4 2 5", f"4 2 {word}"))
    assert found.graph.weights[-1] == weight
    whole = "int64" if abs(weight) > 1 << 31 else "int32"
    assert found.graph.weights.dtype == (whole if isinstance(weight, int) else "float64")


def test_a_fraction_after_a_hundred_thousand_whole_weights(tmp_path):
    edges = "E 1 2 1000000\n" * 100_000
    text = GRAPH.replace("Edges 3\n", f"Edges 100003\n{edges}").replace("4 2 5", "4 2 0.5")
    found = instance_of(tmp_path, text + TERMINALS)
    assert found.graph.weights.dtype == np.float64
    assert (found.graph.weights[0], found.graph.weights[-1]) == (7, 0.5)


def test_small_instances(tmp_path):
    found = instance_of(tmp_path, WHOLE.replace("Terminals 2\nT 4\nT 1\n", "Terminals 0\n"))
    assert found.terminals.size == 0
    lone = "SECTION Graph\nNodes 1\nEdges 0\nEND\nSECTION Terminals\nTerminals 1\nT 1\nEND\n"
    found = instance_of(tmp_path, lone)
    assert (found.graph.n, found.graph.num_arcs, list(found.terminals)) == (1, 0, [0])


DAMAGED = {
    "empty": ("", "no section Graph"),
    "other": ("hello\n", "no section Graph"),
    "no graph": (MAGIC + TERMINALS, "no section Graph"),
    "no END": (GRAPH.replace("END\n", "") + TERMINALS, "section Graph has no END"),
    "cut": (WHOLE[: WHOLE.index("E 4")], "section Graph has no END"),
    "cut after": (WHOLE[: WHOLE.index("T 1")], "section Terminals has no END"),
    "no END but EOF": (WHOLE.replace("T 1\nEND\n", "T 1\nEOF\n"), "section Terminals has no END"),
    "comment": (WHOLE.replace('"\nEND', '"'), "section Comment has no END"),
    "skipped": (WHOLE.replace("5 5\nEND", "5 5"), "section Coordinates has no END"),
    "edges": (WHOLE.replace("Edges 3", "Edges 1000"), "line Edges says 1,000, and 3 follow"),
    "terminals": (WHOLE.replace("ls 2", "ls 3"), "line Terminals says 3, and 2 follow"),
    "no Nodes": (WHOLE.replace("Nodes 4\n", ""), "one line 'Nodes NUMBER' and one 'Edges NUMBER'"),
    "no Edges": (WHOLE.replace("Edges 3\n", ""), "one line 'Nodes NUMBER' and one 'Edges NUMBER'"),
    "no Terminals": (WHOLE.replace("Terminals 2\n", ""), "one line 'Terminals NUMBER'"),
    "Nodes twice": (WHOLE.replace("Edges 3", "Edges 3\nNodes 5"), "one line 'Nodes NUMBER'"),
    "Nodes for Edges": (WHOLE.replace("Edges 3", "Nodes 3"), "one line 'Nodes NUMBER'"),
    "Graph twice": (GRAPH + GRAPH + TERMINALS, "one line 'Nodes NUMBER'"),
    "no number": (WHOLE.replace("Nodes 4", "Nodes"), "or be 'Nodes NUMBER' .* .got 'Nodes'"),
    "negative": (WHOLE.replace("Nodes 4", "Nodes -4"), "got 'Nodes -4'"),
    "word": (WHOLE.replace("Edges 3", "Edges three"), "got 'Edges three'"),
    "unknown": (WHOLE.replace("Edges 3", "Edges 3\nx 1 2 3"), "begin with E or .* 'x 1 2 3'"),
    "stray": (WHOLE.replace("T 4", "T 4\n9"), "begin with T or be 'Terminals NUMBER' .got '9'"),
    "short": (
        WHOLE.replace("E 2 3 1", "E 2 3"),
        "'E VERTEX VERTEX WEIGHT', of 18 digits at most .got 'E 2 3'",
    ),
    "shorter": (
        WHOLE.replace("E 2 3 1", "E"),
        "'E VERTEX VERTEX WEIGHT', of 18 digits at most .got 'E'",
    ),
    "long": (WHOLE.replace("E 2 3 1", "E 2 3 1 1"), "got 'E 2 3 1 1'"),
    "no vertex": (WHOLE.replace("E 2 3 1", "E 2 x 1"), "got 'E 2 x 1'"),
    "half vertex": (WHOLE.replace("E 2 3 1", "E 2 3.0 1"), "got 'E 2 3.0 1'"),
    "no weight": (WHOLE.replace("E 2 3 1", "E 2 3 1x"), "got 'E 2 3 1x'"),
    "NaN": (WHOLE.replace("E 2 3 1", "E 2 3 nan"), "got 'E 2 3 nan'"),
    "hexadecimal": (WHOLE.replace("E 2 3 1", "E 0x2 3 1"), "got 'E 0x2 3 1'"),
    "infinite": (WHOLE.replace("E 2 3 1", "E 2 3 1e999"), "must be finite"),
    "wide": (
        WHOLE.replace("E 2 3 1", f"E 2 3 {10**20}"),
        "VERTEX WEIGHT', of 18 digits at most .got 'E 2 3 100",
    ),
    "wide vertex": (WHOLE.replace("E 2 3 1", f"E 2 {10**20} 1"), r"\(got 'E 2 1000"),
    "beyond": (WHOLE.replace("E 2 3 1", "E 2 5 1"), r"lie in \[1, 4\]"),
    "from 0": (WHOLE.replace("E 2 3 1", "E 0 3 1"), r"lie in \[1, 4\]"),
    "terminal beyond": (WHOLE.replace("T 4", "T 5"), r"lie in \[1, 4\]"),
    "terminal from 0": (WHOLE.replace("T 4", "T 0"), r"lie in \[1, 4\]"),
    "terminal short": (WHOLE.replace("T 4", "T"), "must be 'T VERTEX' .got 'T'"),
    "terminal word": (WHOLE.replace("T 4", "T x"), "must be 'T VERTEX' .got 'T x'"),
    "terminal wide": (WHOLE.replace("T 4", f"T {10**20}"), "must be 'T VERTEX'"),
    "many": (WHOLE.replace("Nodes 4", f"Nodes {10**20}"), r"at most 2\^40 vertices"),
}


@pytest.mark.parametrize("name", DAMAGED)
@pytest.mark.parametrize("ending", ["stp", "gr"])
def test_damaged_files_say_what_is_wrong(tmp_path, name, ending):
    text, words = DAMAGED[name]
    with pytest.raises(DatasetError, match=words) as error:
        instance_of(tmp_path, text, f"x.{ending}")
    assert f"x.{ending} cannot be read as a SteinLib file: " in str(error.value)
    if ending == "stp":
        with pytest.raises(DatasetError, match=words):
            mgraph.read_graph(tmp_path / "x.stp", backend="cpu")


def problem(value):
    return WHOLE.replace("Name", f"Problem {value}\nName")


ARCS = WHOLE.replace("Edges 3", "Arcs 3").replace("\nE ", "\nA ")
POINTS = "SECTION Graph\nNodes 2\nEND\n"
VARIANTS = {
    "arcs": (ARCS, "arborescence .*SAP"),
    "both kinds": (WHOLE.replace("E 4 2 5", "E 4 2 5\n a 1 3 4"), "arborescence .*SAP"),
    "two costs": (WHOLE.replace("E 4 2 5", "AA 4 2 5 6"), "arborescence .*SAP"),
    "root": (WHOLE.replace("T 4", "Root 4\nT 4"), "arborescence .*SAP"),
    "prizes": (WHOLE.replace("T 4", "TP 4 17"), "prize-collecting .*PCSTP"),
    "prizes and a root": (WHOLE.replace("T 4", "RootP 4"), "prize-collecting .*PCSTP"),
    "groups": (WHOLE.replace("T 4", "TG 4 1"), "group .*GSTP"),
    "weights of terminals": (WHOLE.replace("T 4", "T 4 -1.5"), "maximum-weight .*MWCS"),
    "no weights of edges": (
        WHOLE.replace("2 3 1", "2 3").replace("T 1", "T\t1 3"),
        "maximum-weight connected subgraph problem .*MWCS",
    ),
    "hops": (WHOLE.replace("Edges 3", "Edges 3\nHopLimit 5"), "hop-constrained .*HCDSTP"),
    "obstacles": (WHOLE.replace("Edges 3", "Edges 3\nObstacles 1"), "obstacle.*OARSMT"),
    "points": (MAGIC + COORDINATES + TERMINALS, "rectilinear .*RSMT"),
    "points and their number": (MAGIC + POINTS + TERMINALS + COORDINATES, "rectilinear .*RSMT"),
    "SAP": (problem('"SAP"'), "'SAP'"),
    "MWCS": (problem("MWCS"), "'MWCS'"),
    "in words": (
        problem('"Prize-Collecting Steiner Problem in Graphs"'),
        "'Prize-Collecting Steiner Problem in Graphs'",
    ),
}
VARIANTS |= {
    section: (WHOLE.replace("EOF", f"SECTION {section}\n{line}\nEND\nEOF"), words)
    for section, line, words in (
        ("NodeWeights", "NW 3", "node-weighted .*NWSTP"),
        ("MaximumDegrees", "MD 3", "degree-constrained .*DCSTP"),
        ("Obstacles", "RR 1 1 2 2", "obstacle-avoiding rectilinear .*OARSMT"),
        ("HopConstraint", "limit 3", "hop-constrained .*HCDSTP"),
    )
}


@pytest.mark.parametrize("name", VARIANTS)
def test_related_problems_are_refused_by_name(tmp_path, name):
    text, words = VARIANTS[name]
    with pytest.raises(DatasetError, match=rf"it is an instance of .*{words}") as error:
        instance_of(tmp_path, text)
    assert "only the Steiner tree problem in undirected graphs" in str(error.value)
    with pytest.raises(DatasetError, match=words):
        mgraph.read_graph(tmp_path / "x.stp", backend="cpu")


def test_files_that_are_not_instances(tmp_path):
    for name in ("x.mtx", "folder"):
        with pytest.raises(UsageError, match=r"must end in \.stp or \.gr"):
            read_steinlib(tmp_path / name)
    with pytest.raises(DatasetError, match="does not exist"):
        read_steinlib(tmp_path / "x.stp")
    with pytest.raises(DatasetError, match="no section Graph"):
        instance_of(tmp_path, "p sp 3 1\na 1 2 7\n", "roads.gr")
    with pytest.raises(DatasetError, match="truncated or damaged"):
        instance_of(tmp_path, gzip.compress(WHOLE.encode())[:50], "x.stp.gz")


@settings(deadline=None, max_examples=40)
@given(graph=graphs())
def test_written_and_read_again(graph, tmp_path_factory):
    file = tmp_path_factory.mktemp("io") / "x.stp"
    if graph.directed:
        with pytest.raises(UsageError, match="graph must be undirected in a SteinLib file"):
            mgraph.write_graph(graph, file)
        assert not file.exists()
        return
    mgraph.write_graph(graph, file)
    back = mgraph.read_graph(file, backend="cpu")
    assert (back.n, back.directed) == (graph.n, False)
    np.testing.assert_array_equal(back.indptr, graph.indptr)
    np.testing.assert_array_equal(back.indices, graph.indices)
    weights = np.ones(graph.num_arcs) if graph.weights is None else graph.weights
    np.testing.assert_array_equal(back.weights, weights.astype(np.float64))
    found = read_steinlib(file, backend="cpu")
    assert (found.terminals.size, found.name) == (0, "x")


def test_weights_that_cannot_be_written(tmp_path):
    weights = np.array([np.inf, np.inf])
    graph = Graph(np.array([0, 1, 2]), np.array([1, 0], np.int32), weights, directed=False)
    with pytest.raises(UsageError, match="weights must be finite"):
        mgraph.write_graph(graph, tmp_path / "x.stp")


def test_steinlib():
    table = STEINLIB / "optima.csv"
    if not table.exists():
        pytest.skip("needs SteinLib's instances, which are not part of the project")
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert len(rows) == 78
    for row in rows:
        found = read_steinlib(STEINLIB / row["instance"], backend="cpu")
        sizes = (found.graph.n, found.graph.num_arcs // 2, found.terminals.size)
        assert sizes == tuple(int(row[name]) for name in ("vertices", "edges", "terminals"))
        assert found.name.lower() == pathlib.PurePath(row["instance"]).stem
        assert found.graph.weights.dtype == np.int32
        assert found.graph.weight_range.minimum >= 1


def test_a_steinlib_file():
    file = STEINLIB / "B" / "b01.stp"
    if not file.exists():
        pytest.skip("needs SteinLib's instances, which are not part of the project")
    found = read_steinlib(file, backend="cpu")
    lines = [line.split() for line in file.read_text().splitlines()]
    for u, v, weight in (map(int, line[1:]) for line in lines if line[:1] == ["E"]):
        arcs = slice(*found.graph.indptr[u - 1 : u + 1])
        at = list(found.graph.indices[arcs]).index(v - 1)
        assert found.graph.weights[arcs][at] == weight
    terminals = sorted(int(line[1]) - 1 for line in lines if line[:1] == ["T"])
    np.testing.assert_array_equal(found.terminals, terminals)
