"""A plugin of pytest for NetworkX's own tests, which run with this backend.

It marks those that are expected to fail, and writes, to the file that ``MGRAPH_COUNTS`` names, how
often each function was called and how often it handed back to NetworkX.
"""

import collections
import json
import os
from pathlib import Path

import pytest

from mgraph.networkx_backend import graphs
from mgraph.networkx_backend.info import FUNCTIONS
from mgraph.networkx_backend.interface import Backend, backend

# They ask for the nodes of a cycle in the order to which NetworkX's choice among equal paths leads.
EXPECTED = tuple(
    f"algorithms/tests/test_cycles.py::TestMinimumCycleBasis::{name}"
    for name in (
        "test_unweighted_diamond", "test_weighted_diamond", "test_petersen_graph",
        "test_gh6787_and_edge_attribute_names",
    )
)  # fmt: skip
called, handed_back = collections.Counter(), collections.Counter()


def _counted(name, function):
    def call(*args, **kwargs):
        called[name] += 1
        return function(*args, **kwargs)

    return call


def pytest_configure():
    own = graphs.networkx_function

    def networkx_function(name):
        handed_back[name] += 1
        return own(name)

    graphs.networkx_function = networkx_function
    for name in FUNCTIONS:
        setattr(Backend, name, staticmethod(_counted(name, getattr(backend, name))))


def pytest_collection_modifyitems(items):
    for item in items:
        if item.nodeid.endswith(EXPECTED):
            item.add_marker(pytest.mark.xfail(reason="another path of equal length", strict=True))


def pytest_sessionfinish():
    counts = {name: [called[name], handed_back[name]] for name in FUNCTIONS}
    Path(os.environ["MGRAPH_COUNTS"]).write_text(json.dumps(counts))
