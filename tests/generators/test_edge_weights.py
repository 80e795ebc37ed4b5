"""Weights of generated edges: the reference's bits, for any partition and direction."""

import numpy as np
import pytest
from scipy import stats

from mgraph import CopyModel, UsageError
from mgraph.core import hash_keys, hashing
from mgraph.generators import preferential_attachment
from tests import oracles


@pytest.mark.parametrize("bounds", [(1, 1), (0, 1), (1, 99), (5, 2**31 - 1), (0, 2**31 - 1)])
def test_they_have_the_bits_of_the_reference(bounds):
    model = CopyModel(300, 4, seed=7, weights=bounds)
    (src, dst, weight), checksum = model.edges(backend="cpu")
    expected = [
        oracles.edge_weight(int(s), int(t), 7, *bounds) for s, t in zip(src, dst, strict=True)
    ]
    np.testing.assert_array_equal(weight, expected)
    assert weight.dtype == np.int32
    assert checksum == oracles.edge_checksum(src, dst, weight)


def test_both_directions_have_the_same_weight():
    key, low, span = hash_keys.weight_key(3), np.uint64(1), np.uint64(1000)
    ends = np.random.default_rng(1).integers(0, 1 << 40, (200, 2)).astype(np.uint64)
    for u, v in ends:
        assert hashing.edge_weight(u, v, key, low, span) == hashing.edge_weight(
            v, u, key, low, span
        )


def test_every_partition_gives_the_same_weights():
    model = CopyModel(5000, 8, weights=(1, 1000))
    complete = model.edges(backend="cpu")
    for parts, block in ((1, 999), (7, 1 << 20)):
        blocks = [
            (generated.edges.weight.copy(), generated.checksum)
            for part in model.split(parts)
            for generated in preferential_attachment.stream(model, part, block_edges=block)
        ]
        weight = np.concatenate([weight for weight, _ in blocks])
        np.testing.assert_array_equal(weight, complete.edges.weight)
        assert sum(checksum for _, checksum in blocks) % (1 << 64) == complete.checksum


def test_weights_do_not_change_edges_and_depend_on_the_seed():
    plain, one, two = (
        CopyModel(2000, 4, p=1.0, seed=seed, weights=weights).edges(backend="cpu")
        for seed, weights in ((1, None), (1, (1, 1000)), (2, (1, 1000)))
    )
    np.testing.assert_array_equal(plain.edges.dst, one.edges.dst)
    assert plain.checksum != one.checksum
    assert (one.edges.weight[:6] != two.edges.weight[:6]).any()  # the clique is the same


def test_weights_are_equally_likely():
    (_, _, weight), _ = CopyModel(50_000, 8, weights=(10, 73)).edges(backend="cpu")
    counts = np.bincount(weight, minlength=74)
    assert counts[:10].sum() == 0
    assert stats.chisquare(counts[10:]).pvalue > 1e-4


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ((3, 2), "3 is above 2"), ((-1, 2), r"in \[0, 2147483647\]"), ((0, 2**31), "in \\[0"),
        ((1.5, 2), "whole number"), ((1,), r"\(low, high\)"), ("12", r"\(low, high\)"),
    ],
)  # fmt: skip
def test_bad_bounds(weights, words):
    with pytest.raises(UsageError, match=words):
        CopyModel(100, weights=weights)
