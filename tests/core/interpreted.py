"""Functions that are ``compiled_when_hot`` run by Python's interpreter, or by machine code."""

import contextlib
import sys

import pytest

from mgraph.core import compiled


def functions():
    """All of the package's that are imported, by their names."""
    return {
        f"{module.__name__}.{name}": value
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith("mgraph.")
        for name, value in vars(module).items()
        if isinstance(value, compiled._CompiledWhenHot)
    }


@contextlib.contextmanager
def interpreting(interpreted):
    """For the length of a block, interpret all of these functions, or none."""
    limits = compiled.INTERPRETED_SECONDS, compiled.INTERPRETED_ELEMENTS
    previous = {one: one._is_hot for one in functions().values()}
    for one in previous:
        one._is_hot = not interpreted
    compiled.INTERPRETED_SECONDS = compiled.INTERPRETED_ELEMENTS = float("inf")
    monkeypatch = pytest.MonkeyPatch()
    monkeypatch.setattr(compiled._CompiledWhenHot, "_has_machine_code", lambda *arguments: False)
    try:
        yield
    finally:
        monkeypatch.undo()
        compiled.INTERPRETED_SECONDS, compiled.INTERPRETED_ELEMENTS = limits
        for one, is_hot in previous.items():
            one._is_hot = is_hot
