"""Finding and starting clusters, and what the dashboard shows."""

import io
import json
import os
import socket
import sys
import types
import urllib.request

import dask
import pytest
import tqdm.auto
import tqdm.autonotebook
from distributed import print as print_everywhere

import mgraph
from mgraph import ClusterError, CopyModel, OutOfMemoryError, UsageError
from mgraph.core.formatting import format_duration, format_quantity
from mgraph.distributed.clusters import connect, survey
from mgraph.distributed.clusters.client import open_client
from mgraph.distributed.operations.generate_plan import (
    Plan,
    choose_block_edges,
    choose_part_count,
    choose_ranks,
)
from mgraph.distributed.protocol import configuration
from mgraph.distributed.protocol.broadcast import silence_task_prints
from mgraph.distributed.protocol.progress import Progress
from tests.waiting import wait_until


def get(address):
    with urllib.request.urlopen(address, timeout=60) as page:
        return page.status, page.read().decode()


def test_a_running_cluster_is_used(cluster, tmp_path, monkeypatch):
    address = cluster.client.scheduler.address
    with mgraph.connect(scheduler=address) as found:
        assert found.kind == f"cluster at {address}"
        assert len(found.workers) == 2
    file = tmp_path / "scheduler.json"
    file.write_text(json.dumps({"address": address}))  # what Dask reads of it
    with mgraph.connect(scheduler_file=file) as found:
        assert found.kind == f"cluster at {address}"
    monkeypatch.setattr(connect, "configured_scheduler", lambda: address)
    with mgraph.connect() as found:
        assert found.kind == f"cluster at {address}"
    assert len(cluster.client.scheduler_info()["workers"]) == 2  # it was not ours to stop


def test_a_closed_client_s_coroutine_has_ended(cluster):
    """Otherwise its timer may end with the event loop, and asyncio prints an error."""
    streams = []
    with mgraph.connect(scheduler=cluster.client.scheduler.address) as found:
        streams.append(found.client.scheduler_comm)
    with mgraph.connect(workers=1, backend="cpu", dashboard="127.0.0.1:0") as found:
        streams.append(found.client.scheduler_comm)
    assert [stream.stopped.is_set() for stream in streams] == [True, True]


@pytest.mark.parametrize("silent", [False, True])
def test_a_silent_client_never_prints_for_tasks(cluster, monkeypatch, silent):
    silence_task_prints(cluster.client)
    output = io.StringIO()  # capsys drops what another thread writes while it reads
    monkeypatch.setattr(sys, "stdout", output)
    address = cluster.client.scheduler.address
    with open_client(address, None, seconds=30, workers_needed=True, silent=silent) as client:
        assert client.submit(print_everywhere, "from a task", pure=False).result() is None
        client.submit(int, pure=False).result()  # its answer comes after the events before it
        wait_until(lambda: silent or output.getvalue())
    assert output.getvalue() == ("" if silent else "from a task\n")


def test_a_silenced_client_does_not_print_again(cluster, capsys):
    """Events may still be on their way, and a client that reconnects subscribes again."""
    address = cluster.client.scheduler.address
    with open_client(address, None, seconds=30, workers_needed=True, silent=False) as client:
        silence_task_prints(client)
        for topic, handler in client._event_handlers.items():
            handler((0.0, {"args": (f"an event of {topic}",), "message": b"no pickle"}))
    assert "an event" not in "".join(capsys.readouterr())


@pytest.mark.parametrize(
    ("cores", "workers", "each"), [(6, None, 6), (6, 2, 3), (5, 2, 3), (1, 3, 1)]
)
def test_threads_share_a_worker(monkeypatch, cores, workers, each):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(cores))
    where = {"backend": "cpu", "dashboard": "127.0.0.1:0", "workers": workers}
    with mgraph.connect(threaded=True, **where) as cluster:
        assert [worker.threads for worker in cluster.workers.values()] == [each] * (workers or 1)


def test_dask_s_configuration_is_read(monkeypatch):
    import dask

    with dask.config.set({"scheduler-address": "tcp://elsewhere:1"}):
        assert connect.configured_scheduler() == "tcp://elsewhere:1"


