"""A user's script is checked by mypy and pyright: right uses pass, wrong ones are found."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import mgraph

RIGHT = """
import sys
import numpy as np
import mgraph

model = mgraph.CopyModel(1000, 4, 0.5, weights=(1, 100))
run = mgraph.generate("graph", model, backend="cpu", progress=sys.stderr)
print(run.manifest.num_edges, run.seconds)
graph = mgraph.read_graph("graph")
n: int = graph.n
degrees = graph.indptr[1:] - graph.indptr[:-1]
paths = mgraph.sssp(graph, [0, 1], method="near_far", delta=3)
paths = mgraph.sssp(graph, np.array([0]))
farthest = paths.to_cpu().distance.max()
host = np.asarray(paths.to_cpu().distance)
frame = paths.to_pandas()
print(frame.head())
forest = mgraph.minimum_spanning_forest(graph, method="boruvka")
print(forest.total_weight, forest.components, forest.src.shape)
tree = mgraph.steiner_tree(graph, [0, 5, 9], improve=True, time_limit=1)
print(tree.cost, tree.to_networkx())
try:
    mgraph.sssp(graph, 7)
except mgraph.UsageError as error:
    print(error.parameter, error.remedy)
with mgraph.connect(workers=2, backend="cpu") as cluster:
    searches = mgraph.sssp_many("graph", [0, 1], "out", cluster=cluster)
    print(searches.searches[0].reached, searches.to_arrow().num_rows)
best = mgraph.knapsack([1, 2], np.array([1, 1]), 2)
instance = mgraph.KnapsackInstance([1, 2], [1, 1], 2)
print(best.profit, best.optimal)
"""

# Each with what mypy says, and pyright's name of the rule.
WRONG = {
    'mgraph.sssp(graph, 0, method="dikstra")': (
        "incompatible type \"Literal['dikstra']\"", "reportArgumentType",
    ),
    'mgraph.minimum_spanning_forest(graph, backend="cuda")': (
        "Literal['cuda']", "reportArgumentType",
    ),
    "mgraph.steiner_tree(graph)": (
        'Missing positional argument "terminals"', "reportCallIssue",
    ),
    "graph.vertices": ('has no attribute "vertices"', "reportAttributeAccessIssue"),
    "mgraph.dijkstra(graph, 0)": ('has no attribute "dijkstra"', "reportAttributeAccessIssue"),
}  # fmt: skip
HEAD = 'import mgraph\ngraph = mgraph.read_graph("graph")\n'
INSTALLED = Path(mgraph.__file__).parents[1]


@pytest.fixture
def scripts(tmp_path):
    """A folder with both scripts."""
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(HEAD + "\n".join(WRONG) + "\n")
    return tmp_path


def output_of(arguments, folder, **environment):
    command = [sys.executable, "-m", *arguments, "right.py", "wrong.py"]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=folder, env=os.environ | environment
    ).stdout


def test_by_mypy(scripts):
    pytest.importorskip("mypy", reason="needs mypy, as in pip install '.[lint]'")
    # Where the installation is editable, mypy does not see it.
    path = {} if INSTALLED.name == "site-packages" else {"MYPYPATH": str(INSTALLED)}
    options = ["--strict", "--no-incremental", "--follow-imports", "silent"]
    lines = output_of(["mypy", *options], scripts, **path).splitlines()
    assert [line for line in lines if line.startswith("right.py:")] == []
    for number, (words, _) in enumerate(WRONG.values(), 3):
        of_line = [line for line in lines if line.startswith(f"wrong.py:{number}:")]
        assert any(words in line for line in of_line), (words, lines)


def test_by_pyright(scripts):
    pytest.importorskip("pyright", reason="needs pyright, as in pip install '.[lint]'")
    configuration = {"typeCheckingMode": "strict", "extraPaths": [str(INSTALLED)]}
    (scripts / "pyrightconfig.json").write_text(json.dumps(configuration))
    report = json.loads(output_of(["pyright", "--outputjson"], scripts))
    found = {"right.py": [], "wrong.py": []}
    for one in report["generalDiagnostics"]:
        place = one["range"]["start"]["line"] + 1, one.get("rule")
        found[Path(one["file"]).name].append(place)
    assert found["right.py"] == [], report
    for number, (_, rule) in enumerate(WRONG.values(), 3):
        assert (number, rule) in found["wrong.py"], report
