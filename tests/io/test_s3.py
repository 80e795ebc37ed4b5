"""A dataset in an S3 bucket, against a moto server on this machine."""

import subprocess
import sys

import numpy as np
import pytest

import mgraph
from mgraph import CopyModel, StorageError, UsageError

MODEL = CopyModel(20_000, 4)


@pytest.fixture(scope="module")
def bucket():
    """The address of an empty bucket; workers started while it lives inherit how to reach it."""
    boto3 = pytest.importorskip("boto3")
    server_module = pytest.importorskip("moto.server")
    server = server_module.ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    environment = {
        "AWS_ENDPOINT_URL": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        boto3.client("s3").create_bucket(Bucket="graphs")
        yield "s3://graphs"
    server.stop()


def keys(prefix):
    import boto3

    listed = boto3.client("s3").list_objects_v2(Bucket="graphs", Prefix=prefix)
    found = (entry["Key"] for entry in listed.get("Contents", []))
    return sorted(key for key in found if not key.endswith("/"))  # a mark for an empty folder


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "mgraph.cli.main", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def test_generate_verify_resume_and_read(bucket):
    out = f"{bucket}/deep/g"
    options = ["-q", "--workers", 2, "--dashboard", "127.0.0.1:0"]
    generate = ["generate", out, "-n", MODEL.n, "-d", MODEL.d, "--parts", 5, *options]
    made = run(*generate)
    assert made.returncode == 0, made.stderr
    parts = [f"deep/g/part-{i:05d}.parquet" for i in range(5)]
    assert keys("deep/") == ["deep/g/_manifest.json", *parts]

    again = run(*generate)
    assert again.returncode == 2
    assert "already holds a dataset" in again.stderr

    dataset = mgraph.open_dataset(out)
    np.testing.assert_array_equal(
        np.concatenate([part.read().dst for part in dataset]),
        mgraph.edges(MODEL, backend="cpu").edges.dst,
    )
    assert dataset.to_arrow().count_rows() == MODEL.m

    import boto3

    for key in ("deep/g/_manifest.json", parts[2]):
        boto3.client("s3").delete_object(Bucket="graphs", Key=key)
    resumed = run(*generate, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    assert "in 5 parts, 4 of them kept" in resumed.stdout
    verified = run("verify", out, "--regenerate", 1, *options)
    assert verified.returncode == 0, verified.stderr
    assert "5 made again and equal" in verified.stdout


def test_a_bucket_that_is_not_there_is_one_sentence(bucket, cluster):
    with pytest.raises((StorageError, UsageError), match="s3://nowhere"):
        mgraph.generate("s3://nowhere/g", MODEL, cluster=cluster, progress=None)


def test_graphs_and_paths(bucket):
    edges = mgraph.EdgeList(np.array([0, 1]), np.array([1, 2]), np.array([5, 7]))
    graph = mgraph.from_edges(edges, directed=False, backend="cpu")
    mgraph.write_graph(graph, f"{bucket}/small")
    back = mgraph.read_graph(f"{bucket}/small", backend="cpu")
    np.testing.assert_array_equal(back.weights, graph.weights)
    asked = ["--random", 2, "--out", f"{bucket}/paths", "-q", "--workers", 1]
    done = run("sssp", f"{bucket}/small", *asked, "--dashboard", "127.0.0.1:0")
    assert done.returncode == 0, done.stderr
    assert "2 sources, 6 vertices reached" in done.stdout
    assert "paths/_manifest.json" in keys("paths")


def test_forests(bucket):
    model = CopyModel(2000, 3, weights=(1, 9))
    options = ["-q", "--workers", 2, "--dashboard", "127.0.0.1:0"]
    made = run("generate", f"{bucket}/g", "-n", 2000, "-d", 3, "--weights", "1:9", *options)
    assert made.returncode == 0, made.stderr
    done = run("msf", f"{bucket}/g", "--out", f"{bucket}/f", "--batch", 2000, *options)
    assert done.returncode == 0, done.stderr
    edges = mgraph.edges(model, backend="cpu").edges
    graph = mgraph.from_edges(edges, model.n, directed=False, backend="cpu")
    weight = mgraph.minimum_spanning_forest(graph, backend="cpu").total_weight
    assert f"total weight {weight:,}" in done.stdout
    assert keys("f/") == ["f/_manifest.json", "f/part-00000.parquet"]
