"""Text edge lists: what is read, what is said, and what is refused with its line."""

import bz2
import gzip
import lzma
import re
import warnings

import numpy as np
import pyarrow as pa
import pytest

import mgraph
from mgraph import DatasetError, MgraphWarning, UsageError
from mgraph.io.graph_reader import ReadOptions
from mgraph.io.tables import edge_tables, text_pieces

# name, text, edges as (src, dst[, weight]), whether directed, words of warnings
GOOD = [
    ("a.txt", "0 1\n1 2\n", [(0, 1), (1, 2)], True, []),
    ("tabs.txt", "# SNAP\n# From\tTo\n0\t1\n1\t2\n", [(0, 1), (1, 2)], True, []),
    ("spaces.el", "  0   1\n 1\t 2  \n\n", [(0, 1), (1, 2)], True, []),
    ("a.wel", "0 1 5\n1 2 7\n", [(0, 1, 5), (1, 2, 7)], True, ["from the third column"]),
    ("a.csv", "src,dst\n0,1\n", [(0, 1)], True, []),
    ("a.tsv", "src\tdst\tweight\n0\t1\t2.5\n", [(0, 1, 2.5)], True, []),
    ("bar.csv", "src|dst\n0|1\n", [(0, 1)], True, []),
    ("blanks.csv", "0, 1\n1, 2\n", [(0, 1), (1, 2)], True, []),
    ("pair.csv", "source,target\n0,1\n", [(0, 1)], True, ["the columns source, target"]),
    ("names.txt", "FromNodeId ToNodeId\n0 1\n", [(0, 1)], True, ["FromNodeId, ToNodeId"]),
    ("more.csv", "0,1,red\n1,2,blue\n", [(0, 1), (1, 2)], True, ["column_3 not read"]),
    ("long.csv", "u,v,cost\n0,1,5\n", [(0, 1)], True, ["u, v", "cost not read"]),
    ("inside.csv", "0,1\n# a comment\n1,2\n", [(0, 1), (1, 2)], True, []),
    ("decimal.csv", "0.0,1.0\n1.0,2\n", [(0, 1), (1, 2)], True, []),
    ("exponent.txt", "0 1 1e3\n0 2 .5\n", [(0, 1, 1000), (0, 2, 0.5)], True, ["third"]),
    ("plus.txt", "0 1 +5\n", [(0, 1, 5)], True, ["third column"]),
    ("windows.csv", "\ufeffsrc,dst\r\n0,1\r\n", [(0, 1)], True, []),
    ("mac.csv", "src,dst\r0,1\r1,2\r", [(0, 1), (1, 2)], True, []),
    ("out.konect", "% sym weighted\n1 2 3 99\n", [(2, 1, 3)], False, ["sym", "third", "column_4"]),
    ("asym.txt", "% asym unweighted\n1 2\n", [(1, 2)], True, []),
    ("snap.txt", "# Undirected graph: x\n1 2\n", [(1, 2)], True, ["says that it is undirected"]),
    (
        "gephi.csv",
        "Source;Target;Type;Id;Weight\n0;1;Undirected;0;1.0\n1;2;Undirected;1;2.0\n",
        [(1, 0, 1), (2, 1, 2)],
        False,
        ["Source, Target, Weight", "column Id not read"],
    ),
    (
        "mixed.csv",
        "Source,Target,Type\n0,1,Undirected\n1,2,Directed\n2,2,Undirected\n",
        [(0, 1), (1, 0), (1, 2), (2, 2)],
        True,
        ["Source, Target"],
    ),
    ("empty.csv", "", [], True, ["it has no edges"]),
    ("header.csv", "u,v\n", [], True, ["u, v", "it has no edges"]),
    ("comments.txt", "# nothing\n", [], True, ["it has no edges"]),
]


