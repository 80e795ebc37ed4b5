"""RDF graphs in N-Triples: a line per triple of subject, predicate and object.

Source: "RDF 1.1 N-Triples", W3C Recommendation, 25 February 2014. Subjects and objects are the
vertices, literals among them, and each triple is an arc from its subject to its object; the
predicate is an attribute. IRIs stand without angle brackets, blank nodes as ``_:label``, and
literals in quotes, with ``@language`` or ``^^<type>``; a term is the same in every spelling of its
characters.
"""

import re

import pyarrow as pa
import pyarrow.compute as pc

from mgraph.errors import UsageError
from mgraph.io.tables.column_names import ColumnRequest
from mgraph.io.tables.text_layout import TextLayout
from mgraph.io.text import quote

_UNICODE = r"\\u[0-9A-Fa-f]{4}|\\U[0-9A-Fa-f]{8}"
_IRI = rf'<(?:[^<>"{{}}|^`\\\x00-\x20]|{_UNICODE})*>'
_BLANK = r'_:[^\s<>"]*[^\s<>".]'
_LITERAL = (
    rf"""(?:"(?:[^"\\\r\n]|\\[tbnrf"'\\]|{_UNICODE})*")"""
    rf"(?:\^\^{_IRI}|@[A-Za-z]+(?:-[A-Za-z0-9]+)*)?"
)
_TRIPLE = (
    rf"^[ \t]*(?P<src>{_IRI}|{_BLANK})[ \t]*(?P<predicate>{_IRI})"
    rf"[ \t]*(?P<dst>{_IRI}|{_BLANK}|{_LITERAL})[ \t]*\.[ \t]*(?:#.*)?$"
)
# Of most lines, without escapes and blank nodes: RE2 finds its parts in one pass, and sooner.
_PLAIN_IRI = r'<[^<>"{}|^`\\\x00-\x20]*>'
_USUAL = (
    rf"^(?P<src>{_PLAIN_IRI}) (?P<predicate>{_PLAIN_IRI}) "
    rf'(?P<dst>{_PLAIN_IRI}|"[^"\\\r\n]*"(?:\^\^{_PLAIN_IRI})?) \.$'
)
_ESCAPE = re.compile(rf"{_UNICODE}|\\.")
_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_ESCAPED = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r"})


def find_layout(content: bytes, request: ColumnRequest, delimiter: str | None) -> TextLayout:
    """Return the layout of a file whose beginning is given, in whole lines.

    Raises UsageError if columns are named, and ValueError if the file is not N-Triples.
    """
    options = {
        "columns": request.columns, "src": request.src, "dst": request.dst,
        "weight": request.weight, "delimiter": delimiter,
    }  # fmt: skip
    for name, value in options.items():
        if value is not None:
            raise UsageError(
                f"N-Triples have no columns, so {name} cannot be given", parameter=name
            )
    batch = parse_triples(content, 1)
    notes = []
    if not batch.num_rows:
        notes.append("it has no edges")
    elif pc.any(pc.starts_with(batch.column("dst"), '"')).as_py():
        notes.append("literals are vertices, too")
    names = "subject", "predicate", "object"
    return TextLayout(
        None, None, names, (0, 2), None, None, "text", True, 1, tuple(notes), is_triples=True
    )


def parse_triples(content: bytes, first_line: int) -> pa.RecordBatch:
    """Parse lines as rows: src, dst and predicate, strings.

    first_line: the number of the first line. Raises ValueError that names the line which is wrong.
    """
    try:
        lines = pa.array(content.decode().split("\n"), pa.string())
    except UnicodeDecodeError as error:
        number = first_line + content.count(b"\n", 0, error.start)
        raise ValueError(f"line {number} is not UTF-8 text; save the file as UTF-8") from None
    places = pc.indices_nonzero(pc.invert(pc.match_substring_regex(lines, r"^[ \t]*(#|$)")))
    lines = lines.take(places)
    usual = pc.extract_regex(lines, _USUAL)
    is_other = pc.is_null(usual)
    others = pc.extract_regex(lines.filter(is_other), _TRIPLE)
    if others.null_count:
        wrong = pc.indices_nonzero(is_other)[pc.index(pc.is_null(others), True).as_py()].as_py()
        raise ValueError(
            f"line {first_line + places[wrong].as_py()} must be a triple, `subject predicate "
            f"object .` (got {quote(lines[wrong].as_py().encode())})"
        )
    columns = {}
    for name in ("src", "dst", "predicate"):
        terms = pc.replace_with_mask(usual.field(name), is_other, others.field(name))
        if pc.any(pc.match_substring(terms, "\\")).as_py():
            try:
                terms = pa.array(list(map(_unescape, terms.to_pylist())), pa.string())
            except ValueError as error:
                first, last = (first_line + places[place].as_py() for place in (0, -1))
                raise ValueError(f"{error}, in lines {first} to {last}") from None
        inner = pc.utf8_slice_codeunits(terms, 1, -1)
        columns[name] = pc.if_else(pc.starts_with(terms, "<"), inner, terms)
    return pa.RecordBatch.from_pydict(columns)


def _unescape(term: str) -> str:
    """Return a term with one spelling of its characters: a literal's escaped where they must be."""
    if "\\" not in term:
        return term
    if not term.startswith('"'):
        return _ESCAPE.sub(_character, term)
    end = term.rindex('"')
    content = _ESCAPE.sub(_character, term[1:end]).translate(_ESCAPED)
    return f'"{content}{_ESCAPE.sub(_character, term[end:])}'


def _character(escape: re.Match[str]) -> str:
    text = escape.group()
    if text[1] not in "uU":
        return _CHARACTERS.get(text[1], text[1])
    code = int(text[2:], 16)
    if code > 0x10FFFF or 0xD800 <= code < 0xE000:
        raise ValueError(f"{text} is no character")
    return chr(code)
