"""Answers are records with names: other versions' are read, damaged ones are not."""

import dataclasses

import pytest

from mgraph.distributed.operations.graph_operation import read_answers, to_record
from mgraph.distributed.operations.knapsacks import Packed
from mgraph.distributed.operations.sssp_tasks import Search
from mgraph.distributed.operations.steiner_tasks import Answer
from mgraph.errors import DatasetError

ANSWERS = [
    Search(5, 100, 7, 0.25),
    Search(5, 100, 7.5, 0.25),
    Answer(0, 2, 3, 9, 10, 8, 4, 1, True, {"searches": 0.5}, None),
    Answer(1, 2, 0, None, None, None, None, None, None, {}, "no path"),
    Packed(0, 10, 4, 2, True, 10, 17, "dynamic_program", "cpu", 0.125, None),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_a_record_is_read_as_it_was_written(answer):
    footer = {"key": [to_record(answer)]}
    assert read_answers([footer, footer], "key", type(answer), 2, None) == [answer, answer]


@pytest.mark.parametrize("answer", ANSWERS)
def test_fields_of_a_later_version_are_passed_over(answer):
    record = to_record(answer) | {"since_later": [1, 2]}
    assert read_answers([{"key": [record]}], "key", type(answer), 1, None) == [answer]


@pytest.mark.parametrize("answer", ANSWERS)
def test_version_0_1_0_wrote_values_without_names(answer):
    values = list(dataclasses.astuple(answer))
    assert read_answers([{"key": [values]}], "key", type(answer), 1, None) == [answer]


def test_version_0_1_0_had_fewer_values():
    values = [0, 3, 2, 5, 6, None, 1, 1, True, {}, None]
    (answer,) = read_answers([{"key": [values]}], "key", Answer, 1, None)
    assert (answer.query, answer.cost, answer.chosen) == (0, 5, None)
    with pytest.raises(DatasetError):
        read_answers([{"key": [values[:-1]]}], "key", Answer, 1, None)


def test_version_0_1_0_wrote_one_knapsack_per_part():
    packed = ANSWERS[-1]
    footer = {"packed": list(dataclasses.astuple(packed))}
    assert read_answers([footer], "packed", Packed, 1, None) == [packed]


@pytest.mark.parametrize(
    "footer",
    [
        {},
        {"key": None},
        {"key": []},
        {"key": [dataclasses.asdict(ANSWERS[0])] * 2},
        {"key": 7},
        {"key": [[5, 100]]},
        {"key": [{"source": 5}]},
        {"key": [{"source": "5", "reached": 100, "max_distance": 7, "seconds": 1.0}]},
        {"key": [{"source": 5, "reached": [], "max_distance": 7, "seconds": 1.0}]},
    ],
)
def test_what_was_edited_is_refused(footer):
    with pytest.raises(DatasetError, match="edited or damaged"):
        read_answers([footer], "key", Search, 1, None)
