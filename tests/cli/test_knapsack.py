"""knapsack on the command line."""

import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph.cli.main import main
from mgraph.knapsacks.pisinger import pisinger_instance

LOCAL = ["-q", "--workers", "1", "--dashboard", "127.0.0.1:0", "--backend", "cpu"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    file = tmp_path_factory.mktemp("knapsack") / "a.data"
    pisinger_instance("strongly_correlated", 80, 300, 400).write(file)
    return str(file)


def test_one_instance(file, capsys):
    instance = mgraph.KnapsackInstance.read(file)
    expected = mgraph.knapsack(instance.profits, instance.weights, instance.capacity)
    for options in ([], ["--method", "branch_and_bound", "--key", "profit", "--no-collect"]):
        assert main(["knapsack", file, *options, "--backend", "cpu"]) == 0
        output = capsys.readouterr().out
        assert f"profit {expected.profit:,}, optimal; " in output
        assert f"of 80 items, weight {expected.weight:,} of {instance.capacity:,}" in output
    assert main(["knapsack", file, "--time-limit", "0"]) == 0
    assert "stopped at the time limit, at most " in capsys.readouterr().out


def test_many(file, tmp_path, capsys):
    out = str(tmp_path / "r")
    assert main(["knapsack", file, file, "--out", out, *LOCAL]) == 0
    output = capsys.readouterr().out
    assert output.count(", optimal; ") == 2
    assert f"2 instances, 2 proven optimal in 2 parts, in {out}" in output
    assert main(["knapsack", file, file, "--out", out, "--resume", *LOCAL]) == 0
    assert "2 parts, 2 of them kept" in capsys.readouterr().out
    assert main(["knapsack", file, file, "--method", "branch_and_bound", *LOCAL]) == 0
    assert "2 instances, 2 proven optimal; " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "items"),
    [([], {104, 7}), (["--ids", "original"], {104, 7}), (["--ids", "number"], {1, 2})],
)
def test_items_with_numbers_of_their_own(options, items, tmp_path):
    (tmp_path / "a").write_text("3\n55 60 10\n104 100 20\n7 120 30\n50\n")
    out = tmp_path / "out"
    assert main(["knapsack", str(tmp_path / "a"), "--out", str(out), *options, *LOCAL]) == 0
    table = pq.read_table(out / "part-00000.parquet")
    assert set(table["item"].to_pylist()) == items


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--key", "profit"], "--key applies to --method branch_and_bound"),
        (["--resume"], "--resume needs --out"),
        (["--workers", "2"], "--workers applies to many instances"),
        (["--method", "luck"], "must be one of auto, dynamic_program, branch_and_bound"),
        (["--time-limit", "-1"], "time_limit must be a number of seconds of at least 0, or None"),
    ],
)
def test_wrong_use(file, options, sentence, capsys):
    assert main(["knapsack", file, *options]) == 2
    assert sentence in capsys.readouterr().err


def test_a_file_that_is_none(tmp_path, capsys):
    assert main(["knapsack", str(tmp_path / "none")]) == 1
    assert "none cannot be read" in capsys.readouterr().err
    assert main(["knapsack"]) == 2


def test_what_does_not_fit_one_method_is_answered_by_the_other(file, capsys, monkeypatch):
    monkeypatch.setattr("mgraph.knapsacks.dynamic_program.MAX_STATES", 1)
    assert main(["knapsack", file]) == 0
    assert "optimal; " in (output := capsys.readouterr().out)
    assert "branch_and_bound on the cpu" in output
