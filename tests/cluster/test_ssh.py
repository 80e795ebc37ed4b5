"""cluster/ssh, through a real sshd on two loopback addresses: start, run, refuse, stop."""

import contextlib
import getpass
import os
import pathlib
import shutil
import signal
import socket
import stat
import subprocess
import sys
import time

import psutil
import pytest

from tests.waiting import wait_until

RECIPE = pathlib.Path(__file__).parents[2] / "cluster" / "ssh"
BIN = pathlib.Path(sys.executable).parent
HOSTS = ["127.0.0.1", "127.0.0.2"]
SSHD = shutil.which("sshd", path="/usr/sbin:/usr/local/sbin:/usr/bin")

needs = {
    "sshd (openssh-server)": SSHD,
    "ssh": shutil.which("ssh"),
    "the dask and mgraph commands": shutil.which("mgraph", path=str(BIN)),
}
pytestmark = [
    pytest.mark.skipif(not there, reason=f"needs {what}") for what, there in needs.items()
]


@pytest.fixture
def ssh_config(tmp_path):
    """The configuration of ssh with which both hosts are reached, each with one home folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    for name in ("host_key", "user_key"):
        key = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / name]
        subprocess.run(key, check=True)
    shutil.copy(tmp_path / "user_key.pub", tmp_path / "authorized_keys")
    public = (tmp_path / "host_key.pub").read_text()
    known = (f"[{host}]:{port} {public}" for host in HOSTS)
    (tmp_path / "known_hosts").write_text("".join(known))
    home = tmp_path / "home of all"
    home.mkdir()
    path = os.environ.get("PYTHONPATH", "")
    cache = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"  # of machine code
    (tmp_path / "sshd_config").write_text(
        f"Port {port}\n"
        + "".join(f"ListenAddress {host}\n" for host in HOSTS)
        + f"HostKey {tmp_path}/host_key\nAuthorizedKeysFile {tmp_path}/authorized_keys\n"
        "PidFile none\nUsePAM no\nStrictModes no\nPasswordAuthentication no\nPermitRootLogin yes\n"
        f'SetEnv "HOME={home}" "PYTHONPATH={path}" "XDG_CACHE_HOME={cache}"\n'
    )
    (tmp_path / "ssh_config").write_text(
        f"Host *\nPort {port}\nUser {getpass.getuser()}\nIdentityFile {tmp_path}/user_key\n"
        f"IdentitiesOnly yes\nUserKnownHostsFile {tmp_path}/known_hosts\n"
        "StrictHostKeyChecking yes\n"
    )
    if os.geteuid() == 0:
        pathlib.Path("/run/sshd").mkdir(exist_ok=True)  # where it confines itself
    with open(tmp_path / "sshd.log", "wb") as log:
        server = subprocess.Popen([SSHD, "-D", "-e", "-f", tmp_path / "sshd_config"], stderr=log)
    try:
        for _ in range(100):
            if server.poll() is not None:
                pytest.skip(f"sshd does not start: {(tmp_path / 'sshd.log').read_text()[-300:]}")
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield tmp_path / "ssh_config"
    finally:
        server.terminate()
        server.wait()


@pytest.fixture
def shell(tmp_path):
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}

    def run(*command):
        return subprocess.run(
            [*map(str, command)],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    return run


def processes_in(folder):
    """What runs with its working folder below ``folder``."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.cwd().startswith(str(folder)) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


