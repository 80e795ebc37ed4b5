"""A cluster in the background: one a folder, nothing left of it, and no process mistaken for it."""

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
from mgraph.distributed.clusters.background_processes import Background
from mgraph.distributed.clusters.cluster_folder import Place
from mgraph.distributed.clusters.cluster_status import status
from mgraph.errors import ClusterError, UsageError
from tests.waiting import wait_until

QUICK = {"workers": 1, "backend": "cpu", "dashboard": "127.0.0.1:0"}


@contextlib.contextmanager
def started(folder, **how):
    """A cluster, which is stopped at the end, or killed where that does not work."""
    where = background.start(folder=folder, **QUICK | how)
    record = where.read()
    try:
        yield where, record
    finally:
        with contextlib.suppress(ClusterError):
            background.stop(folder)
        for process in record.processes():
            background_processes.kill(process.family())


def left_of(record):
    return [one for process in record.processes() for one in process.family()]


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A cluster of one worker."""
    with started(tmp_path_factory.mktemp("cluster") / "c") as (where, _):
        yield where


def test_what_is_in_the_folder(plain):
    assert stat.S_IMODE(os.stat(plain.folder).st_mode) == 0o700
    for name in ("scheduler.json", "cluster.json", "cluster.log"):
        assert stat.S_IMODE(os.stat(os.path.join(plain.folder, name)).st_mode) == 0o600
    assert background.running_scheduler_file(plain.folder) == plain.file
    found = status(plain.folder)
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


def test_it_is_in_a_session_of_its_own_and_has_our_settings(plain):
    assert all(os.getsid(process.pid) != os.getsid(0) for process in left_of(plain.read()))

    def given(key):
        import dask

        return dask.config.get(key)

    with connect.client_of(scheduler_file=plain.file) as client:
        assert client.run_on_scheduler(given, "distributed.scheduler.allowed-failures") == 10
        assert set(client.run(given, "distributed.worker.profile.cycle").values()) == {"10s"}


def test_the_pages_are_there(plain):
    found = status(plain.folder)
    for page in (found.dashboard, found.monitor):
        with urllib.request.urlopen(page, timeout=60) as answer:
            assert answer.status == 200


def test_a_command_uses_it(plain, tmp_path):
    with mgraph.connect(scheduler_file=plain.file) as cluster:
        model = mgraph.CopyModel(2_000, 3)
        made = mgraph.generate(tmp_path / "g", model, cluster=cluster, progress=None)
    assert made.made_parts == 1


def test_a_second_one_is_refused(plain):
    with pytest.raises(ClusterError, match="a cluster runs already"):
        background.start(folder=plain.folder, **QUICK)
    assert status(plain.folder).state == "running"
    with plain.locked(), pytest.raises(ClusterError, match="is at work in"):
        background.stop(plain.folder)


def test_two_starts_at_once_make_one_cluster(tmp_path):
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
        record = Place(str(folder)).read()
        background.stop(folder)
    assert not left_of(record)


def test_tls_lets_in_who_has_the_certificate(tmp_path):
    pytest.importorskip("cryptography", reason="certificates are made by the package cryptography")
    with started(tmp_path / "c", tls=True) as (where, record):
        found = status(where.folder)
        assert found.address.startswith("tls://127.0.0.1:")
        assert found.certificate_ends
        with mgraph.connect(scheduler_file=where.file) as cluster:
            assert cluster.client.submit(int, "7").result() == 7
        plain = found.address.replace("tls", "tcp")
        with pytest.raises(ClusterError, match="speaks TLS"), connect.client_of(plain):
            pass
        with (
            pytest.raises(ClusterError, match="with a certificate"),
            connect.client_of(found.address),
        ):
            pass
        assert not let_in(found.address, None)
        other = mgraph.distributed.clusters.certificates.make(tmp_path / "other", ["localhost"])
        assert not let_in(found.address, other)
        assert let_in(found.address, mgraph.distributed.clusters.certificates.found_in(where.tls))
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


def test_a_dead_process_is_told_and_stopped(tmp_path):
    with started(tmp_path / "c") as (where, record):
        os.kill(record.scheduler.pid, signal.SIGKILL)
        psutil.wait_procs([psutil.Process(record.scheduler.pid)], timeout=0.1)
        wait_until(lambda: not record.scheduler.alive)
        found = status(where.folder)
        assert (found.state, found.why) == ("broken", "the scheduler is gone")
        assert background.running_scheduler_file(where.folder) is None
        assert background.stop(where.folder) == []
        assert not left_of(record)
        assert not os.path.exists(where.file)


def test_processes_that_hang_are_killed(tmp_path, monkeypatch):
    monkeypatch.setattr(background, "WORKERS_END_SECONDS", 1.0)
    monkeypatch.setattr(background, "SCHEDULER_ENDS_SECONDS", 1.0)
    monkeypatch.setattr(background, "ANSWER_SECONDS", 1.0)
    with started(tmp_path / "c") as (where, record):
        for process in left_of(record):
            process.suspend()
        assert "does not answer" in status(where.folder).why
        background.stop(where.folder)
        assert not left_of(record)


def test_a_number_that_is_used_again_is_left_alone(tmp_path):
    where = Place(str(tmp_path))
    bystander = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE,
                                 start_new_session=True)  # fmt: skip
    try:
        known = background_processes._started(bystander.pid)
        assert Background(bystander.pid, known).alive
        mistaken = Background(bystander.pid, known - 1)
        assert not mistaken.alive
        assert mistaken.family() == []
        plan = background._plan(where, "cpu", 1, 1, "127.0.0.1:0")
        record = dataclasses.replace(plan, state="running", scheduler=mistaken, workers=mistaken)
        where.write(record)
        assert status(where.folder).state == "stopped"
        background.stop(where.folder)
        where.write(dataclasses.replace(record, boot="another", scheduler=None, workers=None))
        background.stop(where.folder)
        assert bystander.poll() is None
    finally:
        bystander.communicate()


def test_a_cluster_of_another_machine_is_left_alone(tmp_path):
    where = Place(str(tmp_path))
    plan = background._plan(where, "cpu", 1, 1, "127.0.0.1:0")
    where.write(dataclasses.replace(plan, host="elsewhere", state="running"))
    assert status(where.folder).state == "elsewhere"
    for act in (background.stop, lambda folder: background.start(folder=folder, **QUICK)):
        with pytest.raises(ClusterError, match="was started on elsewhere") as told:
            act(where.folder)
        assert f"gone for good, delete {tmp_path}/cluster.json" in str(told.value)


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"scheduler": 1, "workers": 2}', "\0"])
def test_a_spoilt_record(tmp_path, text):
    (tmp_path / "cluster.json").write_text(text)
    for look in (status, background.stop):
        with pytest.raises(ClusterError, match="does not say which cluster was started"):
            look(tmp_path)
    assert background.running_scheduler_file(tmp_path) is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"count": "x"}, {"count": True}, {"threads": 0}, {"state": 1}, {"dashboard": "here"},
        {"scheduler": {"pid": 1, "started": "x"}}, {"scheduler": {"pid": "1", "started": 1.0}},
        {"workers": {"pid": 1, "started": 10**400}}, {"workers": {"pid": -1, "started": 1.0}},
        {"workers": "12"}, {"more": 1}, {"host": None},
    ],
    ids=str,
)  # fmt: skip
def test_a_record_of_other_types(tmp_path, wrong):
    where = Place(str(tmp_path))
    where.write(background._plan(where, "cpu", 1, 1, "127.0.0.1:0"))
    assert status(tmp_path).state == "stopped"
    file = tmp_path / "cluster.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | wrong))
    for look in (status, background.stop):
        with pytest.raises(ClusterError, match="does not say which cluster was started"):
            look(tmp_path)


def test_a_start_that_fails_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(background, "PRELOAD", "no.such.module")
    with pytest.raises(background.StartError, match="the scheduler ended") as told:
        background.start(folder=tmp_path / "c", **QUICK)
    assert any("No module named" in line for line in told.value.log)
    assert sorted(os.listdir(tmp_path / "c")) == [".lock", "cluster.log"]
    assert not of_folder(tmp_path / "c")


def test_a_start_that_takes_too_long_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setitem(background.START_SECONDS, "cpu", 0.3)
    with pytest.raises(background.StartError, match="did not come up within"):
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
    with started(tmp_path / "c") as (where, record):
        where.write(dataclasses.replace(record, state="starting"))  # and its starter is dead
        assert status(where.folder).state == "starting"
        assert background.running_scheduler_file(where.folder) is None
        background.stop(where.folder)
        assert not left_of(record)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"workers": 0}, "workers must lie in"),
        ({"threads": 5000}, "threads must lie in"),
        ({"backend": "tpu"}, "backend must be one of"),
        ({"host": "198.51.100.7"}, "which must be this machine's"),
        ({"host": "no such host"}, "is no name or address"),
        ({"port": 70_000}, "a port lies in"),
        ({"dashboard": "here"}, "HOST:PORT"),
        ({"dashboard": "a..b:0"}, "HOST:PORT"),
    ],
)
def test_wrong_use(tmp_path, how, words):
    with pytest.raises(UsageError, match=words):
        background.start(folder=tmp_path / "c", **QUICK | how)
    assert not (tmp_path / "c").exists()


def test_a_taken_port(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for wrong in ({"port": port}, {"dashboard": f"127.0.0.1:{port}"}):
            with pytest.raises(ClusterError, match=f"nothing can listen at 127.0.0.1:{port}"):
                background.start(folder=tmp_path / "c", **QUICK | wrong)


def test_a_folder_of_others(tmp_path):
    tmp_path.chmod(0o777)
    with pytest.raises(UsageError, match="others can write to"):
        background.start(folder=tmp_path, **QUICK)
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="is a file"):
        background.start(folder=tmp_path / "file", **QUICK)


def test_runs_that_have_not_ended_are_told(tmp_path):
    with started(tmp_path / "c") as (where, record):
        with connect.client_of(scheduler_file=where.file, workers_needed=True) as client:
            future = client.submit(time.sleep, 60, key="mgraph-run-a1")
            wait_until(lambda: client.run_on_scheduler(background.runs_on) == ["a1"])
            assert background.stop(where.folder) == ["a1"]
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
def test_what_others_reach_is_told(tmp_path, tls):
    if tls:
        pytest.importorskip("cryptography", reason="certificates are made by cryptography")
    said = io.StringIO()
    how = {"host": "0.0.0.0", "dashboard": ":0", "tls": tls, "announce": said}
    with started(tmp_path / "c", **how) as (where, _):
        found = status(where.folder)
    if not found.address.startswith(("tcp://127.", "tls://127.")):  # a machine without a network
        warned = [line.split()[:2] for line in said.getvalue().splitlines()]
        told = [["warning:", "the"]] + ([] if tls else [["warning:", found.address]])
        assert warned == told


def test_ipv6(tmp_path):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this machine has no IPv6")
    with started(tmp_path / "c", host="::1") as (where, _):
        assert status(where.folder).address.startswith("tcp://[::1]:")
        with connect.client_of(scheduler_file=where.file, workers_needed=True) as client:
            assert client.submit(int, "7").result() == 7
