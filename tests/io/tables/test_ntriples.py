"""RDF graphs in N-Triples: terms in any spelling, files in ranges, and lines that are wrong."""

import gzip

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph.errors import DatasetError, UsageError
from mgraph.io.tables import edge_tables, ntriples

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
IRIS = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Z"], exclude_characters='<>"{}|^`\\ '),
    min_size=1, max_size=8,
)  # fmt: skip
BLANKS = st.from_regex(r"_:[A-Za-z0-9]([A-Za-z0-9.]{0,4}[A-Za-z0-9])?", fullmatch=True)
LITERALS = st.tuples(
    st.text(CHARACTERS, max_size=8),
    st.sampled_from(["", "@en", "@de-CH", "^^<http://www.w3.org/2001/XMLSchema#int>"]),
)
SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r"}


@st.composite
def spellings(draw, text, must=""):
    """A spelling of some text, whose characters may be escaped; those of ``must`` have to be."""
    result = ""
    for character in text:
        forms = [character] * (character not in must)
        forms += [f"\\U{ord(character):08x}"]
        if ord(character) < 0x10000:
            forms += [f"\\u{ord(character):04X}"]
        if must and character in SHORT:
            forms += [SHORT[character]]
        result += draw(st.sampled_from(forms))
    return result


@st.composite
def terms(draw, literal=True):
    """A term: as a graph has it, and as a line spells it."""
    kind = draw(st.sampled_from(["iri", "blank", "literal"] if literal else ["iri", "blank"]))
    if kind == "iri":
        iri = draw(IRIS)
        return iri, f"<{draw(spellings(iri))}>"
    if kind == "blank":
        return (draw(BLANKS),) * 2
    text, suffix = draw(LITERALS)
    own = "".join(SHORT.get(character, character) for character in text)
    return f'"{own}"{suffix}', f'"{draw(spellings(text, must="".join(SHORT)))}"{suffix}'


@given(st.data())
@settings(deadline=None, max_examples=150)
def test_terms_are_the_same_in_every_spelling(data):
    blanks = st.sampled_from(["", " ", "\t  "])
    lines, expected = [], []
    for _ in range(data.draw(st.integers(0, 5))):
        subject = data.draw(terms(literal=False))
        predicate = data.draw(IRIS)
        target = data.draw(terms())
        gaps = [data.draw(blanks) for _ in range(4)]
        line = f"{gaps[0]}{subject[1]}{gaps[1]}<{predicate}>{gaps[2]}{target[1]}{gaps[3]}."
        lines.append(line + data.draw(st.sampled_from(["", " # x <y> .", "  "])))
        lines += data.draw(st.sampled_from([[], [""], ["# <a> <b> <c> ."], ["  "]]))
        expected.append((subject[0], target[0], predicate))
    batch = ntriples.parse_triples("\n".join([*lines, ""]).encode(), 1)
    assert [tuple(row.values()) for row in batch.to_pylist()] == expected


@pytest.mark.parametrize(
    "line",
    [
        "<a> <b> <c>", "<a> <b> .", "<a> _:p <c> .", '"a" <b> <c> .', "<a> <b> c .",
        "<a b> <b> <c> .",
        '<a> <b> "c .', '<a> <b> "c"@ .', '<a> <b> "c"^^d .', r'<a> <b> "\x" .', r"<\n> <b> <c> .",
        "<a> <b> <c> . <d>", "<a> <b> <c> <d> .", "_:. <b> <c> .",
    ],
)  # fmt: skip
def test_wrong_lines_are_named(line, tmp_path):
    (tmp_path / "a.nt").write_text(f"# one\n<a> <b> <c> .\n\n{line}\n<a> <b> <c> .\n")
    with pytest.raises(DatasetError, match=r"a\.nt: line 4 must be a triple"):
        mgraph.read_graph(tmp_path / "a.nt")


def test_what_is_no_character_or_no_text(tmp_path):
    (tmp_path / "a.nt").write_text('\n<a> <b> "\\uD800" .\n')
    with pytest.raises(DatasetError, match=r"\\uD800 is no character, in lines 2 to 2"):
        mgraph.read_graph(tmp_path / "a.nt")
    (tmp_path / "a.nt").write_bytes(b'<a> <b> <c> .\n<a> <b> "\xff" .\n')
    with pytest.raises(DatasetError, match="line 2 is not UTF-8 text"):
        mgraph.read_graph(tmp_path / "a.nt")


@pytest.fixture
def rdf(tmp_path):
    """A file of 300 triples, of which every third has a literal."""
    lines = []
    for i in range(300):
        target = f'"number {i % 7}"' if i % 3 == 0 else f"<http://v/{i * 7 % 50}>"
        lines.append(f"<http://v/{i % 50}> <http://p/{i % 4}> {target} .")
    (tmp_path / "a.nt").write_text("\n".join(lines) + "\n")
    return tmp_path / "a.nt"


def test_files_are_read_in_ranges(rdf, monkeypatch):
    whole = mgraph.read_graph(rdf)
    assert (whole.n, whole.num_arcs, whole.directed, whole.weights) == (57, 300, True, None)
    monkeypatch.setattr(edge_tables, "_CHUNK_BYTES", 999)
    ranges = mgraph.read_graph(rdf)
    assert list(ranges.labels) == list(whole.labels)
    assert ranges.indices.tolist() == whole.indices.tolist()
    with gzip.open(f"{rdf}.gz", "wb") as file:
        file.write(rdf.read_bytes())
    assert mgraph.read_graph(f"{rdf}.gz").indices.tolist() == whole.indices.tolist()
    rdf.write_text(rdf.read_text() + "<a> <b> c .\n")
    with pytest.raises(DatasetError, match="line 301 must be a triple"):
        mgraph.read_graph(rdf)


def test_a_dataset_keeps_ids_and_predicates(rdf, tmp_path):
    with pytest.warns(mgraph.MgraphWarning, match="literals are vertices, too"):
        mgraph.convert(str(rdf), str(tmp_path / "out"))
    table = pq.read_table(tmp_path / "out" / "part-00000.parquet")
    ids = list(mgraph.read_graph(tmp_path / "out").labels)
    rows = {(ids[row["src"]], row["predicate"], ids[row["dst"]]) for row in table.to_pylist()}
    assert len(table) == 300
    assert ("http://v/3", "http://p/3", '"number 3"') in rows
    assert ("http://v/1", "http://p/1", "http://v/7") in rows


def test_columns_cannot_be_named(rdf):
    with pytest.raises(UsageError, match="N-Triples have no columns, so weight cannot be given"):
        mgraph.read_graph(rdf, weight="predicate")
    with pytest.warns(mgraph.MgraphWarning) as caught:
        mgraph.read_graph(rdf)
    assert not [each for each in caught if "name it by" in str(each.message)]
