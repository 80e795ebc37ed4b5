"""The page /mgraph, its figures and records: during runs, and after workers and clients died."""

import json
import math
import os
import re
import signal
import threading
import time
import types
import urllib.error
import urllib.request

import pytest

import mgraph
from mgraph import CopyModel
from mgraph.distributed.monitoring import jobs, monitor, workers
from mgraph.distributed.monitoring.monitor import NAME
from mgraph.distributed.operations.tasks import run_parts
from mgraph.errors import TaskError
from tests.distributed.scheduler_thread import on_loop

SMALL = CopyModel(200_000, 8)


def page(cluster, path="mgraph"):
    address = cluster.dashboard.removesuffix("status") + path
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.read().decode()


def data(cluster, since=0):
    return json.loads(page(cluster, f"mgraph/data?since={since}"))


def metric(cluster, name):
    found = re.search(rf"^{name} (\S+)$", page(cluster, "metrics"), re.MULTILINE)
    return float(found[1])


def until(read, is_met, seconds=60):
    deadline = time.monotonic() + seconds
    while not is_met(found := read()):
        assert time.monotonic() < deadline, found
        time.sleep(0.1)
    return found


def plugin_of(cluster):
    return cluster.client.cluster.scheduler.plugins[NAME]


def test_an_operation_s_figures_are_shown(watched, tmp_path):
    application = watched.client.cluster.scheduler.http_application
    before = [type(one).__name__ for one in application.applications]
    assert "<h2>Workflows</h2>" in page(watched)
    mgraph.generate(tmp_path / "g", SMALL, cluster=watched, parts=6, progress=None)
    found = until(
        lambda: data(watched), lambda figures: figures["totals"]["edges"] == SMALL.num_edges
    )
    (operation,) = found["operations"]
    assert operation["verb"] == "generate"
    assert operation["folder"] == str(tmp_path / "g")
    assert operation["state"] == "finished"
    assert (operation["done"], operation["parts"], operation["size"]) == (6, 6, SMALL.num_edges)
    assert operation["left"] is None
    assert operation["rate"] > 0
    written = sum(file.stat().st_size for file in (tmp_path / "g").glob("part-*"))
    assert found["totals"]["bytes"] == written
    assert found["totals"]["parts"] == 6
    assert sum(row["edges"] for row in found["workers"]) == SMALL.num_edges
    assert {row["threads"] for row in found["workers"]} == {1}
    assert all(0 < row["memory"] < row["limit"] for row in found["workers"])
    columns = watched.client.scheduler_info(n_workers=-1)["workers"].values()
    for name in ("edges", "bytes", "queries"):
        total = sum(worker["metrics"][f"mgraph_{name}"] for worker in columns)
        assert total == found["totals"][name]
    # The dashboard, half a second to import, is not there because somebody looked at this page.
    assert [type(one).__name__ for one in application.applications] == before == ["LazyDashboard"]


def test_each_sample_of_the_history_is_sent_once(watched):
    first = until(lambda: data(watched), lambda figures: figures["samples"] >= 2)
    assert len(first["history"]["age"]) == first["samples"]
    then = until(
        lambda: data(watched, first["samples"]),
        lambda figures: figures["samples"] > first["samples"],
    )
    assert len(then["history"]["age"]) == then["samples"] - first["samples"]
    for odd in ("-1", "99999", "x", "1e3", "", "²"):
        assert len(data(watched, urllib.request.quote(odd))["history"]["age"]) >= 2


def test_queries_and_running_searches_are_shown(watched, tmp_path):
    mgraph.generate(
        tmp_path / "g", CopyModel(50_000, 8, weights=(1, 99)), cluster=watched, progress=None
    )
    levels, runs = set(), []
    options = {"method": "self_tuning", "set_point": 2048, "random": 24, "batch": 1}

    charted = threading.Event()

    def search():
        # Until a heartbeat and a sample of the charts fall into a search.
        while not (charted.is_set() and any(now for _, now in list(levels))) and len(runs) < 100:
            runs.append(mgraph.sssp_many(tmp_path / "g", cluster=watched, progress=None, **options))

    searching = threading.Thread(target=search)
    searching.start()
    while searching.is_alive():
        found = data(watched)
        rows = found["workers"]
        levels |= {(row["set_point"], row["parallelism"]) for row in rows if row["set_point"]}
        if "set_point" in found["history"]:
            charted.set()
        time.sleep(0.05)
    searching.join()
    assert {point for point, _ in levels} == {2048}
    assert any(now for _, now in levels)
    queries = 24 * len(runs)
    until(lambda: data(watched), lambda figures: figures["totals"]["queries"] == queries)
    assert charted.is_set()
    until(
        lambda: data(watched),
        lambda figures: not any(row["set_point"] for row in figures["workers"]),
    )


