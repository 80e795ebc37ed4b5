"""A tree as text, as an Arrow table and as a DataFrame."""

import dataclasses

import pandas as pd
import pyarrow as pa
import pytest

import mgraph

EDGES = mgraph.EdgeList([0, 1, 2, 0], [3, 3, 3, 1], [1, 2, 3, 9])


def tree_of(labels=None, terminals=(0, 1, 2), **options):
    graph = mgraph.from_edges(EDGES, directed=False, backend="cpu").with_labels(labels)
    return mgraph.steiner_tree(graph, terminals, backend="cpu", **options)


def test_its_repr_is_a_phrase():
    assert repr(tree_of(method="star")) == "SteinerTree(3 terminals, 3 edges, cost 6)"
    assert repr(tree_of(bound=True)).endswith("cost 6, optimal)")
    bounded = dataclasses.replace(tree_of(), lower_bound=5)
    assert repr(bounded).endswith("cost 6, lower bound 5)")
    assert str(tree_of(terminals=[2])) == "1 terminal, 0 edges, cost 0"
    incomplete = dataclasses.replace(tree_of(), complete=False)
    assert str(incomplete).endswith(", ended by the time limit")


def test_it_cannot_be_changed_and_can_be_hashed():
    tree = tree_of()
    with pytest.raises(dataclasses.FrozenInstanceError):
        tree.cost = 0
    assert {tree: "kept"}[tree] == "kept"


def test_its_edges_become_tables():
    rows = {"src": [3, 3, 3], "dst": [0, 1, 2], "weight": [1, 2, 3]}
    frame, table = tree_of().to_pandas(), tree_of().to_arrow()
    pd.testing.assert_frame_equal(frame, pd.DataFrame(rows))
    assert table == pa.table(rows)


@pytest.mark.parametrize(
    ("labels", "in_arrow"),
    [
        ("abcd", ["a", "b", "c", "d"]),
        ([7, 5, 3, 1], [7, 5, 3, 1]),
        ([("a", 1), "b", 3, "d"], ["('a', 1)", "b", "3", "d"]),
        ([1 << 70, 2, 3, 4], [str(1 << 70), "2", "3", "4"]),
    ],
)
def test_labels_become_columns(labels, in_arrow):
    tree = tree_of(labels)
    frame, table = tree.to_pandas(), tree.to_arrow()
    assert list(frame) == table.column_names == ["src", "dst", "weight", "src_label", "dst_label"]
    assert frame["dst_label"].tolist() == list(labels)[:3]
    assert frame["src_label"].tolist() == [labels[3]] * 3
    assert table["dst_label"].to_pylist() == in_arrow[:3]
    assert table["src_label"].to_pylist() == [in_arrow[3]] * 3


def test_a_tree_without_edges_becomes_empty_tables():
    tree = tree_of("abcd", [2])
    assert tree.to_pandas().shape == (0, 5)
    assert tree.to_arrow().num_rows == 0
