"""The command line: what a user types, what comes back, and with which status."""

import json
import os
import subprocess
import sys

import dask
import pytest

from mgraph.cli.main import VERBS, main, name_options
from mgraph.core.numbers import parse_number

GENERATE = ["generate", "OUT", "-n", "2000", "-d", "3"]
QUICK = ["-q", "--workers", "1", "--backend", "cpu", "--dashboard", "127.0.0.1:0"]


def run(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "mgraph.cli.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        **options,
    )


@pytest.mark.parametrize(
    ("message", "printed"),
    [
        ("x exists; pass `overwrite=True`", "x exists; pass --overwrite"),
        ("pass `drop_loops=True` or `merge=True`", "pass --drop-loops or --merge"),
        ("read it without `scan=True`: `scan=False`", "read it without --scan: --no-scan"),
        ('use a larger GPU or pass `backend="cpu"`', "use a larger GPU or pass --backend cpu"),
        ("`backend='cpu'` or `backend=cpu`", "--backend cpu or --backend cpu"),
        ("lower `workers=8` or raise `part_edges=1_000`",
         "lower --workers 8 or raise --part-edges 1_000"),
        ("`graph.to_cpu()`, `a` = `b`, ``x=1``, x=1", "`graph.to_cpu()`, `a` = `b`, ``x=1``, x=1"),
        ("`f(x=1)`, `x=g(1)`, `name=\"a b\"`", "`f(x=1)`, `x=g(1)`, --name a b"),
        ("nothing of the kind", "nothing of the kind"),
    ],
)  # fmt: skip
def test_a_parameter_in_a_message_is_printed_as_an_option(message, printed):
    assert name_options(message) == printed
    assert name_options(printed) == printed


@pytest.mark.parametrize(
    ("text", "number"),
    [("7", 7), ("1_000_000", 10**6), ("1,000", 1000), ("1e9", 10**9), ("2.5e6", 2_500_000),
     ("2^30", 1 << 30), ("1E3", 1000), ("-1", -1), ("1.50e1", 15)],
)  # fmt: skip
def test_numbers_as_people_write_them(text, number):
    assert parse_number(text) == number


@pytest.mark.parametrize(
    "text", ["", "x", "1.5", "1e-3", "1.25e1", "2^", "^3", "2^9999", "1e9999", "nan"]
)
def test_what_is_no_whole_number(text):
    with pytest.raises(ValueError):  # noqa: PT011
        parse_number(text)


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["generate", "OUT", "-n", "5", "-d", "8"], 2, "n must be above d"),
        (["generate", "OUT", "-n", "9", "-d", "0"], 2, "d must lie in"),
        (["generate", "OUT", "-n", "9", "-p", "1.5"], 2, "p is a probability"),
        (["generate", "OUT", "-n", "9", "-p", "nan"], 2, "p is a probability"),
        (["generate", "OUT", "-n", "nine"], 2, "must be a whole number"),
        (["generate", "OUT"], 2, "Missing option '-n'"),
        (["generate", "OUT", "-n", "99", "--method", "magic"], 2, "must be one of cuppa_hash"),
        (["generate", "OUT", "-n", "99", "--parts", "100"], 2, "parts must lie in [1, n]"),
        (["generate", "OUT", "-n", "99", "--compression", "rar"], 2, "none, lz4, zstd"),
        (["generate", "OUT", "-n", "99", "--resume", "--overwrite"], 2, "choose one"),
        (["generate", "OUT", "-n", "99", "--method", "ba", "-p", "0.3"], 2, "p must be 0.5"),
        (["generate", "OUT", "-n", "99", "--method", "ba", "--backend", "gpu"], 2, "runs on CPUs"),
        (["generate", "OUT", "-n", "1e11", "--method", "copy"], 1, "use method cuppa_hash"),
        (["generate", "OUT", "-n", "99", "--workers", "0"], 2, "workers must lie in [1, 1,024]"),
        (["generate", "OUT", "-n", "99", "--dashboard", "here"], 2, "HOST:PORT"),
        (["generate", "OUT", "-n", "99", "--scheduler", "a:1", "--workers", "2"], 2, "has its own"),
        (["generate", "OUT", "-n", "99", "--scheduler", "a:1", "--scheduler-file", "b"], 2, "both"),
        (["generate", "OUT", "-n", "99", "--scheduler-file", "none.json"], 1, "scheduler file not"),
        (["generate", "FILE/x", "-n", "99"], 1, "is not a folder"),
        (["generate", "/proc/none", "-n", "99"], 1, "/proc/none"),
        (["info", "OUT"], 1, "does not exist"),
        (["verify", "OUT"], 1, "does not exist"),
        (["degrees", "OUT"], 1, "does not exist"),
        (["verify", "OUT", "--regenerate", "2"], 2, "a fraction in [0, 1]"),
        (["paint", "OUT"], 2, "No such command 'paint'"),
    ],
)  # fmt: skip
def test_wrong_use_is_one_sentence_and_changes_nothing(
    tmp_path, monkeypatch, capsys, arguments, status, words
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "FILE").write_text("")
    assert main(arguments) == status
    said = capsys.readouterr().err
    complaint = said.strip().splitlines()[-1]
    assert complaint.startswith("mgraph: ")
    assert words in complaint
    assert "Traceback" not in said
    assert os.listdir(tmp_path) == ["FILE"]