def test_a_scheduler_without_workers_is_an_error(monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr(connect, "CONNECT_SECONDS", 1)
    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", host="127.0.0.1") as empty,
        pytest.raises(ClusterError, match="has no workers"),
        mgraph.connect(scheduler=empty.scheduler_address),
    ):
        pass


def test_another_version_on_the_workers_is_an_error(cluster, monkeypatch):
    monkeypatch.setattr(mgraph, "__version__", "9.9.9")
    with (
        pytest.raises(ClusterError, match="install the same version everywhere"),
        mgraph.connect(scheduler=cluster.client.scheduler.address),
    ):
        pass


def test_a_workflow_is_not_given_to_workers_with_another_version(cluster, monkeypatch):
    monkeypatch.setattr(mgraph, "__version__", "9.9")
    options = {"scheduler": cluster.client.scheduler.address}
    with connect.connect_client(**options):  # which only asks how things stand
        pass
    with (
        pytest.raises(ClusterError, match=r"this is mgraph 9\.9, the workers have 0"),
        connect.connect_client(**options, workers_needed=True),
    ):
        pass


def test_invalid_settings_are_refused():
    with (
        dask.config.set({"mgraph.monitor.history": "soon"}),
        pytest.raises(UsageError, match=r"mgraph\.monitor\.history must be a number of seconds"),
        mgraph.connect(backend="cpu"),
    ):
        pass


def test_unknown_backends_are_refused():
    with pytest.raises(UsageError, match="backend must be one of"), mgraph.connect(backend="tpu"):
        pass


def test_everything_listens_on_this_machine_alone(cluster):
    server = cluster.client.cluster.scheduler.http_server
    for listener in server._sockets.values():
        if listener.family == socket.AF_INET:
            assert listener.getsockname()[0] == "127.0.0.1"
    assert cluster.client.scheduler.address.startswith("tcp://127.0.0.1:")
    assert cluster.dashboard.startswith("http://127.0.0.1:")
    assert configuration.get_setting("dashboard").startswith("127.0.0.1:")


def test_the_dashboard_is_mounted_on_demand_and_shows_operations(cluster, tmp_path):
    """The pages load; the progress bars, the spans and the workers' column bear our names."""
    mgraph.generate(tmp_path / "g", CopyModel(50_000, 4), cluster=cluster, progress=None)
    for page in ("status", "workers", "tasks", "groups"):
        status, text = get(cluster.dashboard.replace("status", page))
        assert status == 200
        assert "bokeh" in text.lower()
    status, _ = get(cluster.dashboard.replace("/status", "/"))  # leads to /status
    assert status == 200
    scheduler = cluster.client.cluster.scheduler
    assert "mgraph-generate" in scheduler.task_prefixes
    spans = scheduler.extensions["spans"].spans_search_by_name
    assert ("mgraph-generate",) in spans
    counted = cluster.client.run(
        lambda dask_worker: dask_worker.metrics["mgraph_edges"](dask_worker)
    )
    assert sum(counted.values()) >= CopyModel(50_000, 4).num_edges


