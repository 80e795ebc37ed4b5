"""The kernels that are compiled while a command reads its graph are those that it uses."""

import numpy as np
import pytest

from mgraph import Graph, minimum_spanning_forest
from mgraph.cuda import source
from mgraph.shortest_paths import rehearsal as sssp_rehearsal
from mgraph.spanning_trees import spanning_forest_gpu
from mgraph.steiner import rehearsal as steiner_rehearsal

pytestmark = pytest.mark.gpu

LARGE = 1 << 30  # arcs
QUERIES = {"backend": "auto", "method": "star", "search": "auto", "epsilon": 0.01}


# What building the small graph uses, which is compiled on its own.
BUILDERS = {"csr.cu", "symmetry.cu"}


def name(key):
    kernels, defines, _ = key
    return kernels.file if kernels.file in BUILDERS else (kernels.file, defines)


def use(command, graph):
    on_gpu = graph.to_gpu()
    if command == "sssp":
        sssp_rehearsal.rehearse(on_gpu, method="self_tuning")
    elif command == "msf":
        minimum_spanning_forest(on_gpu, backend="gpu").total_weight  # noqa: B018
    else:
        steiner_rehearsal.rehearse(on_gpu, LARGE, **QUERIES)


def loaders(command, graph):
    if command == "sssp":
        return sssp_rehearsal.kernel_loaders(graph, "self_tuning")
    if command == "msf":
        return spanning_forest_gpu.loaders(graph, "filter_boruvka")
    return steiner_rehearsal.kernel_loaders(graph, LARGE, QUERIES)


@pytest.mark.parametrize("command", ["sssp", "msf", "steiner"])
@pytest.mark.parametrize("weight", [None, "int32", "int64", "float32", "float64"])
def test_what_is_compiled_ahead_is_what_is_used(command, weight, monkeypatch):
    weights = None if weight is None else np.full(2, 7, weight)
    graph = Graph(np.array([0, 1, 2]), np.array([1, 0], np.int32), weights, directed=False)
    modules = {}
    monkeypatch.setattr(source, "_modules", modules)
    use(command, graph)
    used = {name(key) for key in modules}
    modules.clear()
    for load in loaders(command, graph):
        load()
    listed = {name(key) for key in modules}
    assert used
    assert used <= listed | BUILDERS