def read(path, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        graph = mgraph.read_graph(path, backend="cpu", **options)
    return graph, [str(each.message) for each in caught]


def rows_of(graph):
    return sorted(zip(*(column.tolist() for column in graph.to_edges()), strict=True))


@pytest.mark.parametrize(("name", "text", "edges", "directed", "words"), GOOD, ids=lambda x: x)
def test_what_is_read(tmp_path, name, text, edges, directed, words):
    (tmp_path / name).write_text(text, newline="")
    graph, messages = read(tmp_path / name)
    assert rows_of(graph) == sorted(edges)
    assert graph.directed == directed
    assert len(messages) == len(words)
    for word, message in zip(words, messages, strict=True):
        assert word in message


BAD = [
    ("comma.txt", "0 1 1,5\n", r"line 1 must have a weight, .* \(got '1,5'\)"),
    ("slash.txt", "0 1 1/2\n", "got '1/2'"),
    ("hex.txt", "0 1 0x10\n", "got '0x10'"),
    ("missing.txt", "0 1 1\n0 1 NA\n", "line 2 must have a weight, .*got 'NA'"),
    ("german.csv", "src;dst;weight\n0;1;1,5\n", "line 2: weight must be a number .*'1,5'"),
    ("word.csv", "0,1\n1,2\n1,x\n", "line 3: dst must be a whole number, .*'x'"),
    ("hexid.csv", "1,2\n0x10,3\n", "line 2: src must be a whole number, .*'0x10'"),
    ("zeros.csv", "1,2\n3,007\n4,5\n2,3\n", None),
    ("fraction.csv", "1.5,2.0\n", r"line 1: ids must be whole numbers or names \(got '1.5'\)"),
    ("void.csv", "0,\n1,2\n", r"line 1: dst must be a whole number, .* \(got ''"),
    ("short.csv", "0,1\n1\n", r"line 2 must be a row of 2 fields between commas, .*\(got 1"),
    ("long.csv", "0,1\n1,2,3\n2,3\n", r"line 2 must be a row of 2 fields"),
    ("uneven.txt", "0 1 5\n1 2\n3 4 5\n", "line 2 must have a weight"),
    ("huge.csv", "18446744073709551616,1\n", "line 1: the id '18446744073709551616' does not fit"),
    ("latin.csv", b"a,b\n\xff,c\n", "line 2 is not UTF-8 text"),
    ("wide.csv", "0,1\n".encode("utf-16"), "UTF-16"),
    ("binary.csv", b"0,1\n\0\0\n", "binary"),
    ("quote.csv", 'a,"b\nc,d\n', "quotes"),
    ("bip.txt", "% bip unweighted\n1 2\n", "two columns number different vertices"),
    ("odd.csv", "x,y\n0,1\n", r"must have columns src, dst \(got x, y\); name those"),
    ("lines.txt", "hello\nthere\n", "no list of edges"),
    ("twice.csv", "src,src\n0,1\n", "name each column differently"),
    ("pairs.csv", "source,target,from,to\n0,1,2,3\n", "may be the ends of edges"),
    ("types.csv", "Source,Target,Type\n0,1,Undirected\n0,2,Directed\n0,3,?\n", None),
    ("sparse.csv", "8278237827,15830\n", "ids are sparse, 2 distinct ones up to 8,278,237,827; "),
    ("negative.csv", "-5,3\n", r"numbered from 0 \(got -5\); mgraph convert"),
    ("both.csv", "18446744073709551615,-1\n", "fit 64 bits together"),
]


@pytest.mark.parametrize(("name", "text", "words"), BAD, ids=lambda x: str(x)[:12])
def test_what_is_refused(tmp_path, name, text, words):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    if words is None:
        read(path)
        return
    with pytest.raises(DatasetError, match=words) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}")


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("a,b\nb,c\n", ["a", "b", "c"]),
        ("007,7\n", ["007", "7"]),
        ('"a, b",c\n"x ""y""",d\n', ["a, b", "c", "d", 'x "y"']),
        ("é,a\n", ["a", "é"]),
        ("1a,22\n3b,1a\n", ["1a", "22", "3b"]),
    ],
)
def test_names_are_numbered_in_their_order(tmp_path, text, labels):
    (tmp_path / "a.csv").write_text(text)
    assert list(read(tmp_path / "a.csv")[0].labels) == labels


def test_renumbered_numbers(tmp_path):
    (tmp_path / "a.csv").write_text("8278237827,15830\n-4,15830\n")
    graph, _ = read(tmp_path / "a.csv", renumber=True)
    assert list(graph.labels) == [-4, 15830, 8278237827]
    assert rows_of(graph) == [(0, 1), (2, 1)]
    (tmp_path / "b.csv").write_text("18446744073709551615,0\n")
    assert list(read(tmp_path / "b.csv", renumber=True)[0].labels) == [0, 2**64 - 1]
    (tmp_path / "c.csv").write_text("1,0\n")
    assert read(tmp_path / "c.csv", renumber=True)[0].labels is None
    (tmp_path / "d.csv").write_text("10,9\n")
    assert list(read(tmp_path / "d.csv", text_ids=True)[0].labels) == ["10", "9"]


