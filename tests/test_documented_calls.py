"""Calls in tables of the documentation: those of NetworkX and the same of mgraph, side by side."""

import re
from pathlib import Path

import pytest

import mgraph

PAGE = Path(__file__).parent.parent / "docs" / "networkx.md"


@pytest.fixture
def names(tmp_path):
    nx = pytest.importorskip("networkx")
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"source": list("abcda"), "target": list("bcdac"), "weight": 1.0})
    G = nx.from_pandas_edgelist(frame, edge_attr="weight")
    nx.write_weighted_edgelist(G, tmp_path / "a.edgelist")
    return {
        "nx": nx, "mgraph": mgraph, "G": G, "graph": mgraph.from_networkx(G), "n": 20, "m": 2,
        "source": "a", "sources": ["a", "b"], "target": "c", "terminals": ["a", "c"],
        "file": tmp_path / "a.edgelist", "frame": frame,
    }  # fmt: skip


def test_the_same_calls(names):
    (table,) = re.findall(
        r"## The same calls of mgraph\n.*?((?:\|.*\n)+)", PAGE.read_text(), re.DOTALL
    )
    rows = [re.findall(r"`([^`]+)`", row) for row in table.splitlines()[2:]]
    names |= {"file": str(names["file"]), "label": "a"}
    calls = [call for row in rows for call in row if "(" in call]
    for call in calls:
        if "graphml" not in call:
            eval(call, names)
    assert len(calls) > 15


def test_functions_that_return_graphs_are_named(names):
    """NetworkX asks for them by their own priorities; those that make random graphs apart."""
    from mgraph.networkx_backend.info import get_info

    functions = names["nx"].utils.backends._registered_algorithms
    returning = {name for name in get_info()["functions"] if functions[name]._returns_graph}
    (trees,) = re.findall(r"^trees = (\[.*\])$", PAGE.read_text(), re.MULTILINE)
    assert {name for name in returning if not name.endswith("_graph")} == set(eval(trees))


def test_the_page_s_priorities_are_followed(names, monkeypatch):
    nx, taken = names["nx"], []
    from mgraph.networkx_backend import interface

    code = re.search(r"^trees = .*\n(nx\.config\..*)$", PAGE.read_text(), re.MULTILINE)
    before = nx.config.backend_priority
    ask = interface.backend.should_run
    monkeypatch.setattr(
        interface.backend, "should_run",
        lambda name, args, kwargs: taken.append(name) or ask(name, args, kwargs),
    )  # fmt: skip
    try:
        exec(code[0], {"nx": nx})
        nx.minimum_spanning_tree(names["G"])
        nx.approximation.steiner_tree(names["G"], ["a", "c"])
        nx.single_source_dijkstra(names["G"], "a")
        assert hasattr(nx.gnm_random_graph(9, 9, seed=1), "nodes")
    finally:
        nx.config.backend_priority = before
    assert {"minimum_spanning_tree", "steiner_tree", "single_source_dijkstra"} <= set(taken)
