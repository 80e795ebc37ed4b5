"""Types of the options of ``mgraph steiner``."""

from typing import Any

import click

from mgraph.core.numbers import parse_number
from mgraph.io.vertex_lists import split_names


class Sample(click.ParamType):
    """``K:COUNT[,K:COUNT…]``."""

    name = "sample"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[tuple[int, int]]:
        """Parse the option's value."""
        try:
            pairs = [tuple(map(parse_number, pair.split(":"))) for pair in value.split(",")]
            return [(k, count) for k, count in pairs]
        except ValueError:
            self.fail(
                f"must be K:COUNT[,K:COUNT...], such as 2:10,4:10 (got {value!r})", param, ctx
            )


class Vertices(click.ParamType):
    """``V,V,…``."""

    name = "vertices"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[str]:
        """Parse the option's value."""
        if '"' in value:
            names = split_names(value)
        else:
            words = value.split(",") if "," in value else value.split()
            names = [word.strip() for word in words if word.strip()]
        if not names:
            self.fail(f"must be a list of vertices, such as 3,14,159 (got {value!r})", param, ctx)
        return names
