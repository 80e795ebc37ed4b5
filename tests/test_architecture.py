"""The rules of the house that a linter of imports does not know."""

import ast
import pathlib
import subprocess
import sys

import networkx
import pytest

from mgraph.cuda.source import headers

ROOT = pathlib.Path(__file__).parent.parent / "mgraph"
MODULES = sorted(ROOT.rglob("*.py"))
HEAVY = {"cupy", "cupyx", "dask", "distributed", "numba"}


def imports_of(file):
    """The top-level packages that a module imports anywhere, inside functions too."""
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            yield from (name.name.split(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(ROOT)))
def test_who_may_import_what(file):
    imported = set(imports_of(file))
    folder = file.relative_to(ROOT).parts[0]
    if imported & {"cupy", "cupyx"}:
        assert folder == "cuda" or file.stem.endswith("_gpu")
    if "numba" in imported:
        assert folder == "core" or file.stem.endswith("_cpu")
    if imported & {"dask", "distributed", "dask_cuda"}:
        assert folder == "distributed"


@pytest.mark.parametrize("file", MODULES, ids=lambda file: str(file.relative_to(ROOT)))
def test_files_stay_short_and_have_telling_names(file):
    assert len(file.read_text().splitlines()) <= 400
    assert file.stem not in {"utils", "helpers", "common", "base", "misc"}


@pytest.mark.parametrize("module", ["mgraph", "mgraph.cli.main"])
def test_importing_is_light(module):
    heavy = HEAVY | {"pandas", "pyarrow"}
    code = f"import sys, {module}; print(sorted(set(sys.modules) & {heavy!r}))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_public_names_exist():
    import mgraph

    for name in mgraph.__all__:
        assert getattr(mgraph, name) is not None
    assert dir(mgraph) == mgraph.__all__
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = mgraph.nothing


def test_kernels_stand_beside_their_host_code():
    for kernel in ROOT.rglob("*.cu"):
        assert kernel.with_name(f"{kernel.stem}_gpu.py").exists()


def test_kernels_with_a_grid_barrier_are_launched_cooperatively():
    """Else two of them, on streams of their own, could wait for each other for ever."""
    barriers = {"mgraph/grid_barrier.cuh", "group.cuh"}
    waiting = [
        path
        for path in ROOT.rglob("*.cu")
        if headers(path.read_text(), path.parent).keys() & barriers
    ]
    assert len(waiting) >= 6
    for path in waiting:
        launches = [
            host for host in path.parent.glob("*_gpu.py") if f'"{path.name}"' in host.read_text()
        ]
        assert launches, path
        for host in launches:
            assert "launch_resident(" in host.read_text(), host


def modules_imported(file, names):
    """The modules of ``names`` that one imports anywhere but for type checkers."""
    tree = ast.parse(file.read_text())
    for_types = {
        id(child)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for child in ast.walk(node)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from names & {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                inside = f"{node.module}.{alias.name}"
                yield from names & {inside if inside in names else node.module}


def test_no_module_imports_one_that_imports_it():
    names = {}
    for file in MODULES:
        parts = file.relative_to(ROOT.parent).with_suffix("").parts
        names[".".join(parts).removesuffix(".__init__")] = file
    graph = networkx.DiGraph()
    for name, file in names.items():
        graph.add_edges_from((name, other) for other in modules_imported(file, names.keys()))
    assert len(graph) > 200
    circles = [sorted(c) for c in networkx.strongly_connected_components(graph) if len(c) > 1]
    assert circles == []


def sources(*kinds):
    folders = [ROOT, ROOT.parent / "tests", ROOT.parent / "workflows"]
    found = [file for folder in folders for kind in kinds for file in folder.rglob(kind)]
    assert len(found) > 40
    return {file: file.read_text().splitlines() for file in found}


def test_no_file_has_more_than_400_lines():
    assert [
        file for file, lines in sources("*.py", "*.cu", "*.cuh").items() if len(lines) > 400
    ] == []


def test_no_line_of_cuda_has_more_than_100_columns():
    """clang-format wraps code, and leaves comments as they are."""
    files = sources("*.cu", "*.cuh")
    assert [file for file, lines in files.items() if any(len(line) > 100 for line in lines)] == []
