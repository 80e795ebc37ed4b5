"""Numbers as people read them: no power of ten, no unit that one is too many of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mgraph.core.wording import counted, in_all, rounded, time_taken
from mgraph.distributed.progress import quantity


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(0, "0.001 ms"), (4.2e-4, "0.42 ms"), (9.999e-4, "1 ms"), (0.0312, "31.2 ms"),
     (0.9994, "999 ms"), (0.9996, "1 s"), (31.2, "31.2 s"), (999.4, "999 s"), (2150, "2,150 s")],
)  # fmt: skip
def test_times(seconds, told):
    assert time_taken(seconds) == told


@given(st.floats(0, 1e9))
def test_no_time_is_told_as_a_power_of_ten(seconds):
    assert "e" not in time_taken(seconds)


@given(st.floats(1e-4, 9e20))
def test_no_quantity_is_told_as_a_power_of_ten(value):
    assert "e" not in quantity(value)
    assert len(quantity(value).split()[0]) <= 8


@pytest.mark.parametrize(
    ("value", "told"),
    [(17270.4, "17,270"), (1324.5, "1,324"), (999.96, "1000"), (16, "16"), (0.00012, "0.00012"),
     (float("nan"), "nan"), (-5e4, "-50,000")],
)  # fmt: skip
def test_numbers_with_the_digits_that_mean_something(value, told):
    assert rounded(value) == told


def test_what_a_command_took():
    assert in_all(3.5, 0) == "3.5 s in all"
    assert in_all(41, 39.5) == "41 s in all, of which 39.5 s compiling"
    assert counted(1, "search", "searches") == "1 search"
