"""A ClusterSpec describes a cluster; opening it decides between CPU and GPU."""

import dataclasses

import pytest

import mgraph
from mgraph import DeviceError, UsageError
from mgraph.distributed.clusters import connect
from mgraph.distributed.clusters.connect import Cluster, ClusterSpec, open_cluster
from mgraph.distributed.clusters.survey import Survey


def cluster(backend):
    worker = Survey(threads=3, host_bytes=1 << 33, device_bytes=1 << 34, gpus=1, version="1")
    return Cluster(None, "a test's", backend, {"tcp://a:1": worker})


@pytest.fixture
def calls(monkeypatch):
    """The calls of ``connect``, whose cluster has GPUs unless ``backend`` is "cpu"."""
    recorded = []

    @connect.contextlib.contextmanager
    def record(**options):
        recorded.append(options)
        yield cluster("cpu" if options["backend"] == "cpu" else "gpu")
        recorded.append("closed")

    monkeypatch.setattr(connect, "connect", record)
    return recorded


@pytest.mark.parametrize("backend", ["auto", "cpu", "gpu"])
@pytest.mark.parametrize("little", [False, True])
@pytest.mark.parametrize("given", [None, ClusterSpec(workers=2), ClusterSpec("tcp://a:1")])
def test_a_spec_is_opened_with_what_the_operation_needs(calls, given, little, backend):
    needs = {"threaded": not little, "in_process": little}
    with open_cluster(given, backend=backend, **needs) as opened:
        assert opened.backend == ("cpu" if backend == "cpu" else "gpu")
        assert len(calls) == 1
    options, closed = calls
    assert closed == "closed"
    assert options.pop("backend") == backend
    assert options == dataclasses.asdict(given or ClusterSpec()) | needs


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
def test_an_operation_uses_its_backend_on_a_running_cluster(has, backend, expected):
    given = cluster(has)
    with open_cluster(given, backend=backend) as opened:
        assert opened == dataclasses.replace(given, backend=expected)
    with open_cluster(connect.contextlib.nullcontext(given), backend=backend) as opened:
        assert opened.backend == expected
    assert given.backend == has


def test_an_impossible_backend_is_refused():
    refused = pytest.raises(DeviceError, match="not every worker of the cluster has a GPU")
    with refused, open_cluster(cluster("cpu"), backend="gpu"):
        pass
    refused = pytest.raises(UsageError, match="backend must be")
    with refused, open_cluster(cluster("gpu"), backend="x"):
        pass


def test_a_cluster_is_opened_after_all_other_checks(calls, tmp_path):
    for spec in (ClusterSpec(), None):
        with pytest.raises(UsageError, match="parts"):
            mgraph.generate(tmp_path / "g", mgraph.CopyModel(10, 2), cluster=spec, parts=99)
        with pytest.raises(mgraph.DatasetError):
            mgraph.sssp_many(tmp_path / "none", [0], cluster=spec)
    assert calls == []
