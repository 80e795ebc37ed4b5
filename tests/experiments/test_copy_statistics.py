"""Attempts, chains and dependent copies, against a plain count of the draws."""

import numpy as np
import pytest

from mgraph import CopyModel, UsageError
from mgraph.experiments import copy_statistics
from tests import oracles
from tests.generators.test_cuppa_hash import set_core

MODELS = [(300, 1, 0.5), (200, 4, 0.0), (200, 4, 0.5), (120, 33, 0.3), (50, 3, 1.0)]


def count_draws(model, stored):
    """Attempts and chain lengths, by drawing: {edge: (attempts, length)}.

    Copies from vertices below ``stored`` read their endpoints.
    """
    counts = {}
    ends = {}
    core = oracles.exact_rows(model, stored)

    def length(v, slot, attempt):
        u, at, ended = oracles.copy_model_draw(model, v, slot, attempt)
        if ended:
            return 1
        return 1 + (counts[u, at][1] if u < stored else length(u, at, 0))

    for v in range(model.d, model.n):
        for slot in range(model.d):
            attempt = 0
            while True:
                u, at, ended = oracles.copy_model_draw(model, v, slot, attempt)
                end = u if ended else ends[u, at] if u < stored else None
                if end is None:
                    end = oracles.cuppa_hash_edge(model, core, v, slot, attempt)
                if end not in [ends[v, lower] for lower in range(slot)]:
                    break
                attempt += 1
            ends[v, slot] = end
            counts[v, slot] = attempt + 1, length(v, slot, attempt)
    return counts


@pytest.mark.parametrize("core", [0, 200, 1 << 22])
@pytest.mark.parametrize("method", ["copy", "copy_hash"])
@pytest.mark.parametrize(("n", "d", "p"), MODELS)
def test_attempts_and_chains(monkeypatch, n, d, p, method, core):
    set_core(monkeypatch, core)
    model = CopyModel(n, d, p, 9, method)
    statistics = copy_statistics(model, backend="cpu")
    expected = count_draws(model, n if method == "copy" else model.core_vertices).values()
    for ours, theirs in zip(
        (statistics.attempts, statistics.chains), zip(*expected, strict=True), strict=True
    ):
        np.testing.assert_array_equal(ours, np.bincount(theirs))
    assert statistics.rounds == ()


@pytest.mark.parametrize("segment", [1, 7, 100, 1 << 40])
@pytest.mark.parametrize(("n", "d", "p"), MODELS)
def test_copies_within_a_segment(n, d, p, segment):
    model = CopyModel(n, d, p, 9, "copy")
    rounds = copy_statistics(model, backend="cpu", segments=segment).rounds
    assert [(round.first, round.stop) for round in rounds] == [
        (first, min(first + segment, n)) for first in range(d, n, segment)
    ]
    for round in rounds:
        per_vertex = []
        for v in range(round.first, round.stop):
            drawn = [oracles.copy_model_draw(model, v, slot, 0) for slot in range(d)]
            per_vertex.append(sum(not ended and u >= round.first for u, _, ended in drawn))
        assert (round.dependent, round.most_dependent) == (sum(per_vertex), max(per_vertex))


@pytest.mark.parametrize(
    ("model", "options", "sentence"),
    [
        (CopyModel(100, method="ba"), {}, "method ba has no copies to count"),
        (CopyModel(100), {"segments": 9}, "method cuppa_hash has no segments"),
        (
            CopyModel(100, method="copy"),
            {"segments": "fixed"},
            "on a CPU segments must be a number",
        ),
        (
            CopyModel(100, method="copy"),
            {"block_threads": 64},
            "on a CPU segments must be a number",
        ),
        (CopyModel(100, method="copy"), {"segments": 0}, r"segments must lie in \[1, .* \(got 0\)"),
        (CopyModel(100, method="copy"), {"segments": 10.5}, "segments must be a whole number"),
        (CopyModel(100, method="copy"), {"segments": True}, "segments must be a whole number"),
    ],
)
def test_wrong_use(model, options, sentence):
    with pytest.raises(UsageError, match=sentence):
        copy_statistics(model, backend="cpu", **options)
