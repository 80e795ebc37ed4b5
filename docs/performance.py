"""Write the tables of docs/performance.md and README.md from docs/results.toml.

    python docs/performance.py [--check]

With --check nothing is written; the exit status is 1 if a page differs.
"""

import argparse
import sys
import tomllib
from pathlib import Path

DOCS = Path(__file__).parent
BEGIN, END = "<!-- figures of docs/results.toml -->", "<!-- end of figures -->"


def rows_of(lines):
    """A Markdown table."""
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def page_text(sections):
    """The sections of docs/performance.md."""
    text = ""
    for section in sections:
        text += f"## {section['title']}\n\n"
        head = ["what", "machine", "mgraph", "for comparison", "measured by"]
        lines = [head, ["---"] * len(head)]
        for figure in section["figure"]:
            command = f"`{figure['command']}`, {figure['date']}"
            own = f"**{figure['mgraph']}**"
            lines.append([figure["what"], figure["machine"], own, figure["anchor"], command])
        text += rows_of(lines)
        name = section["page"].removeprefix("../")
        text += f"\nMore, and what was tried: [`{name}`]({section['page']}).\n"
        text += f"{section['note'].strip()}\n\n" if section["note"] else "\n"
    return text.rstrip() + "\n"


def readme_text(sections):
    """The table of README.md."""
    figures = [figure for section in sections for figure in section["figure"]]
    lines = [["", "on", "mgraph", "for comparison"], ["---"] * 4]
    lines += [
        [figure["readme"], figure["machine"], figure["mgraph"], figure["anchor"]]
        for figure in figures
        if "readme" in figure
    ]
    return rows_of(lines)


def main():
    """Write the pages, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    check = parser.parse_args().check
    sections = tomllib.loads((DOCS / "results.toml").read_text())["section"]
    pages = {
        DOCS / "performance.md": page_text(sections),
        DOCS.parent / "README.md": readme_text(sections),
    }
    differs = False
    for page, text in pages.items():
        before = page.read_text()
        begin, end = before.index(BEGIN) + len(BEGIN), before.index(END)
        after = f"{before[:begin]}\n\n{text}\n{before[end:]}"
        if after != before:
            differs = True
            print(f"{page} differs from docs/results.toml", file=sys.stderr)
            if not check:
                page.write_text(after)
    sys.exit(check and differs)


if __name__ == "__main__":
    main()
