"""How messages say how many there are, and how long something took."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """The number and its noun: "1 part", "2,000 parts". plural: of a noun that takes no -s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def rounded(value: float, digits: int = 4) -> str:
    """A number with so many digits that mean something, and no power of ten: "17,270", "0.25"."""
    whole = 10 ** (digits - 1) <= abs(value) < 1e15
    return f"{value:,.0f}" if whole else f"{value:.{digits}g}"


def time_taken(seconds: float) -> str:
    """A time with three digits, as people read it: "0.42 ms", "31.2 s", "2,150 s"."""
    if seconds < 0.9995e-3:
        return f"{1000 * seconds:.2g} ms" if seconds >= 1e-6 else "0.001 ms"
    if seconds < 0.9995:
        return f"{1000 * seconds:.3g} ms"
    return f"{seconds:.3g} s" if seconds < 999.5 else f"{seconds:,.0f} s"


def in_all(total: float, compiling: float) -> str:
    """The end of a report of work: what it took from the command's begin, and to compile."""
    of_that = f", of which {time_taken(compiling)} compiling" if compiling else ""
    return f"{time_taken(total)} in all{of_that}"


def counted_parts(parts: int, kept: int) -> str:
    """The parts of a dataset, of which a resumed run has kept some: "8 parts, 3 of them kept"."""
    return counted(parts, "part") + (f", {kept:,} of them kept" if kept else "")