def fail(_):
    raise ValueError("<b>the disk</b> " + "x" * 2000)


def test_a_failure_s_message_is_cut(watched):
    with pytest.raises(TaskError, match="the disk"):
        run_parts(watched, fail, {0: None}, {0: 1}, verb="fail", progress=None)
    (operation,) = data(watched)["operations"]
    assert (operation["state"], operation["done"], operation["parts"]) == ("failed", 0, 1)
    assert "ValueError: <b>the disk</b>" in operation["error"]
    assert len(operation["error"]) <= jobs.ERROR_LENGTH


def test_a_killed_worker_keeps_its_counts_and_loses_its_row(watched, tmp_path):
    mgraph.generate(tmp_path / "g", SMALL, cluster=watched, parts=6, progress=None)
    until(lambda: data(watched), lambda figures: figures["totals"]["edges"] == SMALL.num_edges)
    address, pid = next(iter(watched.client.run(os.getpid).items()))
    os.kill(pid, signal.SIGKILL)

    def others(figures):
        rows = [row["address"] for row in figures["workers"]]
        assert figures["totals"]["edges"] == SMALL.num_edges
        return address not in rows and len(rows) == 2

    until(lambda: data(watched), others)
    assert metric(watched, "mgraph_edges_total") == SMALL.num_edges


def slow(_):
    time.sleep(30)


def test_operations_of_a_disconnected_client_are_lost(watched):
    from distributed import Client

    with Client(watched.client.scheduler.address) as client:
        event = {"operation": "mgraph-slow-1", "verb": "slow", "state": "running", "parts": 3}
        client.log_event("mgraph", event | {"client": client.id})
        client.log_event("mgraph", ["nonsense"])
        client.log_event("mgraph", {"operation": 3, "state": "running"})
        client.log_event("mgraph", {"run": "r", "state": "dancing"})
        assert [row["state"] for row in data(watched)["operations"]] == ["running"]
    (row,) = until(lambda: data(watched)["operations"], lambda rows: rows[0]["state"] != "running")
    assert (row["state"], row["error"]) == ("lost", jobs.CLIENT_GONE)
    watched.client.log_event("mgraph", event | {"state": "finished", "error": None})
    assert data(watched)["operations"][0]["state"] == "finished"


def test_tasks_without_an_event_are_an_operation(watched):
    futures = watched.client.map(str, range(8), key=[("mgraph-odd-7", i) for i in range(8)])
    watched.client.gather(futures)
    (row,) = until(lambda: data(watched)["operations"], lambda rows: rows[0]["state"] != "running")
    assert (row["verb"], row["state"], row["done"], row["parts"]) == ("odd", "finished", 8, 8)
    assert data(watched)["totals"]["parts"] == 8


def test_metrics_that_are_not_numbers_are_ignored(watched):
    def spoil(dask_worker):
        for name, value in {"edges": math.nan, "bytes": None, "queries": "many"}.items():
            dask_worker.metrics[f"mgraph_{name}"] = lambda worker, value=value: value
        dask_worker.metrics["mgraph_set_point"] = lambda worker: math.inf
        gpu = {"uuid": "GPU-1", "name": "GPU", "use": math.nan, "watts": 300.0}
        dask_worker.metrics["mgraph_gpu"] = lambda worker: gpu

    watched.client.run(spoil)
    both = ["0", "1"]
    found = until(
        lambda: data(watched),
        lambda figures: [sorted(gpu["workers"]) for gpu in figures["gpus"]] == [both],
    )
    assert found["totals"] == {"edges": 0, "bytes": 0, "queries": 0, "parts": 0}
    assert [row["set_point"] for row in found["workers"]] == [None, None]
    (gpu,) = found["gpus"]
    assert (gpu["use"], gpu["memory"], gpu["watts"]) == (None, None, 300)
    found = until(lambda: data(watched), lambda figures: "watts" in figures["history"])
    assert 'mgraph_gpu_watts{gpu="GPU-1"' in page(watched, "metrics")


