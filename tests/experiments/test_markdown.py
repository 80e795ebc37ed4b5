"""Tables as people read them."""

import pandas as pd

from mgraph import experiments
from mgraph.experiments.markdown import TableReport

TABLE = pd.DataFrame({"n": [1, 2], "s": [0.123456, 2.0]})


def test_a_table():
    assert (
        experiments.markdown_table(TABLE) == "| n | s |\n| --- | --- |\n| 1 | 0.1235 |\n| 2 | 2 |\n"
    )


def test_a_report_stands_in_the_order_of_places(tmp_path):
    report = TableReport(tmp_path, "Times\n\nof a day")
    report.add("late", "Late", TABLE, place=7)
    report.add("early", "Early", TABLE, shown=TABLE[:1], place=3)
    report.add("late", "Later", TABLE, place=7)
    text = (tmp_path / "tables.md").read_text()
    assert text.startswith(
        "# Times\n\nof a day\n\n## Early\n\n| n | s |\n| --- | --- |\n| 1 | 0.12"
    )
    assert text.count("| 2 | 2 |") == 1
    assert "## Late\n" not in text
    assert text.index("## Early") < text.index("## Later")
    assert pd.read_parquet(tmp_path / "early.parquet").equals(TABLE)
