"""How messages say how many there are."""


def counted(number: int, noun: str, plural: str = "") -> str:
    """The number and its noun: "1 part", "2,000 parts". plural: of a noun that takes no -s."""
    return f"{number:,} {noun if number == 1 else plural or f'{noun}s'}"


def counted_parts(parts: int, kept: int) -> str:
    """The parts of a dataset, of which a resumed run has kept some: "8 parts, 3 of them kept"."""
    return counted(parts, "part") + (f", {kept:,} of them kept" if kept else "")
