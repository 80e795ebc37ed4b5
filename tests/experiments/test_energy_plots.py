"""Plots of time: the quartiles of what was repeated, where they are known."""

import numpy as np
import pytest

from mgraph.experiments import Measured, plot_time

pyplot = pytest.importorskip("matplotlib.pyplot")


def test_bars_reach_from_quartile_to_quartile():
    measured = [Measured("near_far", delta, 5 + delta, low=delta, high=9.0) for delta in (1, 2, 4)]
    measured += [Measured("self_tuning", 1000, 20)]
    left, right = plot_time(measured, title="a graph")
    bars = [bar.get_segments()[0].tolist() for bar in left.collections]
    assert bars == [[[delta, delta], [delta, 9.0]] for delta in (1.0, 2.0, 4.0)]
    assert not right.collections
    assert left.get_ylim() == right.get_ylim()
    assert np.array_equal(left.lines[0].get_ydata(), [6, 7, 9])
    assert left.get_title(loc="left") == "a graph, near_far"
    pyplot.close("all")
