"""The workflows do what their first lines say."""

import pathlib

from tests.modules import module_of

FOLDER = pathlib.Path(__file__).parents[2] / "workflows"


def load(name):
    """A workflow's module."""
    return module_of(FOLDER / f"{name}.py")