def test_a_scheduler_that_is_not_there(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("mgraph.distributed.clusters.connect.CONNECT_SECONDS", 1)
    out = tmp_path / "g"
    assert main(["generate", str(out), "-n", "99", "--scheduler", "tcp://127.0.0.1:9"]) == 1
    assert "no Dask scheduler answers at tcp://127.0.0.1:9" in capsys.readouterr().err
    assert not out.exists()


def test_gpu_without_a_gpu(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("mgraph.core.backend.gpu_count", lambda: 0)
    assert main(["generate", str(tmp_path / "g"), "-n", "99", "--backend", "gpu"]) == 1
    assert "no CUDA device" in capsys.readouterr().err
    assert not (tmp_path / "g").exists()


def test_the_whole_way(tmp_path, monkeypatch, capsys, cluster):
    """generate, info, verify, degrees, a damaged part, and the mending of it."""
    monkeypatch.chdir(tmp_path)

    def here(*arguments):
        """Its status, output and errors: in this process, on the session's cluster."""
        with dask.config.set({"scheduler-address": cluster.client.scheduler.address}):
            return main([*arguments]), *capsys.readouterr()

    made = run(*GENERATE, "--parts", "4", *QUICK, cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert made.stderr == ""
    assert made.stdout.startswith("2,000 vertices and 5,994 edges in 4 parts, ")
    assert made.stdout.count("\n") == 1

    assert "5,994" in here("info", "OUT")[1]
    manifest = json.loads(here("info", "OUT", "--json")[1])
    assert (manifest["n"], manifest["m"], len(manifest["parts"])) == (2000, 5994, 4)

    assert here("verify", "OUT", "-q", "--regenerate", "0.5")[0] == 0
    status, counted, err = here("degrees", "OUT", "-q", "--plot", "d.png", "--json")
    assert status == 0, err
    assert sum(json.loads(counted)["count"]) == 2000
    assert (tmp_path / "d.png").stat().st_size > 10_000

    part = tmp_path / "OUT" / "part-00001.parquet"
    part.write_bytes(part.read_bytes()[:-20])
    status, _, err = here("verify", "OUT", "-q")
    assert status == 1
    assert "part-00001.parquet is not a complete Parquet file" in err
    again = [*GENERATE, "--parts", "4", "-q"]
    assert "3 of them kept" in here(*again, "--resume")[1]
    assert here("verify", "OUT", "-q")[0] == 0
    assert here(*again, "--overwrite", "--seed", "2")[0] == 0


def test_the_cluster_and_the_dashboard_are_named(tmp_path):
    made = run(*GENERATE, *QUICK[1:], cwd=tmp_path)
    assert (
        "cores of this machine: 1 worker, 1 thread, cpu; dashboard http://127.0.0.1:" in made.stderr
    )


@pytest.mark.parametrize("arguments", [[], *([verb] for verb in VERBS)], ids=" ".join)
def test_help_comes_at_once_since_it_loads_little(arguments):
    """What takes its time is not imported: 0.3 s on an idle machine, 1.3 s with a compiler."""
    code = "import sys, mgraph.cli.main as m; m.main(sys.argv[1:]); print(*sys.modules)"
    line = [sys.executable, "-c", code, *arguments, "--help"]
    shown = subprocess.run(line, capture_output=True, text=True, check=True)
    assert "Usage: mgraph" in shown.stdout
    loaded = set(shown.stdout.splitlines()[-1].split())
    assert not {"numba", "scipy", "pyarrow", "distributed", "pandas"} & loaded
    assert len(loaded) < 400


def test_version():
    import mgraph

    assert run("--version").stdout == f"mgraph, version {mgraph.__version__}\n"


def test_timings_of_a_command_and_its_workers(tmp_path, monkeypatch, capsys, cluster):
    monkeypatch.chdir(tmp_path)
    to_it = ["--scheduler", cluster.client.scheduler.address]
    assert main(["generate", "g", "-n", "1000", "-q", *to_it, "--timings-json", "t.json"]) == 0
    report = json.loads((tmp_path / "t.json").read_text())
    steps = {step["step"] for step in report["steps"]}
    assert {"starting", "connecting", "waiting for workers"} <= steps
    assert {"computing", "writing"} <= {step["step"] for step in report["workers"]}
    for step in (*report["steps"], *report["workers"]):
        assert 0 <= step["begin"] <= step["end"] <= report["seconds"] + 0.1
        assert 0 < step["busy"] <= step["end"] - step["begin"] + 1e-3
    capsys.readouterr()

    assert main(["sssp", "g", "--source", "0", "-q", "--backend", "cpu", "--timings"]) == 0
    printed = capsys.readouterr().err
    for step in ("reading", "building", "computing", "in no step", "total"):
        assert f"\n{step} " in printed
    assert "waiting" not in printed.split("starting")[0]

    # A command that fails has timings, too; a file is never replaced.
    assert main(["sssp", "nothing", "--source", "0", "--timings"]) == 1
    assert "\ntotal " in capsys.readouterr().err
    assert main(["info", "g", "--timings-json", "t.json"]) == 2
    assert "t.json exists; timings are written to a new file" in capsys.readouterr().err
    assert main(["info", "g", "--timings-json", "no/t.json"]) == 0
    assert (tmp_path / "no/t.json").exists()
