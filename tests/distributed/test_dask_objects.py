"""Clients and clusters of Dask's own: used where they are given or open, and left open."""

import distributed
import pytest

import mgraph

MODEL = mgraph.CopyModel(3000, 2)


@pytest.fixture(scope="module", params=[False, True], ids=["threads", "processes"])
def dask_cluster(request):
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.LocalCluster(processes=request.param, **options) as cluster:
        yield cluster


def kind_of(**options):
    with mgraph.connect(**options) as cluster:
        return cluster.kind


def generate(folder, **options):
    return mgraph.generate(folder, MODEL, overwrite=True, **options).manifest.num_edges


def test_they_are_used_and_left_open(dask_cluster, tmp_path):
    with distributed.Client(dask_cluster, set_as_default=False) as client:
        for given in (dask_cluster, client, dask_cluster.scheduler_address):
            assert generate(tmp_path, cluster=given) == MODEL.num_edges
            assert kind_of(scheduler=given) == f"cluster at {dask_cluster.scheduler_address}"
        assert client.submit(sum, [1, 2]).result() == 3
    assert len(dask_cluster.workers) == 2


def test_the_client_that_is_open_is_found(dask_cluster, tmp_path):
    kind = f"cluster at {dask_cluster.scheduler_address}"
    assert mgraph.ClusterSpec().is_local
    with distributed.Client(dask_cluster):
        assert kind_of() == kind
        assert not mgraph.ClusterSpec().is_local
        assert generate(tmp_path) == MODEL.num_edges
        alone = {"workers": 1, "dashboard": "127.0.0.1:0", "backend": "cpu"}
        assert kind_of(**alone) == "cores of this machine"
    assert mgraph.ClusterSpec().is_local
    with mgraph.connect(scheduler=dask_cluster):  # whose client is mgraph's own
        assert mgraph.ClusterSpec().is_local


def test_what_is_closed_and_what_is_none(dask_cluster, tmp_path):
    with distributed.Client(dask_cluster, set_as_default=False) as client:
        pass
    with pytest.raises(mgraph.UsageError, match="a Client of Dask that is not running"):
        generate(tmp_path, cluster=client)
    with pytest.raises(mgraph.UsageError, match=r"`cluster` must be .* \(got int\)"):
        generate(tmp_path, cluster=3)
