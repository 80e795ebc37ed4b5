"""Errors are mgraph's own, and Python's where Python has one of the kind."""

import pickle

import pytest

from mgraph import errors
from mgraph.core.memory import memory_guard

ALL = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.MgraphError)
]


@pytest.mark.parametrize("kind", ALL)
def test_every_error_is_one_sentence_wherever_it_travels(kind):
    error = kind("It failed; do this.")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (kind, "It failed; do this.")
    assert kind.exit_status in (1, 2, 75)


@pytest.mark.parametrize(
    ("kind", "python"),
    [
        (errors.UsageError, ValueError),
        (errors.StorageError, OSError),
        (errors.OutOfMemoryError, MemoryError),
        (errors.DeviceError, RuntimeError),
    ],
)
def test_what_python_would_call_it(kind, python):
    with pytest.raises(python, match="It failed"):
        raise kind("It failed.")


def test_a_sentence_about_memory_is_said_once():
    with (
        pytest.raises(errors.OutOfMemoryError, match=r"^the inner one$"),
        memory_guard("the outer one", "do that"),
    ):
        raise errors.OutOfMemoryError("the inner one")
    with (
        pytest.raises(errors.OutOfMemoryError, match="there is no room for the outer one"),
        memory_guard("the outer one", "do that"),
    ):
        raise MemoryError("1 GiB")
