"""cluster/monitoring: a scheduler that has the page, a browser, Prometheus, Grafana's file."""

import contextlib
import io
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.request

import pytest

import mgraph
from mgraph import CopyModel
from tests.cluster import browser
from tests.waiting import wait_for_json, wait_until

FOLDER = pathlib.Path(__file__).parents[2] / "cluster" / "monitoring"
RUNNING = CopyModel(8_000_000, 8)
SCRIPT = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">.py"


@contextlib.contextmanager
def running(*commands, folder):
    """Processes that are killed in the end."""
    started = []
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    try:
        for command in commands:
            command = [sys.executable, *map(str, command)]
            started.append(subprocess.Popen(command, cwd=folder, start_new_session=True, **quiet))
        yield started
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


@contextlib.contextmanager
def cluster_of(folder, *before, options=()):
    """A scheduler and two workers; yields the scheduler file and the scheduler's process.

    before: Python that runs in the scheduler's process first.
    """
    file = folder / "scheduler.json"
    start = "; ".join((*before, "from distributed.cli.dask_scheduler import main; main()"))
    scheduler = ["-c", start, "--host", "127.0.0.1", "--port", 0, "--dashboard-address",
                 "127.0.0.1:0", "--scheduler-file", file, *options]  # fmt: skip
    worker = ["-m", "distributed.cli.dask_worker", "--scheduler-file", file, "--nthreads", 1,
              "--host", "127.0.0.1", "--no-dashboard", "--local-directory", folder,
              "--death-timeout", 30]  # fmt: skip
    with running(scheduler, worker, worker, folder=folder) as processes:
        wait_for_json(file, processes[0])
        yield file, processes[0]


def address_of(file):
    port = json.loads(file.read_text())["services"]["dashboard"]
    return f"http://127.0.0.1:{port}"


def fetch(address):
    with urllib.request.urlopen(address, timeout=30) as answer:
        return answer.read().decode()


PRELOAD = ("--preload", "mgraph.distributed.scheduler_preload")


@pytest.mark.skipif(browser.chromium() is None, reason="needs chromium, to look at the page")
def test_the_page_is_updated_and_shows_that_the_scheduler_is_gone(tmp_path):
    with cluster_of(tmp_path, options=PRELOAD) as (file, scheduler):
        page_of = address_of(file) + "/mgraph"
        with (
            mgraph.connect(scheduler_file=file) as cluster,
            browser.opened(page_of, tmp_path / "browser") as page,
        ):
            cluster.client.log_event(
                "mgraph", {"run": "r-1", "state": "running", "script": SCRIPT, "attempt": 1}
            )
            error = "the script ended with status 2: n must be above d"
            failed = {"run": "r-2", "state": "failed", "script": "s.py", "error": error}
            cluster.client.log_event("mgraph", failed)
            work = threading.Thread(
                target=mgraph.generate,
                args=(tmp_path / "g", RUNNING),
                kwargs={"cluster": cluster, "parts": 32, "progress": None},
            )
            work.start()
            page.until("document.querySelector('#operations .running') !== null")
            page.until(r"/^(\d+ % )?generate – mgraph$/.test(document.title)")
            parts = "document.querySelector('#tile-parts').innerText"
            first = page.value(parts)
            page.until(f"{parts} !== {json.dumps(first)}")
            page.until("parseFloat(document.querySelector('#tile-edges').innerText) > 0")
            page.until(
                "[...document.querySelectorAll('#charts path[stroke]')]"
                ".some(path => path.getAttribute('d').length > 40)"
            )
            assert page.value("document.querySelectorAll('#workers tbody tr').length") == 2
            work.join()
            page.until("document.querySelector('#operations .finished') !== null")
            assert "32 / 32 · 100 %" in page.text("#operations")
            assert SCRIPT in page.text("#runs")
            assert error in page.text("#runs")
            assert page.value("document.querySelectorAll('#workers th[title]').length") >= 2
            assert page.value("document.title") == "mgraph"
            assert page.value("document.querySelectorAll('#runs script, #runs img').length") == 0
            assert page.value("document.querySelectorAll('#gpu-part[hidden]').length") == 1
            assert page.value("document.documentElement.scrollWidth <= innerWidth")
            assert page.value("document.querySelector('#gone').hidden")
            assert not page.problems
            scheduler.kill()
            page.until("!document.querySelector('#gone').hidden")
            assert "The scheduler does not answer" in page.text("#gone")


def test_the_page_loads_nothing_from_elsewhere():
    page = (
        pathlib.Path(mgraph.__file__).parent / "distributed" / "monitoring" / "monitor.html"
    ).read_text()
    links = set(re.findall(r"https?://[^\"'\s]+", page))
    assert links == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"}
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", page)


def board():
    return json.loads((FOLDER / "grafana.json").read_text())


