"""Errors are mgraph's own, subclass Python's errors of the same meaning, and survive pickling."""

import pickle

import pytest
from distributed.core import clean_exception, error_message

from mgraph import errors
from mgraph.core.memory import memory_guard

ALL = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.MgraphError)
]


@pytest.mark.parametrize("kind", ALL)
def test_errors_survive_pickling(kind):
    error = kind("It failed; do this.")
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (kind, "It failed; do this.")
    assert kind.exit_status in (1, 2, 75)


def by_pickle(error):
    return pickle.loads(pickle.dumps(error))


def by_dask(error):
    """Send an error as a worker sends it to a client."""
    return clean_exception(error_message(error)["exception"].data)[1]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("send", [by_pickle, by_dask])
def test_an_error_keeps_its_parameter_and_remedy_between_processes(kind, send):
    error = kind("batch must be at least 1", parameter="batch", remedy="pass `batch=1`")
    error.add_note("of part 3")
    sent = send(error)
    assert type(sent) is kind
    assert str(sent) == "batch must be at least 1"
    assert (sent.parameter, sent.remedy) == ("batch", "pass `batch=1`")
    assert sent.__notes__ == ["of part 3"]
    assert (kind("It failed.").parameter, kind("It failed.").remedy) == (None, None)


@pytest.mark.parametrize(
    ("kind", "python"),
    [
        (errors.UsageError, ValueError),
        (errors.StorageError, OSError),
        (errors.OutOfMemoryError, MemoryError),
        (errors.DeviceError, RuntimeError),
    ],
)
def test_errors_are_python_s_own_as_well(kind, python):
    with pytest.raises(python, match="It failed"):
        raise kind("It failed.")


def test_the_message_about_memory_is_not_repeated():
    with (
        pytest.raises(errors.OutOfMemoryError, match=r"^the inner one$"),
        memory_guard("the outer one", "do that"),
    ):
        raise errors.OutOfMemoryError("the inner one")
    with (
        pytest.raises(errors.OutOfMemoryError, match="not enough memory for the outer one"),
        memory_guard("the outer one", "do that"),
    ):
        raise MemoryError("1 GiB")