def test_the_page_s_data_stay_small_while_thousands_of_tasks_run(watched):
    sizes, parts = [], 3_000
    whole = dict.fromkeys(range(parts), 1)
    work = threading.Thread(
        target=lambda: run_parts(watched, str, whole, whole, verb="many", progress=None)
    )
    work.start()
    while work.is_alive():
        sizes.append(len(page(watched, "mgraph/data")))
        time.sleep(0.2)
    assert max(sizes) < 20_000
    assert data(watched)["totals"]["parts"] == parts


def worker_of(number):
    gpu = {"uuid": f"GPU-{number:04}", "name": "GPU", "use": None if number % 2 else 40}
    return types.SimpleNamespace(
        name=number, address=f"tcp://10.0.0.1:{number}", host="10.0.0.1", nthreads=1,
        metrics={"mgraph_edges": 1, "mgraph_set_point": 2, "mgraph_gpu": gpu}, memory_limit=1,
        status=types.SimpleNamespace(name="running"), executing={}, processing={}, last_seen=1.0,
    )  # fmt: skip


def test_rows_are_limited_and_sums_are_complete(watched):
    many = 2 * monitor.MAX_ROWS
    added = [worker_of(number) for number in range(1, many + 1)]
    plugin = plugin_of(watched)
    scheduler = types.SimpleNamespace(workers={one.address: one for one in added})
    history = workers.History(10)
    history.sample(scheduler, workers.Workers(), 1.0)
    figures = history.since(0, 1.0)
    assert figures["gpu_use"] == [40]  # half of them figures nothing
    assert figures["set_point"] == [2 * many]
    real, plugin.scheduler = plugin.scheduler, Overlaid(plugin.scheduler, scheduler.workers)
    try:
        found = data(watched)
        assert len(found["workers"]) == len(found["gpus"]) == monitor.MAX_ROWS
        assert found["worker_count"] == found["totals"]["edges"] == many
        text = page(watched, "metrics")
        assert text.count("mgraph_set_point{") == many
        assert text.count("mgraph_gpu_use_percent{") == many / 2
    finally:
        plugin.scheduler = real


class Overlaid:
    """A scheduler with other workers."""

    def __init__(self, scheduler, workers):
        self._scheduler, self.workers = scheduler, workers

    def __getattr__(self, name):
        return getattr(self._scheduler, name)