def test_a_cluster_starts_runs_refuses_strangers_and_stops(shell, ssh_config, tmp_path):
    home = tmp_path / "home of all"
    try:
        started = shell(RECIPE / "start", "-F", ssh_config, "--workers", 1, *HOSTS)
        assert started.returncode == 0, started.stderr
        assert started.stdout.startswith("2 workers on 2 hosts\n")
        again = shell(RECIPE / "start", "-F", ssh_config, *HOSTS)
        assert again.returncode == 1
        assert "stop --folder mgraph-ssh ends its cluster" in again.stderr

        keys = [*home.rglob("*.pem")]
        assert sorted({key.name for key in keys}) == ["cert.pem", "key.pem"]
        secret = [key for key in keys if key.name == "key.pem"]
        assert [stat.S_IMODE(key.stat().st_mode) for key in secret] == [0o600] * 2
        listening = [
            connection.laddr.ip
            for process in processes_in(home)
            for connection in process.net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        ]
        assert set(listening) == set(HOSTS)

        mgraph = [BIN / "mgraph"]
        to_it = ["-q", "--scheduler-file", "mgraph-ssh/scheduler.json"]
        made = shell(*mgraph, "generate", "graph", "-n", "30_000", *to_it)
        assert made.returncode == 0, made.stderr
        assert shell(*mgraph, "verify", "graph", *to_it).returncode == 0
        shutil.copy(tmp_path / "mgraph-ssh" / "scheduler.json", tmp_path)  # away from its keys
        refused = shell(*mgraph, "verify", "graph", "-q", "--scheduler-file", "scheduler.json")
        assert refused.returncode in (1, 2)
        assert len(refused.stderr.splitlines()) == 1
    finally:
        stopped = shell(RECIPE / "stop")
        left = processes_in(home)
        for process in left:
            process.kill()
    assert stopped.returncode == 0, stopped.stderr
    assert left == []
    assert not [*home.rglob("*.pem")]
    assert not (tmp_path / "mgraph-ssh").exists()
    assert shell(RECIPE / "stop").returncode == 1


def test_a_start_that_fails_leaves_nothing(shell, ssh_config, tmp_path):
    failed = shell(RECIPE / "start", "-F", ssh_config, "--python", "/no/python", *HOSTS)
    assert failed.returncode == 1
    assert "/no/python: No such file" in failed.stderr
    assert f"start: {HOSTS[0]}: nothing was left running" in failed.stderr
    unreached = shell(RECIPE / "start", "-F", ssh_config, HOSTS[0], "127.0.0.3")
    assert unreached.returncode != 0
    assert "127.0.0.3 is not reached; ssh 127.0.0.3 must work without" in unreached.stderr
    assert not (tmp_path / "mgraph-ssh").exists()  # so that it can be started again
    assert processes_in(tmp_path / "home of all") == []
    assert not [*(tmp_path / "home of all").rglob("*.pem")]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_start_leaves_nothing(ssh_config, tmp_path, number):
    home = tmp_path / "home of all"
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}
    start = subprocess.Popen(
        [RECIPE / "start", "-F", ssh_config, "--workers", "1", *HOSTS],
        cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip
    wait_until(lambda: len([*home.rglob("key.pem")]) == 2)
    start.send_signal(number)
    _, said = start.communicate(timeout=120)
    assert start.returncode == 1, said
    assert processes_in(home) == []
    assert not [*home.rglob("*.pem")]
    assert not (tmp_path / "mgraph-ssh").exists()


@pytest.mark.parametrize("there", ["sh", "bash"])
def test_commands_are_quoted_for_any_shell(tmp_path, there):
    words = ["it's", "$HOME", "two\nlines", 'a "b" \\ `c`', ""]
    code = f". {RECIPE}/on.sh; quoted printf '%s|' \"$@\""
    line = subprocess.run(
        ["bash", "-c", code, "x", *words], capture_output=True, text=True, check=True
    ).stdout
    output = subprocess.run([there, "-c", line], capture_output=True, text=True, check=True).stdout
    assert output.split("|")[:-1] == words


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ([], "name a host at least"),
        (["--workers", "none", "a"], "--workers is a number of processes a host, not none"),
        (["--port"], "--port needs a value"),
        (["--sudo", "1", "a"], "there is no option --sudo"),
        (["a", "a"], "each host is named once"),
        (["a", "-oProxyCommand=id"], "-oProxyCommand=id is no host name"),
    ],
)
def test_invalid_options_are_refused(shell, tmp_path, arguments, sentence):
    refused = shell(RECIPE / "start", *arguments)
    assert refused.returncode == 2
    assert refused.stderr.startswith(f"start: {sentence}; usage: start ")
    assert not (tmp_path / "mgraph-ssh").exists()
