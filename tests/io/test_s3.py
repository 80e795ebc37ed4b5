"""A dataset in an S3 bucket, against a moto server on this machine."""

import os
import subprocess
import sys

import dask
import numpy as np
import pytest

import mgraph
from mgraph import CopyModel, DatasetError, StorageError, UsageError
from mgraph.cli.main import main
from mgraph.io.folder import Folder
from tests.io import moto_store
from tests.io.moto_store import moto_bucket

MODEL = CopyModel(20_000, 4)


@pytest.fixture(scope="module")
def bucket(cluster):
    with moto_bucket("graphs", cluster) as address:
        yield address


def keys(prefix):
    return moto_store.keys("graphs", prefix)


@pytest.fixture
def run(cluster, capsys):
    """Runs a command on the session's cluster: its status, output and errors."""

    def run(*arguments):
        with dask.config.set({"scheduler-address": cluster.client.scheduler.address}):
            status = main([*map(str, arguments)])
        return status, *capsys.readouterr()

    return run


def test_a_command_and_its_own_workers(bucket):
    """They inherit how the store is reached."""
    line = ["generate", f"{bucket}/own", "-n", 2_000, "-q", "--workers", 1]
    line += ["--dashboard", "127.0.0.1:0"]
    made = subprocess.run(
        [sys.executable, "-m", "mgraph.cli.main", *map(str, line)], capture_output=True, text=True
    )
    assert made.returncode == 0, made.stderr
    assert mgraph.open_dataset(f"{bucket}/own").n == 2_000


def test_generate_verify_resume_and_read(bucket, run):
    out = f"{bucket}/deep/g"
    generate = ["generate", out, "-n", MODEL.n, "-d", MODEL.d, "--parts", 5, "-q"]
    status, _, err = run(*generate)
    assert status == 0, err
    parts = [f"deep/g/part-{i:05d}.parquet" for i in range(5)]
    assert keys("deep/") == ["deep/g/_manifest.json", *parts]

    status, _, err = run(*generate)
    assert status == 2
    assert "already holds a dataset" in err

    dataset = mgraph.open_dataset(out)
    np.testing.assert_array_equal(
        np.concatenate([part.read().dst for part in dataset]),
        MODEL.edges(backend="cpu").edges.dst,
    )
    assert dataset.to_arrow().count_rows() == MODEL.num_edges

    import boto3

    for key in ("deep/g/_manifest.json", parts[2]):
        boto3.client("s3").delete_object(Bucket="graphs", Key=key)
    status, output, err = run(*generate, "--resume")
    assert status == 0, err
    assert "in 5 parts, 4 of them kept" in output
    status, output, err = run("verify", out, "--regenerate", 1, "-q")
    assert status == 0, err
    assert "5 made again and equal" in output


def test_a_missing_bucket_gives_one_sentence(bucket, cluster):
    with pytest.raises((StorageError, UsageError), match="s3://nowhere"):
        mgraph.generate("s3://nowhere/g", MODEL, cluster=cluster, progress=None)


def test_graphs_and_paths(bucket, run):
    edges = mgraph.EdgeList(np.array([0, 1]), np.array([1, 2]), np.array([5, 7]))
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    mgraph.write_graph(graph, f"{bucket}/small")
    back = mgraph.read_graph(f"{bucket}/small", backend="cpu")
    np.testing.assert_array_equal(back.weights, graph.weights)
    asked = ["--random", 2, "--out", f"{bucket}/paths", "-q"]
    status, output, err = run("sssp", f"{bucket}/small", *asked)
    assert status == 0, err
    assert "2 sources, 6 vertices reached" in output
    assert "paths/_manifest.json" in keys("paths")