def test_workers_of_one_process_report_each_count_once():
    from distributed import Client, LocalCluster

    from mgraph.core import gauges
    from mgraph.distributed.monitoring.counters import METRIC, WorkerMetrics

    def figures():
        return [worker.metrics for worker in cluster.scheduler.workers.values()]

    def sums():
        return sum(metrics.get(METRIC, 0) for metrics in figures())

    gauges.add("edges", 1000)  # before any worker
    where = {"processes": False, "protocol": "tcp://", "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(n_workers=2, threads_per_worker=1, **where) as cluster, Client(cluster) as us:
        us.register_plugin(WorkerMetrics())
        for amount in range(1, 6):
            gauges.add("edges", amount)
            cluster.scale(2 + amount)  # a worker comes before its elders have figures
            us.wait_for_workers(2 + amount)
        until(sums, lambda found: found == 15)
        with gauges.showing(set_point=7):
            until(lambda: [one.get("mgraph_set_point") for one in figures()], any)
            time.sleep(2)  # all have had their heartbeats
            points = [one.get("mgraph_set_point") for one in figures()]
            assert [point for point in points if point] == [7]


def test_a_monitor_that_starts_late_reads_earlier_events(watched):
    from distributed import Client

    scheduler = watched.client.cluster.scheduler
    event = {"operation": "mgraph-early-1", "verb": "early", "state": "running", "parts": 4}
    watched.client.log_event("mgraph", event | {"client": watched.client.id})
    watched.client.log_event("mgraph", event | {"operation": "mgraph-gone-1", "client": "gone"})
    held = watched.client.map(str, range(3), key=[("mgraph-early-1", i) for i in range(3)])
    watched.client.gather(held)
    plugin = scheduler.plugins.pop(NAME)
    on_loop(scheduler, scheduler.periodic_callbacks.pop(NAME).stop)
    with Client(watched.client.scheduler.address) as client:
        assert monitor.register(client) is None
    assert plugin_of(watched) is not plugin
    rows = {row["name"].split("-")[1]: row for row in data(watched)["operations"]}
    assert (rows["early"]["state"], rows["early"]["done"]) == ("running", 3)
    assert rows["gone"]["state"] == "lost"


def test_the_output_of_a_workflow_is_linked(watched, tmp_path):
    names = "20261129-120000-0000", "20261129-120001-0001", "20261129-120002-0002"
    (tmp_path / names[0]).mkdir()
    (tmp_path / names[0] / "output.log").write_text("ready ⇒ ü\nValueError: no rows\n")
    (tmp_path / names[1]).mkdir()
    for name, folder in zip(names, (tmp_path, tmp_path, tmp_path / "elsewhere"), strict=True):
        event = {"run": name, "script": "a.py", "state": "failed", "host": "far", "attempt": 1}
        watched.client.log_event("mgraph", event | {"folder": str(folder)})
    until(lambda: data(watched)["runs"], lambda runs: len(runs) == 3)
    assert page(watched, f"mgraph/log?run={names[0]}") == "ready ⇒ ü\nValueError: no rows\n"
    assert "printed nothing yet" in page(watched, f"mgraph/log?run={names[1]}")
    assert f"on a disk of far that the scheduler does not read.\n`mgraph logs {names[2]}`" in page(
        watched, f"mgraph/log?run={names[2]}"
    )
    for name in ("20261129-120003-0003", "../x", ""):
        with pytest.raises(urllib.error.HTTPError, match="404"):
            page(watched, f"mgraph/log?run={name}")


def test_a_long_output_is_cut_at_a_line(tmp_path):
    name = "20261129-120000-0000"
    (tmp_path / name).mkdir()
    lines = [f"line {number}\n" for number in range(40_000)]
    (tmp_path / name / "output.log").write_text("".join(lines))
    run = jobs.Run(name, 0.0, folder=str(tmp_path))
    shown = monitor._read_output(run).decode()
    assert "".join(lines).endswith(shown)
    assert shown.startswith("line ")
    assert monitor.LOG_BYTES - 20 < len(shown) <= monitor.LOG_BYTES


def test_the_progress_of_the_running_operation_is_sampled(watched):
    event = {"operation": "mgraph-slow-1", "verb": "slow", "state": "running", "parts": 4}
    watched.client.log_event("mgraph", event | {"client": watched.client.id})
    held = watched.client.map(str, range(3), key=[("mgraph-slow-1", i) for i in range(3)])
    watched.client.gather(held)
    assert 75 in until(
        lambda: data(watched)["history"].get("progress", []), lambda found: 75 in found
    )


@pytest.mark.gpu
def test_a_gpu_s_figures_are_shown(tmp_path):
    with mgraph.connect(backend="gpu", dashboard="127.0.0.1:0") as cluster:
        model = CopyModel(1_000_000, 8, weights=(1, 99))
        mgraph.generate(tmp_path / "g", model, cluster=cluster, progress=None)
        (gpu, *_) = until(lambda: data(cluster), lambda figures: figures["gpus"])["gpus"]
        assert 0 <= gpu["use"] <= 100
        assert 0 < gpu["memory"] < gpu["limit"]
        assert 5 < gpu["watts"] < 2000
        assert metric(cluster, r"mgraph_gpu_watts\{.*\}") > 5
        options = {"random": 20_000, "method": "self_tuning", "set_point": 50_000, "progress": None}
        search = threading.Thread(
            target=lambda: mgraph.sssp_many(tmp_path / "g", cluster=cluster, **options)
        )
        search.start()
        points = set()
        while search.is_alive():
            points |= {row["set_point"] for row in data(cluster)["workers"]}
            time.sleep(0.05)
        assert max(point or 0 for point in points) % 50_000 == 0
        assert any(points)
