"""A client that cannot connect gets one sentence, soon, and no lines of Dask's log."""

import contextlib
import io
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import threading

import dask
import pytest

import mgraph
from mgraph.distributed.clusters import client, connect
from mgraph.distributed.protocol import addresses, settings
from mgraph.errors import ClusterError, UsageError
from tests.waiting import wait_for_json


def test_a_client_needs_no_workers(cluster):
    address = cluster.client.scheduler.address
    with connect.connect_client(address) as client:
        assert client.run_on_scheduler(lambda: 7) == 7
    with dask.config.set({"scheduler-address": address}), connect.connect_client() as client:
        assert client.scheduler.address == address
    with pytest.raises(UsageError, match="not both"), connect.connect_client(address, "file"):
        pass


def test_a_client_needs_a_scheduler_s_name():
    with pytest.raises(UsageError, match="no cluster is named"), connect.connect_client():
        pass


@pytest.mark.parametrize("needed", [False, True])
def test_a_scheduler_without_workers_is_an_error_if_they_are_needed(monkeypatch, needed):
    from distributed import LocalCluster

    monkeypatch.setattr(connect, "CONNECT_SECONDS", 1)
    with LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0", host="127.0.0.1") as empty:
        coming = connect.connect_client(empty.scheduler_address, workers_needed=needed)
        if needed:
            with pytest.raises(ClusterError, match="has no workers"), coming:
                pass
        else:
            with coming as client:
                assert client.scheduler_info()["workers"] == {}


@pytest.mark.parametrize(
    "address",
    ["tcp://", "host", "host:", "host:x", "host:0", "host:99999", "http://host:1", "a b:1",
     "tcp://host:1/x", "tcp://user@host:1", "host:1:2", "", "tcp://node..example:8786",
     f"{'x' * 64}:1", f"[{'a' * 64}]:1", "a\0b:1", "\udcff:1"],
)  # fmt: skip
def test_invalid_addresses_are_refused(address):
    with pytest.raises(UsageError, match="a scheduler's address"):
        addresses.normalize_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "tcp://a:1",
        "tls://10.0.0.1:8786",
        "ucx://a:1",
        "tcp://[::1]:8786",
        "inproc://x/12/1",
        "tcp://[fe80::1%eth0]:1",
        "tcp://[::ffff:10.0.0.1]:1",
        f"tcp://{'x' * 63}.example.:1",
        "tcp://m\u00fcnchen:1",
        "tcp://a_b:1",
    ],
)
def test_valid_addresses_are_unchanged(address):
    assert addresses.normalize_address(address) == address
    assert addresses.normalize_address("a:1") == "tcp://a:1"


@pytest.mark.parametrize("host", ["a..b", ".", "x" * 64, "a\x1bb"])
def test_invalid_dashboard_addresses_are_refused(host):
    with pytest.raises(UsageError, match="a dashboard's address"):
        addresses.check_dashboard(f"{host}:0")


@pytest.mark.parametrize("host", ["", "localhost", "127.0.0.1", "a.b."])
def test_valid_dashboard_addresses_are_unchanged(host):
    assert addresses.check_dashboard(f"{host}:0") == f"{host}:0"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "it is empty"),
        (b"{", "it is not JSON"),
        (b"\xff\xfe", "it is not JSON"),
        (b"[" * 100_000, "it is not JSON"),
        (b"[]", "it has no address"),
        (b'{"address": 7}', "it has no address"),
        (b'{"address": "a..b:1"}', "is not usable: a scheduler's address must be HOST:PORT"),
        (b'{"address": "nowhere"}', "is not usable: a scheduler's address must be HOST:PORT"),
    ],
)
def test_invalid_scheduler_files_are_refused(tmp_path, content, words):
    file = tmp_path / "scheduler.json"
    file.write_bytes(content)
    with pytest.raises(ClusterError, match=words), connect.connect_client(scheduler_file=file):
        pass


def test_a_folder_or_a_missing_file_is_no_scheduler_file(tmp_path):
    with pytest.raises(UsageError, match="is not a file"), mgraph.connect(scheduler_file=tmp_path):
        pass
    with (
        pytest.raises(ClusterError, match="scheduler file not found"),
        connect.connect_client(scheduler_file=tmp_path / "none"),
    ):
        pass


def test_a_scheduler_file_may_be_incomplete_for_a_moment(tmp_path, cluster):
    file = tmp_path / "scheduler.json"
    file.touch()
    content = json.dumps({"address": cluster.client.scheduler.address})
    threading.Timer(0.3, file.write_text, [content]).start()
    with connect.connect_client(scheduler_file=file) as client:
        assert client.scheduler.address == cluster.client.scheduler.address


def test_a_worker_s_address_is_refused(cluster):
    (address, *_) = cluster.client.scheduler_info()["workers"]
    with pytest.raises(ClusterError, match="a worker answers"), connect.connect_client(address):
        pass