def test_grafana_queries_metrics_that_the_scheduler_serves(tmp_path):
    with cluster_of(tmp_path, options=PRELOAD) as (file, _):
        metrics = address_of(file) + "/metrics"
        assert "mgraph_edges_total 0.0" in fetch(metrics)  # the preload's, before any client
        with mgraph.connect(scheduler_file=file) as cluster:
            work = threading.Thread(
                target=mgraph.generate,
                args=(tmp_path / "g", CopyModel(100_000, 8)),
                kwargs={"cluster": cluster, "parts": 16, "progress": None},
            )
            work.start()
            edges = r"^mgraph_edges_total (?!0\.0)"
            served = wait_until(
                lambda: re.search(edges, text := fetch(metrics), re.MULTILINE) and text
            )
            # Heartbeats tell of edges: on a quick machine when the operation has already ended.
            assert re.search(r'mgraph_operations\{state="(running|finished)"\} 1\.0', served)
            work.join()
    there = set(re.findall(r"^# TYPE (\w+)", served, re.MULTILINE))
    asked = {
        name: panel["title"]
        for panel in board()["panels"]
        for target in panel["targets"]
        for name in re.findall(r"\b[a-z]+(?:_[a-z]+)+\b(?=\{)", target["expr"])
    }
    assert len(asked) >= 12
    assert {name for name in asked if name not in there} == set()


def test_grafana_can_import_the_dashboard():
    found = board()
    assert found["schemaVersion"] >= 36
    source, job = found["templating"]["list"]
    assert (source["type"], source["query"]) == ("datasource", "prometheus")
    assert job["datasource"]["uid"] == "${datasource}"
    assert "__inputs" not in found
    assert "id" not in found
    numbers = [panel["id"] for panel in found["panels"]]
    assert len(set(numbers)) == len(numbers)
    for panel in found["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        assert panel["targets"]
        for target in panel["targets"]:
            assert target["datasource"]["uid"] == "${datasource}"
            assert '{job=~"$job"' in target["expr"]


@pytest.mark.skipif(shutil.which("promtool") is None, reason="needs promtool, of Prometheus")
def test_prometheus_accepts_its_configuration():
    checked = subprocess.run(
        ["promtool", "check", "config", str(FOLDER / "prometheus.yml")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="needs prometheus")
def test_prometheus_reads_the_metrics(tmp_path):
    with cluster_of(tmp_path, options=PRELOAD) as (file, _):
        host = address_of(file).removeprefix("http://")
        text = (FOLDER / "prometheus.yml").read_text()
        assert "127.0.0.1:8787" in text
        text = text.replace("127.0.0.1:8787", host).replace(
            "scrape_interval: 5s", "scrape_interval: 1s"
        )
        (tmp_path / "prometheus.yml").write_text(text)
        store = ["--storage.tsdb.path", tmp_path / "store", "--web.listen-address", "127.0.0.1:0"]
        command = ["prometheus", "--config.file", tmp_path / "prometheus.yml", *store]
        log = (tmp_path / "log").open("w")
        process = subprocess.Popen([*map(str, command)], stderr=log, stdout=log)
        try:
            deadline, address, answer = time.monotonic() + 60, None, ""
            while "mgraph_operations" not in answer:
                assert time.monotonic() < deadline, answer
                time.sleep(0.2)
                said = (tmp_path / "log").read_text()
                found = re.search(r"127\.0\.0\.1:(?!0\b)\d+", said.replace(host, ""))
                if found:
                    address = f"http://{found[0]}/api/v1/query?query=mgraph_operations"
                    with contextlib.suppress(OSError):
                        answer = fetch(address)
            assert {one["metric"]["state"] for one in json.loads(answer)["data"]["result"]} >= {
                "running", "finished", "failed"
            }  # fmt: skip
        finally:
            process.kill()
            process.wait()
            log.close()


def test_the_dashboard_s_prefix_applies(tmp_path):
    with cluster_of(tmp_path, options=(*PRELOAD, "--dashboard-prefix", "dask")) as (file, _):
        assert "<title>mgraph</title>" in fetch(address_of(file) + "/dask/mgraph")
        time.sleep(3)
        found = json.loads(fetch(address_of(file) + "/dask/mgraph/data"))
        assert found["workers"] is not None
        # It was started once: a sample each second.
        assert abs(found["samples"] - (found["time"] - found["began"])) <= 2


def test_a_running_cluster_gets_the_page_once(tmp_path):
    with cluster_of(tmp_path) as (file, _):
        with pytest.raises(OSError, match="404"):
            fetch(address_of(file) + "/mgraph")
        for _ in range(2):
            with mgraph.connect(scheduler_file=file) as cluster:
                mgraph.generate(
                    tmp_path / "g", CopyModel(10_000, 4), cluster=cluster, parts=2,
                    progress=None, overwrite=True,
                )  # fmt: skip
        found = json.loads(fetch(address_of(file) + "/mgraph/data"))
        assert [row["state"] for row in found["operations"]] == ["finished", "finished"]
        assert "mgraph_parts_done 4.0" in fetch(address_of(file) + "/metrics")


WITHOUT = "import sys; sys.modules['mgraph.distributed.monitoring.monitor'] = None"


def test_a_scheduler_with_another_mgraph_still_works(tmp_path):
    said = io.StringIO()
    with (
        cluster_of(tmp_path, WITHOUT) as (file, _),
        mgraph.connect(scheduler_file=file, announce=said) as cluster,
    ):
        mgraph.generate(tmp_path / "g", CopyModel(10_000, 4), cluster=cluster, progress=None)
    (warning,) = [line for line in said.getvalue().splitlines() if line.startswith("warning")]
    assert "shows no /mgraph page" in warning
    assert "Traceback" not in said.getvalue()
