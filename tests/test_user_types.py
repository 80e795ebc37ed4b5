"""A user's script is checked by mypy as it stands: right uses pass, wrong ones are found."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import mgraph

pytest.importorskip("mypy", reason="needs mypy, as in pip install '.[lint]'")

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

WRONG = {
    'mgraph.sssp(graph, 0, method="dikstra")': "incompatible type \"Literal['dikstra']\"",
    'mgraph.minimum_spanning_forest(graph, backend="cuda")': "Literal['cuda']",
    "mgraph.steiner_tree(graph)": 'Missing positional argument "terminals"',
    "graph.vertices": 'has no attribute "vertices"',
    "mgraph.dijkstra(graph, 0)": 'has no attribute "dijkstra"',
}


def test_a_script_passes_and_wrong_uses_are_found(tmp_path):
    head = 'import mgraph\ngraph = mgraph.read_graph("graph")\n'
    (tmp_path / "right.py").write_text(RIGHT)
    (tmp_path / "wrong.py").write_text(head + "\n".join(WRONG) + "\n")
    environment, installed = dict(os.environ), Path(mgraph.__file__).parents[1]
    if installed.name != "site-packages":  # an editable installation, which mypy does not see
        environment["MYPYPATH"] = str(installed)
    options = ["--strict", "--no-incremental", "--follow-imports", "silent"]
    lines = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "right.py", "wrong.py"],
        capture_output=True, text=True, cwd=tmp_path, env=environment,
    ).stdout.splitlines()  # fmt: skip
    assert [line for line in lines if line.startswith("right.py:")] == []
    for number, words in enumerate(WRONG.values(), 3):
        of_line = [line for line in lines if line.startswith(f"wrong.py:{number}:")]
        assert any(words in line for line in of_line), (words, lines)