@contextlib.contextmanager
def listener(says):
    """A server that is not a scheduler: silent, or with a text of its own."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            with contextlib.suppress(OSError):
                while True:
                    held.append(server.accept()[0])
                    if says is not None:
                        held[-1].sendall(says)
                        held.pop().close()

        held = []
        threading.Thread(target=serve, daemon=True).start()
        yield f"tcp://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("says", [None, b"", b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\0" * 64])
def test_another_server_is_not_a_scheduler(monkeypatch, says):
    monkeypatch.setattr(connect, "CONNECT_SECONDS", 1)
    with (
        listener(says) as address,
        pytest.raises(ClusterError, match="no Dask scheduler"),
        connect.connect_client(address),
    ):
        pass


def test_an_unencrypted_scheduler_on_the_network_is_warned_of(monkeypatch, cluster):
    warning = addresses.scheduler_warning
    for address in ("tcp://127.0.0.1:1", "tls://10.0.0.1:1", "inproc://x", "tcp://localhost:1",
                    "tcp://[::1]:1"):  # fmt: skip
        assert warning(address) is None
    for address in ("tcp://10.0.0.1:1", "ucx://10.0.0.1:1", "tcp://0.0.0.0:1", "tcp://nowhere.:1"):
        assert "anyone who reaches it can run code" in warning(address)
    stream = io.StringIO()
    monkeypatch.setattr(addresses, "is_loopback", lambda host: False)
    with connect.connect_client(cluster.client.scheduler.address, announce=stream):
        pass
    with mgraph.connect(scheduler=cluster.client.scheduler.address, announce=stream):
        pass
    lines = stream.getvalue().splitlines()
    assert [line.startswith("warning: tcp://127.0.0.1:") for line in lines] == [True, True, False]


@pytest.mark.parametrize("host", ["", "0.0.0.0", "10.0.0.1"])
def test_a_dashboard_on_the_network_is_warned_of(host):
    assert "has no password" in addresses.dashboard_warning(f"{host}:8787")
    assert addresses.dashboard_warning("127.0.0.1:8787") is None


def test_the_user_s_own_settings_take_precedence():
    assert settings.settings() == settings.SETTINGS
    with dask.config.set({"distributed.admin.log-length": 77}):
        assert "distributed.admin.log-length" not in settings.settings()
        assert "DASK_DISTRIBUTED__ADMIN__LOG_LENGTH" not in settings.environment()


def test_a_process_takes_the_settings_from_its_environment(tmp_path):
    tls = settings.tls_settings("/ca", "/cert", "/key")
    expected = settings.SETTINGS | tls
    code = (
        "import dask, distributed, json, sys;"
        "print(json.dumps({key: dask.config.get(key) for key in sys.argv[1:]}))"
    )
    environment = os.environ | settings.environment(tls)
    found = subprocess.check_output([sys.executable, "-c", code, *expected], env=environment)
    assert json.loads(found) == expected
    with dask.config.set(tls):  # a worker with certificates hands them on
        assert settings.environment() == settings.environment(tls)


def test_a_local_cluster_has_the_settings(cluster):
    keys = sorted(settings.SETTINGS)

    def given():
        import dask

        return [dask.config.get(key) for key in keys]

    expected = [settings.SETTINGS[key] for key in keys]
    assert all(found == expected for found in cluster.client.run(given).values())


def levels():
    import distributed  # noqa: F401  sets levels

    names = "distributed", "distributed.client", "distributed.batched", "tornado", "asyncio"
    return [logging.getLogger(name).level for name in names]


def test_loggers_are_quiet_in_overlapping_contexts():
    before = levels()
    first, second = client.quiet_logs(), client.quiet_logs()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert levels()[0] > logging.CRITICAL
    second.__exit__(None, None, None)
    assert levels() == before


def test_loggers_are_restored_after_the_last_client(cluster):
    before = levels()

    def ask():
        with connect.connect_client(cluster.client.scheduler.address):
            assert levels()[1:3] == [logging.CRITICAL] * 2  # a lost scheduler prints no traceback

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert levels() == before


def test_a_scheduler_that_hangs_is_an_error_in_time(monkeypatch, tmp_path):
    file = tmp_path / "scheduler.json"
    scheduler = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port",
         "0", "--no-dashboard", "--scheduler-file", str(file)], stderr=subprocess.DEVNULL
    )  # fmt: skip
    try:
        wait_for_json(file, scheduler)
        scheduler.send_signal(signal.SIGSTOP)
        monkeypatch.setattr(connect, "CONNECT_SECONDS", 2)
        with (
            pytest.raises(ClusterError, match="no Dask scheduler answers"),
            connect.connect_client(scheduler_file=file),
        ):
            pass
    finally:
        scheduler.kill()
        scheduler.wait()
