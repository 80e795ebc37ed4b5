"""A cluster is described before it is opened, and CPU or GPU is decided where it is."""

import dataclasses

import pytest

import mgraph
from mgraph import DeviceError, UsageError
from mgraph.distributed.clusters import connect
from mgraph.distributed.clusters.connect import Cluster, ClusterSpec, Survey, open_cluster


def cluster(backend):
    worker = Survey(threads=3, host_bytes=1 << 33, device_bytes=1 << 34, gpus=1, version="1")
    return Cluster(None, "a test's", backend, {"tcp://a:1": worker})


@pytest.fixture
def asked(monkeypatch):
    """What is asked of ``connect``, whose cluster has GPUs unless it is to have none."""
    calls = []

    @connect.contextlib.contextmanager
    def found(**options):
        calls.append(options)
        yield cluster("cpu" if options["backend"] == "cpu" else "gpu")
        calls.append("closed")

    monkeypatch.setattr(connect, "connect", found)
    return calls


@pytest.mark.parametrize("backend", ["auto", "cpu", "gpu"])
@pytest.mark.parametrize("threaded", [False, True])
@pytest.mark.parametrize("given", [None, ClusterSpec(workers=2), ClusterSpec("tcp://a:1")])
def test_it_is_opened_with_what_the_operation_needs(asked, given, threaded, backend):
    with open_cluster(given, backend=backend, threaded=threaded) as opened:
        assert opened.backend == ("cpu" if backend == "cpu" else "gpu")
        assert len(asked) == 1
    options, closed = asked
    assert closed == "closed"
    assert options.pop("backend") == backend
    assert options.pop("threaded") == threaded
    assert options == dataclasses.asdict(given or ClusterSpec())


@pytest.mark.parametrize(
    ("has", "backend", "expected"),
    [
        ("gpu", "auto", "gpu"),
        ("gpu", "gpu", "gpu"),
        ("gpu", "cpu", "cpu"),
        ("cpu", "auto", "cpu"),
        ("cpu", "cpu", "cpu"),
    ],
)
def test_an_operation_uses_the_requested_backend_on_a_cluster_that_runs(has, backend, expected):
    given = cluster(has)
    with open_cluster(given, backend=backend) as opened:
        assert opened == dataclasses.replace(given, backend=expected)
    with open_cluster(connect.contextlib.nullcontext(given), backend=backend) as opened:
        assert opened.backend == expected
    assert given.backend == has


def test_what_it_cannot_be():
    refused = pytest.raises(DeviceError, match="not every worker of the cluster has a GPU")
    with refused, open_cluster(cluster("cpu"), backend="gpu"):
        pass
    refused = pytest.raises(UsageError, match="backend must be")
    with refused, open_cluster(cluster("gpu"), backend="x"):
        pass


def test_nothing_is_opened_before_all_else_is_checked(asked, tmp_path):
    for spec in (ClusterSpec(), None):
        with pytest.raises(UsageError, match="parts"):
            mgraph.generate(tmp_path / "g", mgraph.CopyModel(10, 2), cluster=spec, parts=99)
        with pytest.raises(mgraph.DatasetError):
            mgraph.sssp_many(tmp_path / "none", [0], cluster=spec)
    assert asked == []