def test_parts_and_blocks_fit_the_cluster(cluster):
    assert choose_part_count(CopyModel(1000, 8), 2, "cpu") == 1
    assert choose_part_count(CopyModel(12_500_000, 8), 2, "cpu") == 16
    assert choose_part_count(CopyModel(10**10, 8), 2, "cpu") == -(-(8 * 10**10) // (1 << 26))
    assert choose_block_edges(cluster, None) == 1 << 20
    poor = {"a": survey.Survey(threads=4, host_bytes=64 << 20, device_bytes=0, gpus=0, version="")}
    crowded = connect.Cluster(cluster.client, "", "cpu", poor)
    assert 1 << 14 < choose_block_edges(crowded, None) < 1 << 17
    held = CopyModel(2_000_000, 7, method="copy")
    assert choose_block_edges(crowded, held) == 1 << 14
    assert choose_block_edges(crowded, CopyModel(2_000_000, 7)) == choose_block_edges(crowded, None)
    with pytest.raises(OutOfMemoryError, match=r"worker a has 0\.1 GiB"):
        choose_ranks(CopyModel(2_300_000, 7, method="copy"), crowded)


def test_a_plan_is_the_same_on_any_machine():
    plan = Plan(CopyModel(1000, 4), 7, None, "lz4", "cpu", 1 << 20)
    assert [v for i in range(7) for v in plan.part(i)] == list(range(1000))
    assert sum(plan.edges(i) for i in range(7)) == plan.model.num_edges


class Notebook(tqdm.tqdm):
    """Stands for the bar that tqdm chooses in a notebook."""


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_the_progress_line_shows_share_rate_and_time_left(monkeypatch):
    monkeypatch.setattr("mgraph.distributed.protocol.progress.REFRESH_SECONDS", 0.01)
    terminal, now = Terminal(), [0.0]
    clock = types.SimpleNamespace(monotonic=lambda: now[0])
    monkeypatch.setattr("mgraph.distributed.protocol.progress.time", clock)
    with Progress("generate", 4_000_000, 4, terminal) as progress:
        assert "starting" in progress.line()
        progress.add(1_000_000)
        now[0] = 10
        line = progress.line()
        while "25%" not in terminal.getvalue():
            pass
    assert line == "generate  25%  1 M of 4 M edges, 1/4 parts, 100 k edges/s, 0:30 left"
    *_, last, end = terminal.getvalue().split("\r")
    assert last.strip(" ") == end == ""  # it cleans up after itself


def test_a_notebook_shows_a_bar_though_it_is_no_terminal(monkeypatch):
    monkeypatch.setattr("mgraph.distributed.protocol.progress.REFRESH_SECONDS", 0.01)
    monkeypatch.setattr(tqdm.autonotebook, "tqdm", Notebook)
    monkeypatch.setattr(tqdm.auto, "tqdm", Notebook)
    log = io.StringIO()
    with Progress("verify", 100, 2, log) as progress:
        progress.add(50)
        wait_until(lambda: "verify  50%" in log.getvalue())
    assert "50 of 100 edges, 1/2 parts, " in log.getvalue()
    assert "\n" not in log.getvalue()


def test_a_lost_worker_does_not_move_the_progress_back():
    sizes = iter([40, 0])  # and then the scheduler does not answer
    with Progress("msf", 100, 2, None, partial_size=lambda: next(sizes)) as progress:
        assert [progress.line()[:9] for _ in range(3)] == ["msf  40% "] * 3
        progress.add(50)
        assert progress.line().startswith("msf  50%  50 of 100 edges, 1/2 parts")


def test_without_a_terminal_progress_is_separate_lines(monkeypatch):
    monkeypatch.setattr("mgraph.distributed.protocol.progress.LINE_SECONDS", 0.01)
    log = io.StringIO()
    with Progress("verify", 100, 1, log):
        while log.getvalue().count("\n") < 2:
            pass
    assert "\r" not in log.getvalue()
    assert log.getvalue().startswith("verify   0%")


@pytest.mark.filterwarnings("error::pytest.PytestUnhandledThreadExceptionWarning")
def test_nothing_is_drawn_to_a_closed_stream():
    closed = io.StringIO()
    closed.close()
    with Progress("verify", 100, 1, closed) as progress:
        progress.add(100)


def test_quantities_and_durations():
    assert [format_quantity(x) for x in (7, 1234, 5.6e6, 999.7e6, 2e9, 1e12)] == [
        "7",
        "1.23 k",
        "5.6 M",
        "1 G",
        "2 G",
        "1 T",
    ]
    assert [format_duration(x) for x in (7, 61, 3723)] == ["0:07", "1:01", "1:02:03"]


def test_workers_have_the_environment_of_the_moment(cluster, monkeypatch):
    monkeypatch.setenv("MGRAPH_TEST_WORD", "later than the fork server")
    with mgraph.connect(workers=1, backend="cpu", dashboard="127.0.0.1:0") as late:
        seen = late.client.run(os.getenv, "MGRAPH_TEST_WORD")
    assert set(seen.values()) == {"later than the fork server"}
