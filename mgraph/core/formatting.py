"""How messages word counts, numbers, times, and text of unknown origin."""

import datetime
import shlex
from collections.abc import Iterable
from typing import Any

_ESCAPES = {"\n": "\\n", "\t": "\\t", "\r": "\\r", "\x1b": "\\e"}


def pluralize(number: int, noun: str, plural: str = "") -> str:
    """The number and its noun: "1 part", "2,000 parts". plural: of a noun that takes no -s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def format_number(value: float, digits: int = 4) -> str:
    """A number with so many digits that mean something, and no power of ten: "17,270", "0.25"."""
    whole = 10 ** (digits - 1) <= abs(value) < 1e15
    return f"{value:,.0f}" if whole else f"{value:.{digits}g}"


def format_sum(value: float, digits: int = 15) -> str:
    """A whole number with all digits, or a sum of fractions with those that mean something.

    digits: those of the fractions' type, 15 of 64 bits or 7 of 32 bits: "169.14" instead of
    "169.14000000000001".
    """
    if isinstance(value, int):
        return f"{value:,}"
    return f"{value:,.0f}" if 10**digits <= abs(value) < 1e18 else f"{value:,.{digits}g}"


def digits_of(dtype: Any) -> int:
    """How many decimal digits a type of weights has, for ``format_sum``."""
    return 7 if getattr(dtype, "itemsize", 8) == 4 else 15


def format_quantity(value: float) -> str:
    """A number with three digits and an SI prefix: "1.23 G"."""
    for power, prefix in ((18, "E"), (15, "P"), (12, "T"), (9, "G"), (6, "M"), (3, "k")):
        if value >= 0.9995 * 10**power:  # with three digits that is 1
            return f"{value / 10**power:.3g} {prefix}"
    return f"{value:.3g}"


def format_duration(seconds: float) -> str:
    """Hours, minutes and seconds: "1:02:03", or "0:07"."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def format_seconds(seconds: float) -> str:
    """A time with three digits, as people read it: "0.42 ms", "31.2 s", "2,150 s"."""
    if seconds < 0.9995e-3:
        return f"{1000 * seconds:.2g} ms" if seconds >= 1e-6 else "0.001 ms"
    if seconds < 0.9995:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:,.0f} s"


def format_total_time(total: float, compiling: float) -> str:
    """The end of a report of work: what it took from the command's begin, and to compile."""
    of_that = f", of which {format_seconds(compiling)} compiling" if compiling else ""
    return f"{format_seconds(total)} in all{of_that}"


def format_parts(parts: int, kept: int) -> str:
    """The parts of a dataset, of which a resumed run has kept some: "8 parts, 3 of them kept"."""
    return pluralize(parts, "part") + (f", {kept:,} of them kept" if kept else "")


def format_local_time(time: str) -> str:
    """A time of a record, ISO 8601 with its zone, as commands show it: 2026-01-31 23:59:59+09:00.

    What is no such time is shown escaped, as it is.
    """
    try:
        moment = datetime.datetime.fromisoformat(time).astimezone()
    except (ValueError, OverflowError, OSError):
        return escape(time)
    return moment.isoformat(sep=" ", timespec="seconds")


def escape(text: str) -> str:
    """The text in one line, without what would move a cursor or hide: ``\\n`` for a new line."""
    return "".join(one if one.isprintable() else _escape(one) for one in text)


def shell_command(words: Iterable[str]) -> str:
    """A command line as a shell would take it, in one line of printable characters."""
    return " ".join(map(_shell_word, words))


def _shell_word(word: str) -> str:
    if word.isprintable():
        return shlex.quote(word)
    inside = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{escape(inside)}'"


def _escape(character: str) -> str:
    """As Bash writes it between $' and '."""
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:  # how Python keeps a byte that is no UTF-8
        return f"\\x{number - 0xDC00:02x}"
    short = f"\\x{number:02x}" if number < 0x80 else f"\\u{number:04x}"
    return _ESCAPES.get(character, short if number < 1 << 16 else f"\\U{number:08x}")
