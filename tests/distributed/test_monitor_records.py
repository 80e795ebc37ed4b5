"""The monitor's records, without a cluster: they are bounded, and jobs that vanish are lost."""

import json
import subprocess
import sys
import types

from mgraph.distributed.monitoring import jobs as jobs_module
from mgraph.distributed.monitoring import monitor, workers
from mgraph.distributed.monitoring.monitor import MAX_SAMPLES


def jobs_at(clock):
    return jobs_module.Jobs(lambda: clock[0])


def test_ended_jobs_are_bounded_and_running_ones_are_kept():
    clock = [0.0]
    jobs = jobs_at(clock)
    for index in range(1000):
        clock[0] += 1
        name, run = f"mgraph-generate-{index}", f"run-{index}"
        jobs.receive({"operation": name, "verb": "generate", "state": "running", "parts": 48,
                   "size": 96_000_000, "unit": "edges", "run": run, "folder": "/data/g",
                   "client": "c"})  # fmt: skip
        jobs.receive({"run": run, "state": "running", "script": "generate_graph.py", "attempt": 1})
        for part in range(48):
            jobs.record_part(name, part, failed=False)
        if index >= 10:
            error = {"error": "the disk of a worker is full, " * 9}
            jobs.receive({"operation": name, "state": "failed"} | error)
            jobs.receive({"run": run, "state": "finished"})
    assert len(jobs.operations) == len(jobs.runs) == 10
    assert len(jobs.ended) == len(jobs.ended_runs) == jobs_module.MAX_ENDED
    assert jobs.counts["failed"] == jobs.run_counts["finished"] == 990
    assert jobs.parts_done == 48_000
    assert not any(operation.done for operation in jobs.ended.values())
    rows = jobs.rows(clock[0])
    assert [row["state"] for row in rows["operations"][:11]] == ["running"] * 10 + ["failed"]
    assert rows["operations"][10]["name"] == "mgraph-generate-999"
    assert rows["operations"][10]["folder"] == "/data/g"
    assert len(json.dumps(rows)) < 200_000


def test_what_running_parts_have_counted_is_progress():
    clock = [0.0]
    jobs = jobs_at(clock)
    event = {"verb": "sssp", "state": "running", "parts": 4, "size": 400}
    jobs.receive(event | {"operation": "mgraph-sssp-1", "unit": "arcs"})
    jobs.receive(event | {"operation": "mgraph-sssp-2", "unit": "queries"})
    clock[0] = 10.0
    counts = [("mgraph-sssp-1", 0, 30), ("mgraph-sssp-1", 1, 1000), ("mgraph-sssp-2", 0, 50)]
    jobs.record_counts([*counts, ("mgraph-gone-1", 0, 7)])
    other, row = jobs.rows(clock[0])["operations"]
    assert (row["done"], row["share"], row["rate"]) == (0, 0.325, 13.0)  # at most a part's size
    assert abs(row["left"] - (10 / 0.325 - 10)) < 0.01
    assert (other["share"], jobs.progress()) == (0, 0)
    jobs.record_part("mgraph-sssp-1", 1, failed=False)
    jobs.record_counts(counts)  # of the last heartbeat, before the part was finished
    _, row = jobs.rows(clock[0])["operations"]
    assert (row["done"], row["share"]) == (1, 0.325)
    jobs.record_counts([])
    assert jobs.rows(clock[0])["operations"][1]["share"] == 0.25


def test_jobs_that_vanish_are_lost_after_a_while():
    clock = [0.0]
    jobs = jobs_at(clock)
    nothing = types.SimpleNamespace(task_groups={}, tasks={})
    jobs.receive({"operation": "mgraph-a-1", "state": "running", "parts": 2})
    jobs.receive({"run": "r", "state": "running", "script": "s.py", "attempt": 1})
    jobs.end_stale(nothing)
    assert len(jobs.operations) == len(jobs.runs) == 1
    clock[0] = jobs_module.STALE_SECONDS + 1
    jobs.end_stale(types.SimpleNamespace(task_groups={}, tasks={"mgraph-run-r": object()}))
    assert [row["state"] for row in jobs.rows(clock[0])["operations"]] == ["lost"]
    assert [row["state"] for row in jobs.rows(clock[0])["runs"]] == ["running"]
    clock[0] *= 3
    jobs.end_stale(nothing)
    assert [row["state"] for row in jobs.rows(clock[0])["runs"]] == ["lost"]
    jobs.receive({"run": "r", "state": "running", "attempt": 2})
    (row,) = jobs.rows(clock[0])["runs"]
    assert (row["state"], row["attempt"], row["script"], row["error"]) == (
        "running", 2, "s.py", None
    )  # fmt: skip
    assert jobs.run_counts["lost"] == 0


def test_history_is_bounded_and_thinned():
    history = workers.History(3600)
    no_workers = types.SimpleNamespace(workers={})
    for second in range(5000):
        history.sample(no_workers, workers.Workers(), float(second))
    assert len(history) == 3600
    columns = history.since(0, 5000.0)
    assert len(columns["age"]) <= workers.POINTS
    assert len(json.dumps(columns)) < 30_000
    assert history.since(4997, 5000.0)["age"] == [3.0, 2.0, 1.0]
    assert "watts" not in columns
    assert MAX_SAMPLES < 1_000_000


def test_the_warning_says_why_there_is_no_page():
    class Refuses:
        def __init__(self, error):
            self.error = error

        def register_plugin(self, plugin):
            raise self.error

    warning = monitor.register(Refuses(ModuleNotFoundError("No module named 'mgraph'")))
    assert "cannot load mgraph" in warning
    assert "install that version" in warning
    warning = monitor.register(Refuses(OSError("the disk\nis full")))
    assert warning == "warning: this scheduler shows no /mgraph page (OSError: the disk is full)"


def test_the_monitor_does_not_need_prometheus():
    code = (
        "import sys; sys.modules['prometheus_client'] = None\n"
        "from mgraph.distributed.monitoring import metrics, monitor\n"
        "metrics.start_serving(None)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
