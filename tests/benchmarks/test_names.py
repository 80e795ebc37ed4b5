"""The names of mgraph that benchmarks and workflows use exist, also without a GPU to run them."""

import ast
import importlib
import inspect
from pathlib import Path

import pytest

import mgraph
from tests.benchmarks.commands import ROOT

FILES = [*sorted((ROOT / "tests" / "benchmarks").glob("*.py")),
         *sorted((ROOT / "workflows").glob("*.py"))]  # fmt: skip


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_what_a_benchmark_uses_of_mgraph_is_there(file):
    assert not faults_of(file)


def test_a_benchmark_that_uses_what_is_gone_is_found(tmp_path):
    file = tmp_path / "b.py"
    file.write_text(
        "import mgraph\nfrom mgraph import CopyModel, nothing\nfrom mgraph.io import folder\n"
        "def f():\n    from mgraph.generators import cuppa_hash_gpu as c\n    c.empty_ids(1, 2)\n"
        "    c.fill(1, 2)\n    c.fill(1, 2, 3, 4, checksum=5)\n    mgraph.sssp(1, 2, speed=3)\n"
        "    mgraph.gone\n    CopyModel(9, 2, nope=1)\n    folder.Folder('x')\n    c.fill(*[1])\n"
    )
    assert sorted(fault.partition(":")[0] for fault in faults_of(file)) == [
        "CopyModel(9, 2, nope=1)", "c.fill(1, 2)", "mgraph has no gone", "mgraph has no nothing",
        "mgraph.generators.cuppa_hash_gpu has no empty_ids", "mgraph.sssp(1, 2, speed=3)",
    ]  # fmt: skip


def faults_of(file: Path):
    """Return the uses of mgraph in a file that do not exist or take other arguments."""
    tree, known, faults = ast.parse(file.read_text()), {}, []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and node.names[0].name == "mgraph":
            known["mgraph"] = mgraph
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "mgraph":
            for name in node.names:
                found = member(importlib.import_module(node.module), name.name)
                known[name.asname or name.name] = found
                if found is None:
                    faults.append(f"{node.module} has no {name.name}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            owner = known.get(node.value.id)
            if inspect.ismodule(owner) and member(owner, node.attr) is None:
                faults.append(f"{owner.__name__} has no {node.attr}")
        if isinstance(node, ast.Call):
            faults += fault_of_call(node, known)
    return faults


def member(module, name):
    """Return a module's member or submodule of that name, or None."""
    try:
        return getattr(module, name)
    except AttributeError:
        pass
    try:
        return importlib.import_module(f"{module.__name__}.{name}")
    except ImportError:
        return None


def fault_of_call(call, known):
    function = None
    if isinstance(call.func, ast.Name):
        function = known.get(call.func.id)
    elif isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
        owner = known.get(call.func.value.id)
        function = member(owner, call.func.attr) if inspect.ismodule(owner) else None
    options = [option.arg for option in call.keywords]
    starred = None in options or any(isinstance(x, ast.Starred) for x in call.args)
    if not callable(function) or starred:
        return []
    try:
        inspect.signature(function).bind(*call.args, **dict.fromkeys(options))
    except TypeError as error:
        return [f"{ast.unparse(call)}: {error}"]
    except ValueError:  # a class of C has no signature
        pass
    return []
