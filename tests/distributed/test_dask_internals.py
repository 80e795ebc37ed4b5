"""The installed release of Dask has every internal that ``dask_internals`` needs."""

import ast
import importlib
import pathlib
import re
from collections.abc import Mapping

import distributed
import pytest
from distributed import Client, LocalCluster, span

import mgraph.distributed
from mgraph.distributed.protocol import dask_internals
from mgraph.distributed.protocol.dask_internals import NEEDS

FOLDER = pathlib.Path(mgraph.distributed.__file__).parent
# Documented modules below dask and distributed, and the one place of an exception.
PUBLIC_MODULES = {"dask.config", "dask.dataframe", "distributed.client"}
# What is private by its name only: Python's own functions and named tuples' methods.
PYTHONS = {"_asdict", "_current_frames", "_fields", "_getframe", "_replace"}


@pytest.fixture(scope="module")
def live():
    """A client, a scheduler, a worker, a span with one inside, and a group of tasks."""
    where = {"processes": False, "protocol": "tcp://", "dashboard_address": "127.0.0.1:0"}
    with (
        LocalCluster(n_workers=1, threads_per_worker=1, **where) as cluster,
        Client(cluster) as client,
        span("outer"),
        span("inner"),
    ):
        future = client.submit(int, 7, key=("mgraph-inner-1", 0))
        assert future.result() == 7
        scheduler, (worker,) = cluster.scheduler, cluster.workers.values()
        (some,) = scheduler.extensions["spans"].spans_search_by_name["outer", "inner"]
        (group,) = some.groups
        yield {"client": client, "scheduler": scheduler, "worker": worker, "span": some,
               "group": group}  # fmt: skip


def look_up(name, live):
    """The value of a name in ``NEEDS``; raises LookupError or AttributeError where it is gone."""
    module, colon, path = name.partition(":")
    if colon:
        value, steps = importlib.import_module(module), path.split(".")
    else:
        value, steps = live[name.partition(".")[0]], name.split(".")[1:]
    for step in steps:
        value = value[step] if isinstance(value, Mapping) else getattr(value, step)
    return value


def missing(function, live):
    """A sentence for each name that a function needs and that is gone."""
    names, versions = NEEDS[function]
    for name in names:
        try:
            look_up(name, live)
        except (ImportError, AttributeError, LookupError) as error:
            yield (
                f"dask_internals.{function} needs {name}, which distributed "
                f"{distributed.__version__} does not have ({type(error).__name__}: {error}); the "
                f"function was written for {versions}"
            )


@pytest.mark.parametrize("function", sorted(NEEDS))
def test_the_installed_release_has_what_a_function_needs(function, live):
    assert "\n".join(missing(function, live)) == ""


def test_the_modules_that_start_servers_are_there():
    for module in (dask_internals.SCHEDULER_MODULE, dask_internals.WORKER_MODULE):
        assert callable(importlib.import_module(module).main)


def test_a_name_that_is_gone_is_told(live, monkeypatch):
    needed = (("client.scheduler.identity", "worker.nothing", "distributed.no:x"), "2026.7.1")
    monkeypatch.setitem(NEEDS, "identity", needed)
    first, second = missing("identity", live)
    assert first.startswith("dask_internals.identity needs worker.nothing, which distributed 20")
    assert "AttributeError" in first
    assert first.endswith("the function was written for 2026.7.1")
    assert "distributed.no:x" in second


def test_every_function_says_why_it_is_there():
    for name in NEEDS:
        assert getattr(dask_internals, name).__doc__.strip().endswith(".")
        names, versions = NEEDS[name]
        assert names
        assert re.fullmatch(r"\d{4}\.\d+\.\d+ to \d{4}\.\d+\.\d+", versions)


def is_of_the_module(node, own):
    """Whether a private attribute is one that the module itself defines, or of ``self``."""
    return (isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")) or (
        node.attr in own or node.attr in PYTHONS or node.attr.startswith("__")
    )


@pytest.mark.parametrize(
    "file", sorted(FOLDER.rglob("*.py")), ids=lambda file: str(file.relative_to(FOLDER))
)
def test_nobody_else_uses_internals(file):
    if file.parent.name == "dask_internals":
        return
    tree = ast.parse(file.read_text())
    own = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    own |= {node.attr for node in ast.walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}  # fmt: skip
    for node in ast.walk(tree):
        imported = []
        if isinstance(node, ast.Import):
            imported = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported = [node.module]
        elif isinstance(node, ast.Attribute) and node.attr.startswith("_"):
            where = f"{file}:{node.lineno}: {ast.unparse(node)}"
            assert is_of_the_module(node, own), f"{where} belongs into dask_internals"
        for name in imported:
            if name.startswith(("dask.", "distributed.")):
                assert name in PUBLIC_MODULES, f"{file}: {name} belongs into dask_internals"
