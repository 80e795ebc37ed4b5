"""Parts of a dataset, divided among tasks and ranks."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgraph.distributed.operations.batches import Batches, deal_parts, group_neighbours


@pytest.mark.parametrize(
    ("sizes", "most", "least", "expected"),
    [
        ([5] * 8 + [1], 21, 1, [[0, 1, 2, 3], [4, 5, 6, 7, 8]]),
        ([5] * 8 + [1], 100, 3, [[0, 1, 2], [3, 4, 5], [6, 7, 8]]),
        ([10, 10, 10], 20, 1, [[0, 1], [2]]),
        ([75] * 4, 100, 1, [[0], [1], [2], [3]]),
        ([1, 50, 1], 10, 1, [[0], [1], [2]]),
        ([3, 3], 6, 9, [[0], [1]]),
        ([0, 0], 1, 1, [[0, 1]]),
        ([], 1, 2, []),
    ],
)
def test_groups(sizes, most, least, expected):
    assert group_neighbours(sizes, Batches(most, least)) == expected


class _Rows(NamedTuple):
    """A part as far as dealing looks at it: row groups of these sizes."""

    groups: tuple[int, ...]

    def __len__(self):
        return sum(self.groups)

    def pieces(self, most):
        whole = len(self) <= most
        return [self] if whole else [_Rows((group,)) for group in self.groups]


@given(
    parts=st.lists(st.lists(st.integers(1, 50), min_size=1, max_size=6), max_size=20),
    count=st.integers(1, 5),
)
def test_parts_are_dealt_evenly(parts, count):
    shares = deal_parts([_Rows(tuple(groups)) for groups in parts], count)
    assert len(shares) == count
    dealt = sorted(group for share in shares for piece in share for group in piece.groups)
    assert dealt == sorted(group for groups in parts for group in groups)
    total = sum(map(sum, parts))
    largest = max(-(-total // (16 * count)), max((max(groups) for groups in parts), default=0))
    sizes = [sum(sum(piece.groups) for piece in share) for share in shares]
    assert max(sizes) - min(sizes) <= largest
