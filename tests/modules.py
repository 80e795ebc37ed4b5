"""Python files that are no part of a package."""

import importlib.util


def module_of(file):
    """What a Python file defines."""
    spec = importlib.util.spec_from_file_location("loaded", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
