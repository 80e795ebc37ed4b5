"""Parts of an operation: which stop when one fails or all are cancelled, which are made again."""

import io
import os
import re
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

import mgraph
from mgraph import StorageError
from mgraph.core import cancellation
from mgraph.distributed.monitoring.counters import count_edges
from mgraph.distributed.operations import tasks
from tests.waiting import wait_until


@pytest.fixture(scope="module")
def client():
    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        yield cluster.client


def test_a_task_whose_client_is_gone_stops(client, tmp_path):
    begun, over = tmp_path / "begun", tmp_path / "over"

    def loop(_):
        begun.touch()
        try:
            while True:
                cancellation.raise_if_cancelled()
                time.sleep(0.01)
        finally:
            over.touch()

    with mgraph.connect(scheduler=client.scheduler.address) as cluster:
        futures = tasks.submit_parts(cluster, loop, {0: None}, verb="loop")
        wait_until(begun.exists)
        assert any(tasks.count_running(client).values())
        del futures
    wait_until(over.exists, 5)
    wait_until(lambda: not any(tasks.count_running(client).values()), 5)


def test_a_failing_part_stops_the_others(client, tmp_path):
    over = tmp_path / "over"

    def work(index):
        if index == 0:
            raise StorageError("the disk is full")
        while True:
            try:
                cancellation.raise_if_cancelled()
            except cancellation.Cancelled:
                over.touch()
                raise
            time.sleep(0.01)

    with (
        mgraph.connect(scheduler=client.scheduler.address) as cluster,
        pytest.raises(StorageError, match="the disk is full"),
    ):
        tasks.run_parts(cluster, work, {1: 1, 0: 0}, {0: 1, 1: 1}, verb="w", progress=None)
    assert over.exists()


def test_nothing_runs_when_a_failure_is_told(client, monkeypatch):
    def lost(*_):
        raise mgraph.ConnectionLostError("lost")

    def loop(index):
        while index:
            cancellation.raise_if_cancelled()
            time.sleep(0.01)

    monkeypatch.setattr(tasks, "_fetch_results", lost)
    with mgraph.connect(scheduler=client.scheduler.address) as cluster:
        try:
            tasks.run_parts(cluster, loop, {0: 0, 1: 1}, {0: 1, 1: 1}, verb="w", progress=None)
        except mgraph.ConnectionLostError:
            assert not any(tasks.count_running(client).values())
        else:
            pytest.fail("it should have raised")


def test_the_progress_line_moves_within_a_part(client, tmp_path, monkeypatch):
    """By what its own tasks have counted, whatever else the cluster does."""
    monkeypatch.setattr("mgraph.distributed.protocol.progress.LINE_SECONDS", 0.05)
    over, log, other = tmp_path / "over", io.StringIO(), io.StringIO()

    def count(edges):
        count_edges(edges)
        while not over.exists():
            time.sleep(0.01)

    def run(edges, stream):
        with mgraph.connect(scheduler=client.scheduler.address) as cluster:
            tasks.run_parts(cluster, count, {0: edges}, {0: 100}, verb="count", progress=stream)

    with ThreadPoolExecutor() as pool:
        runs = [pool.submit(run, 30, log)]
        try:
            wait_until(lambda: "count  30%  30 of 100 edges, 0/1 part" in log.getvalue())
            runs.append(pool.submit(run, 50, other))
            wait_until(lambda: "count  50%  50 of 100 edges, 0/1 part" in other.getvalue())
        finally:
            over.touch()
        for one in runs:
            one.result()
    assert set(re.findall(r"count +(\d+)%", log.getvalue())) <= {"0", "30", "100"}


def test_results_that_died_with_a_worker_are_made_again(tmp_path):
    """Results are fetched as they come, so few are lost, and those are made again."""
    made = tmp_path / "made"
    made.mkdir()

    def work(index):
        (made / f"{index}-{os.getpid()}-{time.time_ns()}").touch()
        time.sleep(0.1)
        return index

    with mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        pids = cluster.client.run(os.getpid)

        def kill():
            wait_until(lambda: len(list(made.iterdir())) >= 10)
            os.kill(next(iter(pids.values())), signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        indices = range(40)
        found = tasks.run_parts(
            cluster, work, {i: i for i in indices}, dict.fromkeys(indices, 1), verb="w",
            progress=None,
        )  # fmt: skip
        killer.join()
    assert found == {i: i for i in indices}
    assert len(list(made.iterdir())) < 40 + 6
