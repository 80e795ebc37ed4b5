"""Every public name explains itself in numpydoc, and its examples are right."""

import doctest
import inspect
import re
import sys

import dask
import networkx
import numpy as np
import pytest
import scipy.sparse

import mgraph

NAMES = sorted(mgraph.__all__)
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
NUMPY_TYPES = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def documented(name):
    """The sections of a public name's docstring, by title; the summary is under ''."""
    parts = SECTION.split(inspect.getdoc(getattr(mgraph, name)) or "")
    return {"": parts[0]} | dict(zip(parts[1::2], parts[2::2], strict=True))


def is_function(name):
    return inspect.isfunction(getattr(mgraph, name))


def is_error(name):
    kind = getattr(mgraph, name)
    return isinstance(kind, type) and issubclass(kind, Exception)


@pytest.mark.parametrize("name", NAMES)
def test_the_titles_of_sections_stand_alone(name):
    assert not re.search(r"[^\s-].* -{3,}", inspect.getdoc(getattr(mgraph, name)) or "")


@pytest.mark.parametrize("name", NAMES)
def test_the_summary_is_one_sentence(name):
    first = documented(name)[""].splitlines()[0]
    assert first[:1].isupper()
    assert first.endswith(".")


@pytest.mark.parametrize("name", list(filter(is_function, NAMES)))
def test_every_parameter_is_explained(name):
    sections = documented(name)
    explained = set()
    for line in sections["Parameters"].splitlines():
        if line and not line.startswith(" "):
            explained |= {one.strip(" *") for one in line.partition(" : ")[0].split(",")}
    assert set(inspect.signature(getattr(mgraph, name)).parameters) <= explained
    assert {"Returns", "Yields"} & set(sections) or name.startswith("write_")


@pytest.mark.parametrize("name", [name for name in NAMES if not is_error(name)])
def test_there_is_an_example_or_what_returns_it_has_one(name):
    sections = documented(name)
    if is_function(name):
        assert ">>> " in sections["Examples"]
    else:
        assert {"Examples", "Attributes", "Parameters"} & set(sections)


@pytest.fixture(scope="module")
def near_cluster(cluster):
    """A cluster that functions find where their examples name none."""
    with dask.config.set({"scheduler-address": cluster.client.scheduler.address}):
        yield


@pytest.mark.parametrize("name", NAMES)
def test_examples_are_right(name, tmp_path, monkeypatch, near_cluster):
    monkeypatch.chdir(tmp_path)
    if name in ("connect", "Cluster", "ClusterSpec"):  # whose examples start clusters
        monkeypatch.setitem(dask.config.config, "scheduler-address", None)
    item = getattr(mgraph, name)
    names = {"mgraph": mgraph, "np": np, "networkx": networkx, "scipy": scipy}
    finder = doctest.DocTestFinder(recurse=isinstance(item, type), exclude_empty=True)
    runner = doctest.DocTestRunner(optionflags=NUMPY_TYPES)
    lines = []
    for test in finder.find(item, name, module=sys.modules[item.__module__], globs=names):
        runner.run(test, out=lines.append)
    assert not runner.summarize(verbose=False).failed, "".join(lines)
