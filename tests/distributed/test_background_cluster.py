"""A cluster in the background: one per folder, no remains, and no other process mistaken for it."""

import contextlib
import dataclasses
import io
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
import urllib.request

import psutil
import pytest

import mgraph
import mgraph.distributed.clusters.certificates
from mgraph.distributed.clusters import background_cluster as background
from mgraph.distributed.clusters import background_processes, connect
from mgraph.distributed.clusters.background_processes import BackgroundProcess
from mgraph.distributed.clusters.cluster_folder import ClusterFolder
from mgraph.distributed.clusters.cluster_status import status
from mgraph.errors import ClusterError, UsageError
from tests.waiting import wait_until

QUICK = {"workers": 1, "backend": "cpu", "dashboard": "127.0.0.1:0"}


@contextlib.contextmanager
def started(folder, **how):
    """A cluster, which is stopped at the end, or killed if that fails."""
    home = background.start(folder=folder, **QUICK | how)
    record = home.read()
    try:
        yield home, record
    finally:
        with contextlib.suppress(ClusterError):
            background.stop(folder)
        for process in record.processes():
            background_processes.kill(process.tree())


def left_of(record):
    return [one for process in record.processes() for one in process.tree()]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A cluster of one worker."""
    with started(tmp_path_factory.mktemp("cluster") / "c") as (home, _):
        yield home


def test_the_folder_and_its_files_are_private(plain):
    assert stat.S_IMODE(os.stat(plain.path).st_mode) == 0o700
    for name in ("scheduler.json", "cluster.json", "cluster.log"):
        assert stat.S_IMODE(os.stat(os.path.join(plain.path, name)).st_mode) == 0o600
    assert background.running_scheduler_file(plain.path) == plain.scheduler_file
    found = status(plain.path)
    assert (found.state, found.workers, found.threads) == ("running", 1, 1)
    assert found.memory > 0
    assert found.memory_limit > found.memory


def test_everything_listens_on_loopback(plain):
    family = left_of(plain.read())
    listening = [
        found.laddr.ip
        for process in family
        for found in process.net_connections("tcp")
        if found.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 4  # scheduler, dashboard, nanny, worker
    assert set(listening) == {"127.0.0.1"}


def test_a_cluster_has_its_own_session_and_mgraph_s_settings(plain):
    assert all(os.getsid(process.pid) != os.getsid(0) for process in left_of(plain.read()))

    def given(key):
        import dask

        return dask.config.get(key)

    with connect.connect_client(scheduler_file=plain.scheduler_file) as client:
        assert client.run_on_scheduler(given, "distributed.scheduler.allowed-failures") == 10
        assert set(client.run(given, "distributed.worker.profile.cycle").values()) == {"10s"}


def test_dashboard_and_monitor_answer(plain):
    found = status(plain.path)
    for page in (found.dashboard, found.monitor):
        with urllib.request.urlopen(page, timeout=60) as answer:
            assert answer.status == 200


def test_an_operation_uses_the_cluster(plain, tmp_path):
    with mgraph.connect(scheduler_file=plain.scheduler_file) as cluster:
        model = mgraph.CopyModel(2_000, 3)
        made = mgraph.generate(tmp_path / "g", model, cluster=cluster, progress=None)
    assert made.made_parts == 1


def test_a_second_cluster_in_a_folder_is_refused(plain):
    with pytest.raises(ClusterError, match="a cluster is already running"):
        background.start(folder=plain.path, **QUICK)
    assert status(plain.path).state == "running"
    with plain.locked(), pytest.raises(ClusterError, match="is running in"):
        background.stop(plain.path)


def test_concurrent_starts_make_one_cluster(tmp_path):
    folder, refused = tmp_path / "c", []

    def try_to_start():
        try:
            background.start(folder=folder, **QUICK)
        except ClusterError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=try_to_start) for _ in range(3)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(refused) == 2
        assert status(folder).state == "running"
    finally:
        record = ClusterFolder(str(folder)).read()
        background.stop(folder)
    assert not left_of(record)


def test_tls_accepts_only_clients_with_the_certificate(tmp_path):
    pytest.importorskip("cryptography", reason="certificates are made by the package cryptography")
    with started(tmp_path / "c", tls=True) as (home, record):
        found = status(home.path)
        assert found.address.startswith("tls://127.0.0.1:")
        assert found.certificate_ends
        with mgraph.connect(scheduler_file=home.scheduler_file) as cluster:
            assert cluster.client.submit(int, "7").result() == 7
        plain = found.address.replace("tls", "tcp")
        with pytest.raises(ClusterError, match="speaks TLS"), connect.connect_client(plain):
            pass
        with (
            pytest.raises(ClusterError, match="with a certificate"),
            connect.connect_client(found.address),
        ):
            pass
        assert not let_in(found.address, None)
        other = mgraph.distributed.clusters.certificates.make(tmp_path / "other")
        assert not let_in(found.address, other)
        assert let_in(found.address, mgraph.distributed.clusters.certificates.find(home.tls))
    assert not left_of(record)


def let_in(address, own):
    """Whether a server of TLS answers a client with this certificate, which looks at no names."""
    import ssl

    from mgraph.distributed.protocol.addresses import host_and_port

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    if own is not None:
        context.load_cert_chain(own.cert, own.key)
    try:
        with (
            socket.create_connection(host_and_port(address), timeout=10) as connection,
            context.wrap_socket(connection) as secure,
        ):
            return len(secure.recv(8)) == 8  # Dask's greeting
    except OSError:
        return False


def test_a_cluster_with_a_dead_scheduler_is_broken_and_can_be_stopped(tmp_path):
    with started(tmp_path / "c") as (home, record):
        os.kill(record.scheduler.pid, signal.SIGKILL)
        psutil.wait_procs([psutil.Process(record.scheduler.pid)], timeout=0.1)
        wait_until(lambda: not record.scheduler.is_alive)
        found = status(home.path)
        assert (found.state, found.why) == ("broken", "the scheduler is gone")
        assert background.running_scheduler_file(home.path) is None
        assert background.stop(home.path) == []
        assert not left_of(record)
        assert not os.path.exists(home.scheduler_file)


def test_processes_that_hang_are_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(background, "WORKERS_END_SECONDS", 1.0)
    monkeypatch.setattr(background, "SCHEDULER_ENDS_SECONDS", 1.0)
    monkeypatch.setattr(background, "ANSWER_SECONDS", 1.0)
    with started(tmp_path / "c") as (home, record):
        for process in left_of(record):
            process.suspend()
        assert "does not answer" in status(home.path).why
        background.stop(home.path)
        assert not left_of(record)


def test_another_process_with_a_reused_number_is_left_alone(tmp_path):
    home = ClusterFolder(str(tmp_path))
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE,
                                 start_new_session=True)  # fmt: skip
    try:
        known = background_processes._start_time(bystander.pid)
        assert BackgroundProcess(bystander.pid, known).is_alive
        mistaken = BackgroundProcess(bystander.pid, known - 1)
        assert not mistaken.is_alive
        assert mistaken.tree() == []
        plan = background._plan(home, "cpu", 1, 1, "127.0.0.1:0")
        record = dataclasses.replace(plan, state="running", scheduler=mistaken, workers=mistaken)
        home.write(record)
        assert status(home.path).state == "stopped"
        background.stop(home.path)
        home.write(dataclasses.replace(record, boot="another", scheduler=None, workers=None))
        background.stop(home.path)
        assert bystander.poll() is None
    finally:
        bystander.communicate()


def test_a_start_that_fails_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(background, "PRELOAD", "no.such.module")
    with pytest.raises(background.StartError, match="the scheduler ended") as raised:
        background.start(folder=tmp_path / "c", **QUICK)
    assert any("No module named" in line for line in raised.value.log)
    assert sorted(os.listdir(tmp_path / "c")) == [".lock", "cluster.log"]
    assert not of_folder(tmp_path / "c")


def test_a_start_that_takes_too_long_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(background.START_SECONDS, "cpu", 0.3)
    with pytest.raises(background.StartError, match="did not start within"):
        background.start(folder=tmp_path / "c", **QUICK)
    assert not of_folder(tmp_path / "c")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("when", ["scheduler", "workers"])
def test_an_interrupted_start_leaves_nothing(tmp_path, when, number):
    folder = tmp_path / "c"
    command = [sys.executable, "-m", "mgraph.cli.main", "cluster", "start", "--folder", str(folder),
               "--workers", "1", "--backend", "cpu", "--dashboard", "127.0.0.1:0"]  # fmt: skip
    starting = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)

    def begun():
        assert starting.poll() is None
        with contextlib.suppress(OSError, ValueError):
            return json.loads((folder / "cluster.json").read_text())[when]

    wait_until(begun)
    starting.send_signal(number)
    assert "mgraph: interrupted" in starting.communicate(timeout=60)[1]
    assert starting.returncode == 128 + number
    assert not of_folder(folder)
    assert background.running_scheduler_file(folder) is None


def test_a_killed_start_can_be_stopped(tmp_path, monkeypatch):
    with started(tmp_path / "c") as (home, record):
        home.write(dataclasses.replace(record, state="starting"))  # and its starter is dead
        assert status(home.path).state == "starting"
        assert background.running_scheduler_file(home.path) is None
        background.stop(home.path)
        assert not left_of(record)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"workers": 0}, "workers must lie in"),
        ({"threads": 5000}, "threads must lie in"),
        ({"backend": "tpu"}, "backend must be one of"),
        ({"host": "198.51.100.7"}, "which must be an address of this machine"),
        ({"host": "no such host"}, "host must be a name or an address"),
        ({"port": 70_000}, "port must lie in"),
        ({"dashboard": "here"}, "HOST:PORT"),
        ({"dashboard": "a..b:0"}, "HOST:PORT"),
    ],
)
def test_invalid_parameters_are_refused(tmp_path, how, words):
    with pytest.raises(UsageError, match=words):
        background.start(folder=tmp_path / "c", **QUICK | how)
    assert not (tmp_path / "c").exists()


def test_a_port_in_use_is_an_error(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for wrong in ({"port": port}, {"dashboard": f"127.0.0.1:{port}"}):
            with pytest.raises(ClusterError, match=f"nothing can listen at 127.0.0.1:{port}"):
                background.start(folder=tmp_path / "c", **QUICK | wrong)


def test_a_folder_that_others_can_write_is_refused(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(UsageError, match="other users can write to"):
        background.start(folder=tmp_path, **QUICK)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file"):
        background.start(folder=tmp_path / "file", **QUICK)


def test_stop_returns_unfinished_runs(tmp_path):
    with started(tmp_path / "c") as (home, record):
        with connect.connect_client(
            scheduler_file=home.scheduler_file, workers_needed=True
        ) as client:
            future = client.submit(time.sleep, 60, key="mgraph-run-a1")
            wait_until(lambda: client.run_on_scheduler(background.unfinished_runs) == ["a1"])
            assert background.stop(home.path) == ["a1"]
            future.release()
        assert not left_of(record)


def of_folder(folder):
    """Processes whose command line names a folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(f"{folder}/scheduler.json" in word for word in process.cmdline()):
                found.append(process)
    return background_processes.wait(found, 2.0)


@pytest.mark.parametrize("tls", [False, True])
def test_listening_on_the_network_is_announced(tmp_path, tls):
    if tls:
        pytest.importorskip("cryptography", reason="certificates are made by cryptography")
    announced = io.StringIO()
    how = {"host": "0.0.0.0", "dashboard": ":0", "tls": tls, "announce": announced}
    with started(tmp_path / "c", **how) as (home, _):
        found = status(home.path)
    if not found.address.startswith(("tcp://127.", "tls://127.")):  # a machine without a network
        warned = [line.split()[:2] for line in announced.getvalue().splitlines()]
        expected = [["warning:", "the"]] + ([] if tls else [["warning:", found.address]])
        assert warned == expected


def test_a_cluster_may_listen_on_ipv6(tmp_path):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with started(tmp_path / "c", host="::1") as (home, _):
        assert status(home.path).address.startswith("tcp://[::1]:")
        with connect.connect_client(
            scheduler_file=home.scheduler_file, workers_needed=True
        ) as client:
            assert client.submit(int, "7").result() == 7
