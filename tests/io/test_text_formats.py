"""Graph files of text: damaged ones, and the same numbers in many spellings."""

import numpy as np
import pytest

import mgraph
from mgraph import DatasetError

MATRIX = "%%MatrixMarket matrix coordinate"
DAMAGED = {
    "cut.gr": ("p sp 3 2\na 1 2 7\n", "says 2 arcs, and 1 follow"),
    "short.gr": ("p sp 3 2\na 1 2 7\na 1 2\n", "3"),
    "words.gr": ("p sp 3 1\na 1 x 7\n", "x"),
    "range.gr": ("p sp 3 1\na 1 4 7\n", r"\[1, 3\]"),
    "none.gr": ("hello\n", "no line 'p sp"),
    "empty.gr": ("", "no line 'p sp"),
    "edges.gr": ("p sp 3 1\ne 1 2 7\n", r"line 2 must be an arc .* \(got 'e 1 2 7'\)"),
    "cut.mtx": (
        "%%MatrixMarket matrix coordinate integer general\n3 3 2\n1 2 7\n",
        "says 2 entries, and 1 follow",
    ),
    "none.mtx": ("hello", "banner"),
    "binary.mtx": ("%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 1.\0\n", "no text"),
    "dense.mtx": ("%%MatrixMarket matrix array integer general\n1 1\n1\n", "coordinate"),
    "square.mtx": ("%%MatrixMarket matrix coordinate pattern general\n3 2 0\n", "square"),
    "cut.graph": ("3 2\n2\n1 3\n", "3 vertices, and 2 lines"),
    "count.graph": ("3 2\n2\n1 3\n\n", "says 2 edges"),
    "mirror.graph": ("3 2\n2\n3 3\n2\n", "in the lines of both its vertices"),
    "words.graph": ("2 1\n2\nx\n", "whole numbers"),
    "none.graph": ("hello\n", "first line"),
    "range.graph": ("2 1\n3\n1\n", r"\[1, 2\]"),
    "unsigned.mtx": (
        f"%%MatrixMarket matrix coordinate unsigned-integer general\n2 2 1\n2 1 {2**64 - 1}\n",
        "line 3: '18446744073709551615' does not fit 64 bits",
    ),
    "wide.mtx": (
        "%%MatrixMarket matrix coordinate integer general\n2 2 1\n2 1 18446744073709551615\n",
        "does not fit 64 bits",
    ),
    "wide.graph": (
        "2 1 001\n2 99999999999999999999\n1 99999999999999999999\n",
        "line 2, of vertex 1: .* does not fit 64 bits",
    ),
    "many.gr": ("p sp 99999999999999999999999 1\na 1 2 3\n", r"at most 2\^40 vertices"),
    "comma.mtx": (f"{MATRIX} real general\n2 2 1\n1 2 1,5\n", "line 3 .* '1,5' is not a number"),
    "fraction.mtx": (f"{MATRIX} real general\n2 2 1\n1 2 1/2\n", "'1/2' is not a number"),
    "hexadecimal.mtx": (f"{MATRIX} real general\n2 2 1\n1 2 0x10\n", "'0x10' is not a number"),
    "hexadecimal_whole.mtx": (
        f"{MATRIX} integer general\n2 2 1\n1 2 0x10\n",
        "'0x10' is not a whole number",
    ),
    "latin.gr": (b"p sp 3 1\na 1 \xb9 7\n", "line 2 must be an arc"),
    "hexadecimal.gr": ("p sp 3 1\na 1 0X2 7\n", "'0X2' is not a whole number"),
    "score.mtx": (f"{MATRIX} integer general\n2 2 1\n1 2 1_0\n", "'1_0' is not a whole number"),
    "whole.mtx": (f"{MATRIX} integer general\n2 2 1\n1 2 1.5\n", "'1.5' is not a whole number"),
    "missing.mtx": (f"{MATRIX} real general\n2 2 1\n1 2 NA\n", "'NA' is not a number"),
    "void.mtx": (f"{MATRIX} real general\n2 2 2\n1 2 1\n1 2\n", "line 4 must be an entry"),
    "values.mtx": (f"{MATRIX} pattern general\n3 3 1\n1 2 7\n", "line 3 must be an entry ROW COL"),
    "bare.mtx": (f"{MATRIX} real general\n1 2 1.5\n", "line 2 must be the size line"),
    "outside.mtx": (f"{MATRIX} pattern general\n2 2 1\n0 1\n", r"\[1, 2\] \(got 0\)"),
    "wide_text.mtx": ("\ufeff".encode("utf-16-le"), "UTF-16"),
    "loop.graph": ("2 1\n1 1\n\n", "no self-loops, and line 2, of vertex 1, lists itself"),
    "fraction.graph": ("% c\n2 1 1\n2 1.5\n1 1.5\n", "line 3, of vertex 1, .* '1.5' is none"),
    "range_above.graph": ("2 1\n2\n1 3\n", r"\[1, 2\] \(line 3, of vertex 2, has 3\)"),
    "odd.graph": ("2 1 1\n2\n1 1\n", "line 2, of vertex 1, must have a weight after each"),
    "fraction.gr": ("c\np sp 2 1\na 1 2 5.5\n", "line 3 .*'5.5' is not a whole number"),
    "blank.gr": ("p sp 2 1\na 1 2 NA\n", "'NA' is not a whole number"),
    "galois.gr": (b"\1" + b"\0" * 23, "binary graph of Galois"),
    "other.gr": (b"\3" + b"\0" * 23, "binary, and no text"),
    "cut.graphml": ("<graphml><graph>", "GraphML"),
    "none.gexf": ("<x/>", "GEXF"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_files_say_what_is_wrong(tmp_path, name):
    content, words = DAMAGED[name]
    (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    with pytest.raises(DatasetError, match=words) as error:
        mgraph.read_graph(tmp_path / name, backend="cpu")
    assert name in str(error.value)


SPELLINGS = [
    ("g.gr", "p sp 3 2\na 1 2 {}\na 2 3 4\n"),
    ("g.gr", "c\np\tsp  3 2 \n\n  a\t1   2 {} \nc 1 2 3\na 2 3 4"),
    ("g.mtx", MATRIX + " integer general\n% c\n\n3 3 2\n1 2 {}\n2 3 4\n"),
    ("g.mtx", MATRIX.upper() + " Real General\n 3  3\t2\n\n1  2\t{} \n% 1 2 3\n2 3 4"),
]


@pytest.mark.parametrize(("name", "text"), SPELLINGS)
@pytest.mark.parametrize("weight", ["7", "7.0", "+7", "0.7e1", "07"])
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_numbers_are_read_in_any_spelling(tmp_path, name, text, weight, ends, mark):
    written = mark + text.format(weight).replace("\n", ends)
    (tmp_path / name).write_bytes(written.encode())
    graph = mgraph.read_graph(tmp_path / name, backend="cpu")
    assert graph.directed
    np.testing.assert_array_equal(graph.weights, [7, 4])
    np.testing.assert_array_equal(graph.indices, [1, 2])


@pytest.mark.parametrize("spelling", ["{} 1", "{} 1\r", " {}\t1 "])
def test_a_metis_file_in_other_spellings(tmp_path, spelling):
    lines = ["3 2 001 1", "% 9 9", "2 5", spelling.format("1 5 3"), spelling.format("2")]
    (tmp_path / "g.graph").write_bytes(("\ufeff" + "\n".join(lines)).encode())
    graph = mgraph.read_graph(tmp_path / "g.graph", backend="cpu")
    np.testing.assert_array_equal(graph.weights, [5, 5, 1, 1])


def test_a_symmetric_matrix_may_list_either_half(tmp_path):
    (tmp_path / "g.mtx").write_text(f"{MATRIX} integer symmetric\n3 3 3\n2 1 7\n2 3 4\n3 3 1\n")
    graph = mgraph.read_graph(tmp_path / "g.mtx", backend="cpu")
    edges = graph.to_edges()
    assert not graph.directed
    assert list(zip(*map(np.ndarray.tolist, edges), strict=True)) == [
        (1, 0, 7),
        (2, 1, 4),
        (2, 2, 1),
    ]


def test_comments_anywhere_in_a_dimacs_file(tmp_path):
    (tmp_path / "g.gr").write_text("c 1 2 3\np sp 3 2\na 1 2 3\nc 4 5 6\nc\na 2 3 4\nc x y\n")
    graph = mgraph.read_graph(tmp_path / "g.gr", backend="cpu")
    np.testing.assert_array_equal(graph.weights, [3, 4])


@pytest.mark.parametrize("number", ["1e99999999999999999999", "-1e-99999999999999999999"])
def test_exponents_beyond_all_numbers(number, tmp_path):
    (tmp_path / "g.gr").write_text(f"p sp 2 1\na 1 2 {number}\n")
    with pytest.raises(DatasetError, match="is not a whole number"):
        mgraph.read_graph(tmp_path / "g.gr", backend="cpu")
