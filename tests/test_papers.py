"""The pages on the papers name files and symbols that exist, and leave no cell out."""

import pathlib
import re

import pytest

from tests.benchmarks.commands import commands_in

ROOT = pathlib.Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "papers").glob("*.md"))
FILE = re.compile(r"`((?:mgraph|workflows|tests|docs)/[\w./-]+)`(: `[^`|/]+`(?:, `[^`|/]+`)*)?")
NAME = re.compile(r"`([A-Za-z_][\w.:]*)")
PROGRAM = re.compile(r"python (?:-m (tests\.benchmarks\.\w+)|(workflows/\w+\.py))(.*)")
WORD = re.compile(r"\w+")
COLUMNS = {"Algorithms and equations": 3, "Figures and tables": 5, "Claims": 3}


def cited(text):
    """Yield each file that is cited, with the symbols that follow it after a colon."""
    for file, symbols in FILE.findall(text):
        yield file, [WORD.findall(name)[-1] for name in NAME.findall(symbols)]


def test_there_is_a_page_per_paper():
    overview = (ROOT / "docs" / "papers.md").read_text()
    assert len(PAGES) == 5
    for page in PAGES:
        assert f"(papers/{page.name})" in overview


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_is_cited_exists(page):
    found = list(cited(page.read_text()))
    assert len(found) > 50
    assert sum(len(names) for _, names in found) > 40
    for file, names in found:
        path = ROOT / file
        assert path.exists(), file
        text = path.read_text() if names else ""
        assert not [name for name in names if name not in text], file


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_name_programs_that_exist_and_their_words(page):
    """Other tests run them: tests/workflows each figure, tests/benchmarks each benchmark."""
    commands = [command for command in commands_in(page.read_text()) if PROGRAM.match(command)]
    assert commands
    for command in commands:
        module, script, rest = PROGRAM.match(command).groups()
        text = (ROOT / (script or module.replace(".", "/") + ".py")).read_text()
        words = [word for word in rest.split() if re.fullmatch(r"(--)?[a-z_]{3,}[a-z_-]*", word)]
        assert not [word for word in words if word not in text.replace("_", "-") + text], command


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_tables_are_whole(page):
    sections = re.split(r"^## ", page.read_text(), flags=re.MULTILINE)[1:]
    assert [section.splitlines()[0] for section in sections] == list(COLUMNS)
    for section in sections:
        columns = COLUMNS[section.splitlines()[0]]
        rows = [line for line in section.splitlines() if line.startswith("|")]
        assert len(rows) > 3
        for row in rows:
            cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]
            assert len(cells) == columns, row
            assert all(cells), row
