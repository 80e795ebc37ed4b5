"""Calls into a store: each has a limit of time, can be interrupted, and names the endpoint."""

import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow
import pytest

import mgraph
from mgraph import StorageError, UsageError
from mgraph.cli.main import main
from mgraph.core import stopping
from mgraph.errors import without_secrets
from mgraph.io import store, timeouts
from mgraph.io.address import parse
from mgraph.io.folder import Folder
from mgraph.io.parquet import PartWriter
from tests.waiting import wait_until

PLACE = parse("s3://b/k?endpoint_override=127.0.0.1:9&scheme=http")


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(timeouts, "store_seconds", lambda: 0.3)


@pytest.fixture
def stuck():
    """A call that does not return before the test is over."""
    over = threading.Event()
    yield over.wait
    over.set()


@pytest.fixture
def deaf():
    """A listener that accepts and never answers, and how many have called."""
    callers = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def accept():
            while True:
                try:
                    callers.append(listener.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield listener.getsockname()[1], callers
        for caller in callers:
            caller.close()


def environment(port, **more):
    return os.environ | {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "x",
        "AWS_SECRET_ACCESS_KEY": "x",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    } | more  # fmt: skip


COMMANDS = [
    ["info", "s3://b/g"],
    ["convert", "s3://b/g", "out"],
    ["generate", "s3://b/g", "-n", "1000", "-d", "2", "-q"],
    ["msf", "s3://b/g", "--out", "s3://b/f", "-q"],
]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
def test_a_signal_ends_a_command_whose_store_does_not_answer(tmp_path, deaf, arguments, number):
    port, callers = deaf
    client = subprocess.Popen(
        [sys.executable, "-m", "mgraph.cli.main", *arguments],
        env=environment(port), cwd=tmp_path, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    wait_until(lambda: callers, 60)
    client.send_signal(number)
    # It says so, which it would not had the SDK given up first.
    _, said = client.communicate(timeout=60)
    assert said.strip() == "mgraph: interrupted; what is finished is kept"
    assert client.returncode == 128 + number


@pytest.mark.parametrize("arguments", COMMANDS[:3], ids=" ".join)
def test_a_store_that_does_not_answer_is_one_sentence_with_its_endpoint(tmp_path, deaf, arguments):
    done = subprocess.run(
        [sys.executable, "-m", "mgraph.cli.main", *arguments],
        env=environment(deaf[0], DASK_MGRAPH__STORE_TIMEOUT="1"), cwd=tmp_path,
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 1
    assert done.stderr.startswith(f"mgraph: The store at http://127.0.0.1:{deaf[0]} has not")
    assert "within 1 s" in done.stderr
    assert done.stderr.count("\n") == 1


def test_a_refused_connection_names_the_endpoint(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for name, value in environment(port).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(store, "ATTEMPTS", 1)
    with pytest.raises(StorageError, match=rf"s3://b/g could not be .* at http://127.0.0.1:{port}"):
        mgraph.open_dataset("s3://b/g")


def test_the_limit_is_of_each_call(impatient):
    def call(item):
        time.sleep(0.05)
        return item * item

    assert store.call_each(call, range(100), PLACE) == [i * i for i in range(100)]
    assert store.call_each(call, [], PLACE) == []


def test_what_takes_too_long(impatient, stuck):
    with pytest.raises(StorageError, match=r"at 127\.0\.0\.1:9 .* within 0\.3 s .*store-timeout"):
        store.call(stuck, PLACE)
    with pytest.raises(StorageError, match="has not answered"):
        store.call_each(lambda item: item or stuck(), [1, 2, 0, 3], PLACE)


def test_more_data_has_more_time(impatient):
    assert store.call(lambda: time.sleep(0.6) or 7, PLACE, size=store.BYTES_PER_SECOND) == 7


def test_what_a_call_raises_comes_through():
    with pytest.raises(ZeroDivisionError):
        store.call_each(lambda item: 1 / item, [1, 0, 2], PLACE)


def test_cancelled_work_does_not_wait(stuck):
    began = time.monotonic()
    with (
        pytest.raises(stopping.Stopped),
        stopping.stopping_when(lambda: time.monotonic() > began + 0.2),
    ):
        store.call(stuck, PLACE)


def test_cleaning_up_is_short_and_is_not_cancelled(monkeypatch, stuck):
    monkeypatch.setattr(store, "CLEAN_UP_SECONDS", 0.3)
    with stopping.stopping_when(lambda: True), store.cleaning_up():
        assert store.call(lambda: 7, PLACE) == 7
        with pytest.raises(StorageError, match=r"within 0\.3 s"):
            store.call(stuck, PLACE)


def test_ctrl_c_comes_through(stuck):
    main = threading.main_thread().ident
    threading.Timer(0.3, signal.pthread_kill, [main, signal.SIGINT]).start()
    with pytest.raises(KeyboardInterrupt):
        store.call(stuck, PLACE)


def test_threads_of_a_read_end_with_it():
    begun, ended = threading.Event(), threading.Event()

    def wait(item):
        begun.set()
        try:
            while True:
                stopping.check()
                time.sleep(0.01)
        finally:
            ended.set()

    def interrupt():
        begun.wait()
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    threading.Thread(target=interrupt).start()
    with pytest.raises(KeyboardInterrupt):
        stopping.map_in_threads(wait, range(9), 3)
    assert ended.wait(60)


CONFIG = """
[default]
region = eu-west-1
endpoint_url = http://default:1
[profile plain]
endpoint_url = https://plain:2
[profile service]
endpoint_url = http://no:3
services = mine
[services mine]
dynamodb =
  endpoint_url = http://no:4
s3 =
  max_attempts = 4
  endpoint_url = http://service:5
[profile ignored]
endpoint_url = http://no:6
ignore_configured_endpoint_urls = true
[profile none]
region = x
"""


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "http://default:1"),
        ({"AWS_PROFILE": "plain"}, "https://plain:2"),
        ({"AWS_DEFAULT_PROFILE": "plain"}, "https://plain:2"),
        ({"AWS_PROFILE": "service"}, "http://service:5"),
        ({"AWS_PROFILE": "ignored"}, None),
        ({"AWS_PROFILE": "none"}, None),
        ({"AWS_PROFILE": "missing"}, None),
        ({"AWS_ENDPOINT_URL": "http://e:7"}, "http://e:7"),
        ({"AWS_ENDPOINT_URL": "http://e:7", "AWS_ENDPOINT_URL_S3": "http://s:8"}, "http://s:8"),
        ({"AWS_ENDPOINT_URL": ""}, "http://default:1"),
        ({"AWS_ENDPOINT_URL": "e:7", "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"}, None),
    ],
)
def test_where_the_endpoint_comes_from(tmp_path, monkeypatch, variables, expected):
    for name in list(os.environ):
        if name.startswith("AWS_"):
            monkeypatch.delenv(name)
    (tmp_path / "config").write_text(CONFIG)
    for name, value in {"AWS_CONFIG_FILE": str(tmp_path / "config"), **variables}.items():
        monkeypatch.setenv(name, value)
    assert store.configured_endpoint() == expected
    assert (expected or "Amazon S3") in store.endpoint_of(parse("s3://b/k"))


@pytest.mark.parametrize("endpoint", ["ftp://h:1", "http://", "://h"])
def test_an_endpoint_that_is_none(monkeypatch, endpoint):
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    with pytest.raises(UsageError, match="must be a URL"):
        Folder("s3://b/k").names()


SECRET = "s3://AKIA:aB%2Fc+d@bucket/graph"


def test_no_message_has_a_secret_in_it(monkeypatch, capsys, tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    for name, value in environment(port).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(store, "ATTEMPTS", 1)
    folder = pickle.loads(pickle.dumps(Folder(SECRET)))
    assert folder.address.options["secret_key"] == "aB/c+d"
    assert str(folder) == "s3://AKIA:…@bucket/graph"
    for arguments in (
        ["info", SECRET],
        ["verify", SECRET],
        ["convert", SECRET, str(tmp_path / "g")],
        ["msf", SECRET, "--out", str(tmp_path / "f")],
        ["generate", SECRET, "-n", "100", "-d", "2"],
        ["info", SECRET.replace("bucket", "bucket!")],
        ["info", SECRET + "?colour=red"],
        ["info", SECRET + "//x"],
    ):
        assert main(arguments) in (1, 2)
        message = capsys.readouterr().err
        assert "s3://AKIA:…@bucket" in message
        assert "+d" not in message
    assert without_secrets("s3://bucket/a:b@c and s3://KEY@bucket") == (
        "s3://bucket/a:b@c and s3://KEY@bucket"
    )


def test_rows_that_a_store_does_not_take_are_given_up(impatient, stuck, monkeypatch):
    sink = pyarrow.BufferOutputStream()
    folder = Folder("s3://b/g")
    writer = PartWriter(folder, sink, {"src": np.int32, "dst": np.int32}, "lz4")
    monkeypatch.setattr(writer._writer, "write_table", lambda *_, **__: stuck())
    rows = [np.arange(9, dtype=np.int32)] * 2
    with pytest.raises(StorageError, match="has not answered"):
        writer.write(rows)
