"""The workflow on cuPPA's experiments does what its first lines say."""

import numpy as np
import pandas as pd
import pytest

from mgraph.core.backend import gpu_count
from tests.workflows import load


@pytest.fixture(scope="module")
def workflow():
    return load("cuppa_experiments")


def test_the_figures_of_a_cpu(workflow, tmp_path, capsys, monkeypatch):
    """All but 15, which needs a GPU; 16 with two workers; 8 and 9 of fewer slots and rounds."""
    monkeypatch.setitem(workflow.MAX_SLOTS, "cpu", 128)
    monkeypatch.setitem(workflow.ROUNDS, "cpu", 6)
    options = ["--edges", "2e5", "--repeats", "1", "--backend", "cpu", "--workers", "2"]
    assert workflow.main([str(tmp_path), *options]) == 0
    assert "Left out: it needs a GPU" in capsys.readouterr().out
    text = (tmp_path / "tables.md").read_text()
    tables = {}
    for number in (3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 16):
        assert (tmp_path / f"figure_{number}.png").stat().st_size > 10_000
        tables[number] = pd.read_parquet(tmp_path / f"figure_{number}.parquet")
        assert f"## Figure {number}:" in text
    counts = tables[3].groupby("graph")["vertices"].sum()
    assert list(counts.index) == sorted(workflow.METHODS)
    assert (counts == 50_000).all()
    assert len(tables[7]["graph"].unique()) == 12
    assert text.count("| cuppa_hash, p = ") == 6
    first = tables[8][tables[8]["p"] == 0].set_index("d")["most_dependent"]
    assert (first[first.index <= 64] == first.index[first.index <= 64]).all()
    for _, rows in tables[9].groupby("d"):
        assert rows["most_dependent"].iloc[0] > rows["most_dependent"].iloc[-1]
    assert [tables[d]["vertices"].sum() for d in (4, 5, 6)] == [10_000] * 3
    assert set(workflow.METHODS) <= set(tables[10]["generator"])
    assert (tables[10]["seconds"] > 0).all()
    for number in (11, 12, 13, 14):
        table = tables[number]
        assert (table["seconds"] > 0).all()
        np.testing.assert_allclose(table["edges/s"], table["edges"] / table["seconds"])
    assert tables[16]["workers"].tolist() == [1, 2]


@pytest.mark.gpu
def test_the_figures_of_a_gpu(workflow, tmp_path):
    options = ["--edges", "1e6", "--repeats", "1", "--only", "3,8,10,13,15", "--backend", "gpu"]
    assert workflow.main([str(tmp_path), *options]) == 0
    table = pd.read_parquet(tmp_path / "figure_15.parquet")
    assert sorted(set(table["threads"])) == [64, 128, 256, 512, 1024]
    assert (table[table["threads"] == 64]["speed-up"] == 1).all()
    devices = pd.read_parquet(tmp_path / "figure_10.parquet").groupby("generator")["device"].count()
    assert devices["cuppa"] == devices["cuppa_hash"] == 2


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (["--backend", "magic"], 2, "backend must be one of"),
        (["--edges", "10"], 2, "--edges must be at least 10,000 (got 10)"),
        (["--repeats", "0"], 2, "--repeats must be at least 1 (got 0)"),
        (["--scheduler", "127.0.0.1:1"], 1, "127.0.0.1:1"),
        (["--only", "15", "--backend", "cpu"], 1, "figure 15 is of threads per block"),
    ],
)
def test_wrong_use(workflow, tmp_path, capsys, arguments, status, sentence):
    assert workflow.main([str(tmp_path), *arguments]) == status
    assert sentence in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--only", "2"], "--only: must be a list such as 3,7 of 3, 4, 5"),
        (["--only", "3,,7"], "--only: must be a list such as 3,7 of 3, 4, 5"),
        (["--edges", "inf"], "--edges: invalid parse_number value: 'inf'"),
        (["--edges", "abc"], "--edges: invalid parse_number value: 'abc'"),
    ],
)
def test_arguments_that_cannot_be_read(workflow, tmp_path, capsys, arguments, sentence):
    with pytest.raises(SystemExit) as stopped:
        workflow.main([str(tmp_path), *arguments])
    assert stopped.value.code == 2
    assert sentence in capsys.readouterr().err


def test_a_folder_that_cannot_be_written(workflow, tmp_path, capsys):
    (tmp_path / "file").write_text("")
    assert workflow.main([str(tmp_path / "file" / "out")]) == 1
    assert "cuppa_experiments: " in capsys.readouterr().err


@pytest.mark.skipif(gpu_count() > 0, reason="is of machines without a GPU")
def test_without_a_gpu(workflow, tmp_path, capsys):
    assert workflow.main([str(tmp_path), "--backend", "gpu"]) == 1
    assert "no CUDA device" in capsys.readouterr().err