def test_forests(bucket, run):
    model = CopyModel(2000, 3, weights=(1, 9))
    status, _, err = run("generate", f"{bucket}/g", "-n", 2000, "-d", 3, "--weights", "1:9", "-q")
    assert status == 0, err
    status, output, err = run("msf", f"{bucket}/g", "--out", f"{bucket}/f", "--batch", 2000, "-q")
    assert status == 0, err
    edges = model.edges(backend="cpu").edges
    graph = mgraph.from_edges(edges, model.n, directed=False, backend="cpu")
    weight = mgraph.minimum_spanning_forest(graph, backend="cpu").total_weight
    assert f"total weight {weight:,}" in output
    assert keys("f/") == ["f/_manifest.json", "f/part-00000.parquet"]


@pytest.mark.parametrize("name", ["sp ace", "ü", "100%", "a#b", "y=1", "a+b"])
def test_keys_of_any_characters(bucket, run, name):
    graph = mgraph.from_edges(mgraph.EdgeList([0, 1], [1, 2]), directed=False, backend="cpu")
    out = f"{bucket}/keys/{name}"
    mgraph.write_graph(graph, out)
    assert mgraph.read_graph(out, backend="cpu").num_arcs == 4
    assert keys(f"keys/{name}/") == [
        f"keys/{name}/_manifest.json", f"keys/{name}/part-00000.parquet",
    ]  # fmt: skip
    part = mgraph.open_dataset(f"{out}/part-00000.parquet")
    assert (part.num_edges, part.has_manifest) == (2, False)
    status, _, err = run("info", out)
    assert status == 0, err


def test_the_endpoint_of_the_configuration_file(bucket, tmp_path, monkeypatch):
    graph = mgraph.from_edges(mgraph.EdgeList([0], [1]), directed=False, backend="cpu")
    mgraph.write_graph(graph, f"{bucket}/configured")
    (tmp_path / "config").write_text(
        f"[default]\nendpoint_url = {os.environ['AWS_ENDPOINT_URL']}\n"
    )
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    assert mgraph.open_dataset(f"{bucket}/configured").num_edges == 1


def test_a_pattern_and_a_missing_folder(bucket):
    with pytest.raises(DatasetError, match=f"give the folder, {bucket}/g$"):
        mgraph.open_dataset(f"{bucket}/g/part-*.parquet")
    with pytest.raises(DatasetError, match="does not exist; mgraph generate"):
        mgraph.open_dataset(f"{bucket}/none")


def test_parquet_in_folders_of_a_folder(bucket):
    graph = mgraph.from_edges(mgraph.EdgeList([0], [1]), directed=False, backend="cpu")
    for name in ("y=1", "y=2"):
        mgraph.write_graph(graph, f"{bucket}/hive/{name}")
        Folder(f"{bucket}/hive/{name}").remove("_manifest.json")
    with pytest.raises(DatasetError, match="1 part of an unfinished dataset"):
        mgraph.open_dataset(f"{bucket}/hive")
    for name in ("y=1", "y=2"):
        folder = Folder(f"{bucket}/hive/{name}")
        folder.write("data_0.parquet", folder.read("part-00000.parquet"))
        folder.remove("part-00000.parquet")
    assert mgraph.read_graph(f"{bucket}/hive", backend="cpu").num_arcs == 2


def test_a_conversion_of_names(bucket, run, tmp_path):
    (tmp_path / "a.csv").write_text("b,a,5\nc,b,7\na,c,20\n")
    status, out, _ = run("convert", tmp_path / "a.csv", f"{bucket}/names", "--symmetrise")
    assert status == 0
    assert "3 vertices and 3 edges" in out
    assert not [key for key in keys("names") if "_convert" in key]
    status, out, _ = run("convert", f"{bucket}/names", f"{bucket}/again")
    assert status == 0
    graph = mgraph.read_graph(f"{bucket}/again", backend="cpu")
    assert list(graph.labels) == ["a", "b", "c"]
    assert graph.vertex("c") == 2
    Folder(f"{bucket}/tables").write("x.csv", b"1000000000000,5\n5,7\n")
    status, _, _ = run("convert", f"{bucket}/tables", f"{bucket}/numbers")
    assert status == 0
    assert list(mgraph.read_graph(f"{bucket}/numbers", backend="cpu").labels) == [5, 7, 10**12]
