"""Counters only increase; levels exist while their thread sets them."""

import threading

import pytest

from mgraph.core import gauges


def test_counters_add_up_over_threads():
    before = gauges.read()

    def work():
        for _ in range(1000):
            gauges.add("edges", 3)
            gauges.add("bytes", 0.5)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    after = gauges.read()
    assert after["edges"] - before["edges"] == 12_000
    assert after["bytes"] - before["bytes"] == 2000
    assert after["queries"] == before["queries"]


def test_levels_belong_to_their_threads():
    assert "set_point" not in gauges.read()
    seen = {}

    def work():
        with gauges.showing(set_point=10, parallelism=lambda: 7.0):
            seen.update(gauges.read())

    gauges.set("set_point", 5)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert (seen["set_point"], seen["parallelism"]) == (15, 7)
    assert gauges.read()["set_point"] == 5
    gauges.clear("set_point")
    gauges.clear("set_point")
    assert "set_point" not in gauges.read()


def test_levels_are_removed_when_a_search_fails():
    with pytest.raises(ZeroDivisionError), gauges.showing(parallelism=1):
        _ = 1 / 0
    assert "parallelism" not in gauges.read()
