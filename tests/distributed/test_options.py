"""Operations take NumPy's numbers and sequences of any kind, or say what is wrong."""

import numpy as np
import pytest

import mgraph
from mgraph import CopyModel, UsageError


@pytest.fixture(scope="module")
def graph(tmp_path_factory, cluster):
    folder = tmp_path_factory.mktemp("options") / "g"
    model = CopyModel(np.int64(300), np.int32(3), np.float32(0.5), seed=np.int64(2))
    mgraph.generate(folder, model, parts=np.int64(2), cluster=cluster, progress=None)
    return str(folder)


def test_numbers_of_numpy_count_as_pythons(graph, cluster, tmp_path):
    own = {"cluster": cluster, "progress": None}
    paths = mgraph.sssp_many(graph, np.arange(4), tmp_path / "p", batch=np.int64(2),
                             cutoff=np.float32(2.5), **own)  # fmt: skip
    assert paths.made_parts == 2
    drawn = mgraph.sssp_many(graph, random=np.int64(3), seed=np.uint8(4), **own)
    assert [x.source for x in drawn.searches] == [
        x.source for x in mgraph.sssp_many(graph, random=3, seed=4, **own).searches
    ]
    trees = mgraph.steiner_many(graph, ({1, 2}, range(3)), tmp_path / "t", batch=np.int32(1),
                                epsilon=np.float32(0.5), time_limit=np.int8(9), **own)  # fmt: skip
    assert [answer.terminals for answer in trees.answers] == [2, 3]
    sampled = mgraph.steiner_many(graph, sample=(p for p in [(np.int64(2), 3)]), **own)
    assert len(sampled.answers) == 3
    forest = mgraph.spanning_forest_dataset(graph, tmp_path / "f", batch=np.int64(500), **own)
    assert forest.components == 1
    mgraph.KnapsackInstance((1, 2), range(3, 5), 5).write(tmp_path / "k.data")
    packed = mgraph.knapsack_many(tmp_path / "k.data", tmp_path / "k",
                                  time_limit=np.float32(9), **own)  # fmt: skip
    assert packed.packed[0].profit == 2


@pytest.mark.parametrize("sources", [{0, 1}, range(2), (x for x in (0, 1)), {0: 1, 1: 2}.keys()])
def test_sources_come_in_all_forms(graph, cluster, sources):
    found = mgraph.sssp_many(graph, sources, cluster=cluster, progress=None)
    assert [x.source for x in found.searches] == [0, 1]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"sources": [0.5]}, "sources must be a vertex or a list of vertices"),
        ({"sources": "12"}, "sources must be a vertex or a list of vertices, as numbers"),
        ({"sources": []}, "there must be at least one source"),
        ({"random": 2.5}, r"random must be a whole number \(got 2\.5\)"),
        ({"random": True}, r"random must be a whole number \(got True\)"),
        ({"sources": [1], "batch": 0.5}, r"batch must be a whole number \(got 0\.5\)"),
        ({"random": 1, "seed": "1"}, r"seed must be a whole number \(got '1'\)"),
    ],
)
def test_what_cannot_be_searched(graph, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        mgraph.sssp_many(graph, progress=None, **options)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"queries": {(1, 2)}}, r"queries must be a list \(got set\)"),
        ({"queries": "12"}, r"queries must be a list \(got str\)"),
        ({"queries": [[1, 2], ["3"]]}, "query 1: terminals must be a vertex or a list"),
        ({"queries": [[1, 2], []]}, "query 1 has no terminal"),
        ({"queries": []}, "there must be at least one query"),
        ({"sample": [2, 3]}, r"sample must be pairs \(k, count\) \(one is 2\)"),
        ({"sample": [(2, 0.5)]}, r"count must be a whole number \(got 0\.5\)"),
        ({"sample": [(2, 3)], "batch": 1.5}, "batch must be a whole number"),
    ],
)
def test_what_no_tree_can_be_found_for(graph, cluster, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        mgraph.steiner_many(graph, cluster=cluster, progress=None, **options)
