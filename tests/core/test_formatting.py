"""Names and times are shown in one printable line, and commands can be read back."""

import shutil
import subprocess

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mgraph.core.formatting import (
    escape,
    format_local_time,
    format_number,
    format_quantity,
    format_seconds,
    format_total_time,
    pluralize,
    shell_command,
)

CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
# What Python makes of bytes that are no UTF-8, which it gives back as those bytes.
BYTES = st.binary(max_size=8).map(
    lambda text: text.replace(b"\0", b"").decode(errors="surrogateescape")
)


@given(st.lists(st.text(CHARACTERS) | BYTES, min_size=1, max_size=4))
@example(["new\nline"])
@example(["it's", "a\tb'c\\d", "", "\u202e\x1b[2J", "caf\udce9", "\U000e0001"])
@settings(max_examples=60, deadline=None)
def test_a_command_is_one_printable_line_that_a_shell_reads_back(words):
    line = shell_command(words)
    assert line.isprintable()
    assert escape(line) == line
    if (bash := shutil.which("bash")) is not None:
        printed = subprocess.run(
            [bash, "-c", f"printf '%s\\0' {line}"], capture_output=True, check=True,
            env={"LC_ALL": "C.UTF-8"},
        ).stdout  # fmt: skip
        assert printed == b"".join(w.encode(errors="surrogateescape") + b"\0" for w in words)


def test_a_new_line_is_escaped():
    assert (
        shell_command(["args.py", "new\nline", "two words"]) == r"args.py $'new\nline' 'two words'"
    )
    assert escape("a\r\nb\x1b[2Jc\x85\u2028") == r"a\r\nb\e[2Jc\u0085\u2028"


@pytest.mark.parametrize(
    ("zone", "time", "shown"),
    [
        ("Asia/Tokyo", "2026-01-31T14:59:59.123+00:00", "2026-01-31 23:59:59+09:00"),
        ("UTC", "2026-01-31T14:59:59.123+00:00", "2026-01-31 14:59:59+00:00"),
        ("America/St_Johns", "2026-07-31T23:59:59+02:00", "2026-07-31 19:29:59-02:30"),
        ("Asia/Tokyo", "noon\n", r"noon\n"),
        ("Asia/Tokyo", "9999-12-31T23:59:59+00:00", None),
    ],
)
def test_times_have_the_local_offset(monkeypatch, zone, time, shown):
    import time as clock

    monkeypatch.setenv("TZ", zone)
    clock.tzset()
    try:
        found = format_local_time(time)
    finally:
        monkeypatch.undo()
        clock.tzset()
    assert found == shown or (shown is None and found)


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(0, "0.001 ms"), (4.2e-4, "0.42 ms"), (9.999e-4, "1 ms"), (0.0312, "31.2 ms"),
     (0.9994, "999 ms"), (0.9996, "1 s"), (31.2, "31.2 s"), (999.4, "999 s"), (2150, "2,150 s")],
)  # fmt: skip
def test_times(seconds, expected):
    assert format_seconds(seconds) == expected


@given(st.floats(0, 1e9))
def test_no_time_is_shown_as_a_power_of_ten(seconds):
    assert "e" not in format_seconds(seconds)


@given(st.floats(1e-4, 9e20))
def test_no_number_is_shown_as_a_power_of_ten(value):
    assert "e" not in format_quantity(value)
    assert len(format_quantity(value).split()[0]) <= 8


@pytest.mark.parametrize(
    ("value", "expected"),
    [(17270.4, "17,270"), (1324.5, "1,324"), (999.96, "1000"), (16, "16"), (0.00012, "0.00012"),
     (float("nan"), "nan"), (-5e4, "-50,000")],
)  # fmt: skip
def test_numbers_have_significant_digits_only(value, expected):
    assert format_number(value) == expected


def test_the_total_time_of_a_command():
    assert format_total_time(3.5, 0) == "3.5 s in all"
    assert format_total_time(41, 39.5) == "41 s in all, of which 39.5 s compiling"
    assert pluralize(1, "search", "searches") == "1 search"