def test_columns_that_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("5,0,9,1\n6,1,9,2\n")
    graph, _ = read(tmp_path / "a.csv", columns="weight,src,when,dst")
    assert rows_of(graph) == [(0, 1, 5), (1, 2, 6)]
    (tmp_path / "b.csv").write_text("a,b,length\n0,1,5\n")
    graph, _ = read(tmp_path / "b.csv", src="b", dst="a", weight="length")
    assert rows_of(graph) == [(1, 0, 5)]
    for options, words in (
        ({"weight": "lenght"}, "no column lenght; .*did you mean 'length'"),
        ({"src": "a"}, "src and dst must be given together"),
        ({"src": "a", "dst": "a"}, "must be different columns"),
        ({"columns": ["a"]}, "at least two different names"),
        ({"delimiter": "xy"}, "delimiter must be"),
    ):
        with pytest.raises(UsageError, match=words):
            read(tmp_path / "b.csv", **options)
    with pytest.raises(DatasetError, match="it has 3 columns, and the columns given are 2"):
        read(tmp_path / "b.csv", columns="src,dst")
    (tmp_path / "c.gr").write_text("p sp 2 1\na 1 2 7\n")
    with pytest.raises(UsageError, match="have no number 'km'"):
        read(tmp_path / "c.gr", weight="km")
    with pytest.raises(UsageError, match="names columns of tables, and"):
        read(tmp_path / "c.gr", src="a", dst="b")


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".zst"])
def test_compressed_text(tmp_path, ending):
    text = b"src,dst,weight\n" + b"".join(b"%d,%d,7\n" % (i, i + 1) for i in range(1000))
    path = tmp_path / f"a.csv{ending}"
    compress = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}.get(
        ending, lambda x: pa.compress(x, "zstd", asbytes=True)
    )
    path.write_bytes(compress(text))
    graph, _ = read(path)
    assert graph.num_arcs == 1000
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DatasetError, match="truncated or damaged"):
        read(path)


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setattr(edge_tables, "_CHUNK_BYTES", 512)
    monkeypatch.setattr(text_pieces, "_PIECE_BYTES", 128)
    monkeypatch.setattr(text_pieces, "_HEAD_BYTES", 256)


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("final", [True, False])
def test_a_large_file_is_read_in_pieces(tmp_path, small_pieces, end, final):
    random = np.random.default_rng(1)
    ends = random.integers(0, 1000, (500, 2))
    lines = ["# comment", "src dst", *(f"{u} {v}" for u, v in ends.tolist())]
    path = tmp_path / "a.txt"
    path.write_text(end.join(lines) + end * final, newline="")
    tables = edge_tables.open_tables(str(path), ReadOptions().table)
    assert len(tables.chunks) > 3
    graph, _ = read(path)
    assert rows_of(graph) == sorted(map(tuple, ends.tolist()))
    lines[400] = "12 x"
    path.write_text(end.join(lines), newline="")
    with pytest.raises(DatasetError, match=r"line 401: dst must be a whole number"):
        read(path)


def test_quotes_that_hide_the_ends_of_lines(tmp_path, small_pieces):
    rows = [f'"name\n{i}","name\n{i + 1}"' for i in range(100)]
    (tmp_path / "a.csv").write_text("\n".join(rows) + "\n")
    graph, _ = read(tmp_path / "a.csv")
    assert graph.n == 101
    assert "name\n7" in list(graph.labels)
    plain = [f"{i},{i + 1}" for i in range(200)]
    (tmp_path / "b.csv").write_text("\n".join([*plain, '"20\n1",3']) + "\n")
    with pytest.raises(DatasetError):
        read(tmp_path / "b.csv")


def test_mixed_numbers_in_pieces(tmp_path, small_pieces):
    lines = [f"{i},{i + 1},1" for i in range(200)] + ["200,201,2.5"]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    graph, _ = read(tmp_path / "a.csv")
    assert graph.weights.dtype == np.float64
    lines[0] = f"0,1,{2**53 + 1}"
    (tmp_path / "a.csv").write_text("\n".join(lines))
    with pytest.raises(DatasetError, match=re.escape("at most 2^53")):
        read(tmp_path / "a.csv")


def test_written_text_is_read_again(tmp_path):
    edges = mgraph.EdgeList([0, 1, 2], [1, 2, 0], [5, 6, 7])
    for directed in (True, False):
        graph = mgraph.from_edges(edges, directed=directed, backend="cpu")
        for name in ("a.csv", "a.tsv.gz", "a.feather", "a.csv.zst"):
            mgraph.write_graph(graph, tmp_path / name, overwrite=True)
            again, _ = read(tmp_path / name, symmetrise=not directed)
            assert rows_of(again) == rows_of(graph), name
        labelled = graph.with_labels(["x y", 'b"c', "z,"])
        mgraph.write_graph(labelled, tmp_path / "b.csv", overwrite=True)
        again, _ = read(tmp_path / "b.csv", symmetrise=not directed)
        assert sorted(again.labels) == sorted(labelled.labels)
        with pytest.raises(UsageError, match="a label must be a word"):
            mgraph.write_graph(labelled, tmp_path / "b.edges", overwrite=True)
    lonely = mgraph.from_edges(edges, 5, backend="cpu")
    with pytest.warns(MgraphWarning, match="2 vertices without edges are not in the file"):
        mgraph.write_graph(lonely, tmp_path / "c.csv")
