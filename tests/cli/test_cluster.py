"""``mgraph cluster`` and ``mgraph doctor`` as they are typed."""

import json
import os
import re
import subprocess
import sys

import pytest

from mgraph.cli.main import main

QUICK = ["--workers", "1", "--backend", "cpu", "--dashboard", "127.0.0.1:0"]


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "mgraph.cli.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        **options,
    )


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["start", "--workers", "0"], 2, "workers must lie in [1, 1,024]"),
        (["start", "--workers", "two"], 2, "must be a whole number"),
        (["start", "--threads", "0"], 2, "threads must lie in [1, 1,024]"),
        (["start", "--backend", "tpu"], 2, "must be one of auto, cpu, gpu"),
        (["start", "--host", "198.51.100.7"], 2, "must be an address of this"),
        (["start", "--host", "198.51.100.7", "--port", "8786"], 2, "must be an address of this"),
        (["start", "--dashboard", "198.51.100.7:8787"], 2, "must be an address of this"),
        (["start", "--host", "a b"], 2, "must be a name or an address of this machine"),
        (["start", "--port", "65536"], 2, "port must lie in [0, 65535]"),
        (["start", "--dashboard", "8787"], 2, "a dashboard's address must be HOST:PORT"),
        (["start", "--folder", "FILE"], 2, "is a file"),
        (["start", "--folder", "FILE/x"], 1, "the cluster's folder"),
        (["start", "now"], 2, "unexpected extra argument"),
        (["stop", "--folder", "NONE"], 1, "no cluster runs from"),
        (["stop", "--folder", "FILE"], 1, "no cluster runs from"),
        (["stop", "--force"], 2, "No such option"),
        (["restart"], 2, "No such command 'restart'"),
        (["certificates"], 2, "Missing argument 'DIR'"),
        (["certificates", "NEW", "--days", "0"], 2, "days must lie in [1, 3,650]"),
        (["certificates", "NEW", "--days", "1e9"], 2, "days must lie in"),
        (["certificates", "FILE"], 2, "is a file"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_sentence(tmp_path, monkeypatch, capsys, arguments, status, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_text("")
    if arguments[0] == "start" and "--folder" not in arguments:
        arguments = [*arguments, "--folder", "NEW"]
    assert main(["cluster", *arguments]) == status
    said = capsys.readouterr().err.strip()
    assert said.startswith("mgraph: ")
    assert words in said
    assert "\n" not in said
    assert os.listdir(tmp_path) == ["FILE"]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["--scheduler", "http://a:1"], 2, "a scheduler's address must begin with"),
        (["--scheduler", "a", "--scheduler-file", "b"], 2, "not both"),
        (["--scheduler"], 2, "requires an argument"),
        (["x"], 2, "unexpected extra argument"),
    ],
)
def test_wrong_use_of_doctor(capsys, arguments, status, words):
    assert main(["doctor", *arguments]) == status
    assert words in capsys.readouterr().err.splitlines()[-1]


def test_without_a_subcommand_there_is_help():
    shown = run("cluster")
    output = shown.stdout + shown.stderr
    assert shown.returncode == 2
    for name in ("start", "stop", "status", "certificates"):
        assert f"  {name} " in output


def test_start_status_doctor_stop(tmp_path):
    folder = ["--folder", "c"]
    before = run("cluster", "status", *folder, cwd=tmp_path)
    assert (before.returncode, before.stderr) == (1, "")
    assert before.stdout.startswith("cluster     stopped, no cluster runs from")
    try:
        started = run("cluster", "start", *folder, *QUICK, cwd=tmp_path)
        assert started.returncode == 0, started.stderr
        assert started.stderr == ""
        assert "scheduler   process " in started.stdout
        assert "monitor     http://127.0.0.1:" in started.stdout
        use = started.stdout.strip().splitlines()[-1].split(None, 1)[1]
        assert use == f"--scheduler-file {tmp_path}/c/scheduler.json"
        again = run("cluster", "start", *folder, *QUICK, cwd=tmp_path)
        assert again.returncode == 1
        assert "a cluster is already running" in again.stderr

        state = json.loads(run("cluster", "status", "--json", *folder, cwd=tmp_path).stdout)
        assert (state["state"], state["workers"], state["expected"]) == ("running", 1, 1)
        checked = run("doctor", *use.split(), "--out", "out", "--json", cwd=tmp_path)
        assert checked.returncode == 0, checked.stdout
        checks = json.loads(checked.stdout)
        assert {"name", "state", "told", "todo"} == set(checks[0])
        assert not [check for check in checks if check["state"] == "FAIL"]
    finally:
        stopped = run("cluster", "stop", *folder, cwd=tmp_path)
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (0, "stopped\n", "")
    assert run("cluster", "stop", *folder, cwd=tmp_path).returncode == 1
    lost = run("doctor", *use.split(), cwd=tmp_path)
    assert lost.returncode == 1
    assert "FAIL  scheduler    scheduler file not found" in lost.stdout


def test_a_start_that_fails_shows_the_log(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("mgraph.distributed.clusters.background_cluster.PRELOAD", "no.such.module")
    assert main(["cluster", "start", "--folder", str(tmp_path / "c"), *QUICK]) == 1
    *log, said = capsys.readouterr().err.strip().splitlines()
    assert any("No module named" in line for line in log)
    assert said.startswith(
        "mgraph: the scheduler ended while the cluster was starting; its log is "
    )


def test_the_folder_is_that_of_the_configuration(tmp_path, monkeypatch):
    environment = os.environ | {"DASK_MGRAPH__CLUSTER": str(tmp_path / "mine")}
    shown = run("cluster", "status", env=environment)
    assert f"; {tmp_path}/mine\n" in shown.stdout


def test_certificates(tmp_path):
    pytest.importorskip("cryptography", reason="certificates are made by the package cryptography")
    made = run("cluster", "certificates", "tls", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    first, second = made.stdout.splitlines()
    assert re.fullmatch(r"/.*/tls: a certificate until \d{4}-\d\d-\d\d", first)
    assert second == f"use it with: export DASK_CONFIG={tmp_path}/tls/dask.yaml"
    # Version 0.1.0 needed --host.
    again = run("cluster", "certificates", "tls", "--host", "a.org", cwd=tmp_path)
    assert again.returncode == 2
    assert re.search("(--overwrite|`overwrite=True`) replaces it", again.stderr)
