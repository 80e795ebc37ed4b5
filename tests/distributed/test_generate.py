"""Generation over a cluster: one graph whatever the parts and workers, resumed or not."""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest

import mgraph
from mgraph import CopyModel, UsageError
from mgraph.io.parquet import COMPRESSIONS

MODEL = CopyModel(40_000, 8, 0.5)


@pytest.fixture(scope="module")
def four_workers():
    with mgraph.connect(workers=4, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        yield cluster


@pytest.fixture(scope="module")
def one_worker():
    with mgraph.connect(workers=1, backend="cpu", dashboard="127.0.0.1:0") as cluster:
        yield cluster


def generate(out, model, cluster, **options):
    return mgraph.generate(out, model, cluster=cluster, progress=None, **options)


def files_of(folder):
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("part-*")}


@pytest.mark.parametrize("parts", [1, 7, 64])
@pytest.mark.parametrize(
    "model",
    [
        CopyModel(100, 1, 0.0),
        CopyModel(100, 4, 1.0),
        CopyModel(70, 33, 0.01),
        CopyModel(65, 64, 0.5),
        CopyModel(100_000, 8, 0.5),
        CopyModel(1_000_000, 4, 0.5, seed=9),
    ],
    ids=str,
)
def test_parts_and_workers_do_not_matter(tmp_path, model, parts, one_worker, four_workers):
    expected = model.edges(backend="cpu").checksum
    for cluster in (one_worker, four_workers):
        out = tmp_path / str(len(cluster.workers))
        assert generate(out, model, cluster, parts=parts).manifest.checksum == expected
        assert len(list(out.glob("part-*.parquet"))) == parts


def test_the_files_hold_the_edges_in_order(tmp_path, cluster):
    result = generate(tmp_path / "g", MODEL, cluster, parts=5)
    (src, dst), checksum = MODEL.edges(backend="cpu")
    table = pq.read_table(tmp_path / "g")
    np.testing.assert_array_equal(table["src"].to_numpy(), src)
    np.testing.assert_array_equal(table["dst"].to_numpy(), dst)
    assert result.manifest.checksum == checksum
    assert result.made_edges == MODEL.num_edges
    assert sorted(p.name for p in (tmp_path / "g").iterdir()) == [
        "_manifest.json",
        *(f"part-{i:05d}.parquet" for i in range(5)),
    ]


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_compression_changes_the_bytes_alone(tmp_path, cluster, compression):
    result = generate(tmp_path / "g", MODEL, cluster, compression=compression)
    assert result.manifest.checksum == MODEL.edges(backend="cpu").checksum
    assert mgraph.verify(tmp_path / "g", cluster=cluster, progress=None).ok


def test_an_existing_dataset_is_left_alone(tmp_path, cluster):
    generate(tmp_path / "g", MODEL, cluster)
    before = files_of(tmp_path / "g")
    with pytest.raises(UsageError, match="already holds a dataset"):
        generate(tmp_path / "g", MODEL, cluster)
    assert files_of(tmp_path / "g") == before


def test_other_peoples_files_are_left_alone(tmp_path, cluster):
    (tmp_path / "thesis.tex").write_text("")
    for options in ({}, {"overwrite": True}, {"resume": True}):
        with pytest.raises(UsageError, match="holds other files"):
            generate(tmp_path, MODEL, cluster, **options)


def test_overwrite_spares_parts_of_other_makers(tmp_path, cluster):
    (tmp_path / "part-00000-5f1e.snappy.parquet").write_bytes(b"Spark's")
    with pytest.raises(UsageError, match="holds other files"):
        generate(tmp_path, MODEL, cluster, overwrite=True)
    assert (tmp_path / "part-00000-5f1e.snappy.parquet").exists()


def test_overwrite_replaces_all(tmp_path, cluster):
    generate(tmp_path / "g", MODEL, cluster, parts=9)
    other = CopyModel(1000, 3)
    result = generate(tmp_path / "g", other, cluster, parts=2, overwrite=True)
    assert len(files_of(tmp_path / "g")) == 2
    assert result.manifest.checksum == other.edges(backend="cpu").checksum


def test_resume_makes_only_what_is_missing(tmp_path, cluster):
    out = tmp_path / "g"
    whole = generate(out, MODEL, cluster, parts=8).manifest
    before = files_of(out)
    (out / "_manifest.json").unlink()
    (out / "part-00003.parquet").unlink()
    cut = out / "part-00005.parquet"
    cut.write_bytes(cut.read_bytes()[:-10])
    (out / ".part-00003.parquet.dead.tmp").write_bytes(b"half")

    result = generate(out, MODEL, cluster, resume=True)
    assert (result.made_parts, result.kept_parts) == (2, 6)
    assert result.manifest == whole
    after = files_of(out)
    assert {name for name in after if after[name] != before[name]} == {
        "part-00003.parquet",
        "part-00005.parquet",
    }
    assert not list(out.glob(".*"))
    assert mgraph.verify(out, regenerate=1.0, cluster=cluster, progress=None).ok


def test_resume_of_a_finished_dataset_makes_nothing(tmp_path, cluster):
    generate(tmp_path / "g", MODEL, cluster, parts=3)
    result = generate(tmp_path / "g", MODEL, cluster, resume=True)
    assert (result.made_parts, result.kept_parts) == (0, 3)


def test_resume_of_nothing_makes_all(tmp_path, cluster):
    assert generate(tmp_path / "g", MODEL, cluster, resume=True, parts=3).made_parts == 3


@pytest.mark.parametrize(
    "change",
    [
        {"model": CopyModel(40_000, 8, 0.5, seed=2)},
        {"model": CopyModel(40_001, 8, 0.5)},
        {"model": CopyModel(40_000, 8, 0.25)},
        {"parts": 4},
        {"compression": "zstd"},
    ],
    ids=str,
)
def test_resume_refuses_other_parameters(tmp_path, cluster, change):
    generate(tmp_path / "g", MODEL, cluster, parts=3)
    (tmp_path / "g" / "_manifest.json").unlink()
    before = files_of(tmp_path / "g")
    model = change.get("model", MODEL)
    options = {key: value for key, value in change.items() if key != "model"}
    with pytest.raises(UsageError, match="parts of another dataset"):
        generate(tmp_path / "g", model, cluster, resume=True, **options)
    assert files_of(tmp_path / "g") == before


def test_part_footers_and_manifest_agree(tmp_path, cluster):
    generate(tmp_path / "g", MODEL, cluster, parts=3)
    manifest = json.loads((tmp_path / "g" / "_manifest.json").read_text())
    for part in manifest["parts"]:
        stored = pq.ParquetFile(tmp_path / "g" / part["file"]).metadata.metadata[b"mgraph"]
        footer = json.loads(stored)
        assert {footer[key] == part[key] for key in ("first", "stop", "checksum")} == {True}
        assert {key: footer[key] for key in manifest["model"]} == manifest["model"]


def test_a_dataset_may_be_moved(tmp_path, cluster):
    generate(tmp_path / "g", MODEL, cluster, parts=3)
    shutil.move(tmp_path / "g", tmp_path / "h")
    assert mgraph.verify(tmp_path / "h", cluster=cluster, progress=None).ok
