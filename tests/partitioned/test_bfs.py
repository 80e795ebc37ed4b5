"""Breadth-first search over any number of ranks finds one device's levels and predecessors."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mgraph
from mgraph import CopyModel
from mgraph.shortest_paths import partitioned_bfs
from mgraph.shortest_paths.partitioned_delta_stepping import Limits
from mgraph.shortest_paths.problem import check_request
from mgraph.shortest_paths.sssp import sssp
from tests.partitioned.ranks import on_ranks
from tests.strategies import graphs


def assert_same(graph, size, sources, on="cpu", **options):
    request = check_request(
        graph, sources, joint=True,
        **{"targets": None, "stop_at": "last", "cutoff": None} | options,
    )  # fmt: skip
    limits = Limits(request.targets, request.stop_at_first, request.cutoff)

    def program(exchange, rank_graph):
        return partitioned_bfs.search(
            exchange, rank_graph, request.sources[0], limits, predecessors=True
        )

    found = on_ranks(graph, size, program, backend=on)
    distance, predecessor = (
        np.concatenate([each.get() if on == "gpu" else each for each in arrays])
        for arrays in zip(*[(paths.distance, paths.predecessor) for paths in found], strict=True)
    )
    expected = sssp(graph, sources, method="bfs", backend="cpu", joint=True, predecessors=True,
                    **options)  # fmt: skip
    np.testing.assert_array_equal(distance, expected.distance)
    np.testing.assert_array_equal(predecessor, expected.predecessor)


@given(data=st.data(), size=st.integers(1, 4))
@settings(deadline=None, max_examples=150)
def test_levels_and_predecessors_are_one_devices(data, size):
    graph = data.draw(graphs(dtypes=(None,)))
    vertices = st.lists(st.integers(0, graph.n - 1), min_size=1, max_size=3)
    assert_same(
        graph,
        size,
        data.draw(vertices),
        targets=data.draw(st.none() | vertices),
        stop_at=data.draw(st.sampled_from(["first", "last"])),
        cutoff=data.draw(st.none() | st.integers(0, 4)),
    )


@pytest.mark.parametrize("size", [1, 2, 3])
def test_both_directions(size, monkeypatch):
    model = CopyModel(20_000, 6)
    edges, _ = model.edges(backend="cpu")
    graph = mgraph.from_edges(edges, model.n, directed=False, backend="cpu")
    from mgraph.shortest_paths import partitioned_bfs_cpu

    directions = []
    for name in ("expand", "search_rows"):
        function = getattr(partitioned_bfs_cpu.Search, name)

        def noted(self, level, name=name, function=function):
            directions.append(name)
            function(self, level)

        monkeypatch.setattr(partitioned_bfs_cpu.Search, name, noted)
    assert_same(graph, size, [19_999])
    assert set(directions) == {"expand", "search_rows"}
