"""There is one time per repeat, and wrong use is refused."""

import pytest

from mgraph import CopyModel, UsageError
from mgraph.experiments import generator_seconds


@pytest.mark.parametrize("method", ["cuppa_hash", "copy", "copy_hash", "ba"])
def test_one_time_per_repeat(method):
    times = generator_seconds(CopyModel(2000, method=method), repeats=3, backend="cpu")
    assert len(times) == 3
    assert min(times) > 0


@pytest.mark.gpu
@pytest.mark.parametrize("method", ["cuppa_hash", "cuppa"])
def test_on_a_gpu(method):
    times = generator_seconds(CopyModel(2000, method=method), repeats=3, backend="gpu")
    assert len(times) == 3
    assert min(times) > 0


def test_of_a_range():
    assert len(generator_seconds(CopyModel(2000), range(5, 1000), repeats=2, backend="cpu")) == 2


def test_wrong_use():
    with pytest.raises(UsageError, match="repeats must be at least 1"):
        generator_seconds(CopyModel(2000), repeats=0)
    with pytest.raises(UsageError, match="method copy cannot generate a part"):
        generator_seconds(CopyModel(2000, method="copy"), range(9))
    for options in ({"segments": "fixed"}, {"block_threads": 64}):
        with pytest.raises(UsageError, match="apply to method cuppa on a GPU"):
            generator_seconds(CopyModel(2000, method="cuppa"), backend="cpu", **options)
