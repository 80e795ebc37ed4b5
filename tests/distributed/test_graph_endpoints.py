"""Endpoints that workers share: here on cores, where each rank holds them all."""

import os
import types

import pytest

import mgraph
from mgraph import CopyModel
from mgraph.distributed.operations import graph_endpoints
from mgraph.distributed.operations.graph_endpoints import OWNERS, SHARE
from mgraph.distributed.operations.ranks import RankLostError
from mgraph.generators import preferential_attachment
from tests.waiting import wait_until

MODEL = CopyModel(20_000, 4, method="cuppa", weights=(1, 9))


def make_share(exchange, memory, argument, *, model, owners):
    ends = preferential_attachment.generate_endpoints(model, backend="cpu")
    memory[OWNERS] = owners
    memory[SHARE] = types.SimpleNamespace(endpoints=ends, close=lambda exchange: None)


@pytest.fixture
def shared(monkeypatch):
    monkeypatch.setattr(graph_endpoints, "choose_ranks", lambda model, cluster: 2)
    monkeypatch.setattr(graph_endpoints, "make_share", make_share)


def rank_plugins(cluster):
    """The names of the plugins of ranks that workers have."""
    plugins = cluster.client.run(lambda dask_worker: [*dask_worker.plugins])
    return {name for names in plugins.values() for name in names if "ranks" in name}


@pytest.mark.usefixtures("shared")
def test_a_dataset(tmp_path, cluster):
    before = rank_plugins(cluster)
    made = mgraph.generate(tmp_path / "g", MODEL, cluster=cluster, parts=5, progress=None)
    assert made.manifest.checksum == MODEL.edges(backend="cpu").checksum
    assert mgraph.verify(tmp_path / "g", regenerate=1.0, cluster=cluster, progress=None).ok
    assert rank_plugins(cluster) <= before


def read_last(name):
    found = int(graph_endpoints.find_endpoints(name)[-1])
    graph_endpoints.check_owners(name)
    return found


@pytest.mark.usefixtures("shared")
def test_what_was_read_beside_a_worker_that_has_ended_does_not_count():
    with (
        mgraph.connect(workers=2, backend="cpu", dashboard="127.0.0.1:0") as cluster,
        graph_endpoints.held_by_gpus(cluster, MODEL, None) as name,
    ):
        client, (kept, lost) = cluster.client, list(cluster.workers)
        on = {"workers": [kept], "pure": False}
        last = int(preferential_attachment.generate_endpoints(MODEL, backend="cpu")[-1])
        assert client.submit(read_last, name, **on).result() == last
        client.submit(os._exit, 1, workers=[lost], pure=False, retries=0)
        wait_until(lambda: lost not in client.scheduler_info(n_workers=-1)["workers"])
        with pytest.raises(RankLostError, match="has ended or cannot be reached"):
            client.submit(read_last, name, **on).result()
        wait_until(lambda: len(client.scheduler_info(n_workers=-1)["workers"]) == 2)
        (later,) = set(client.scheduler_info(n_workers=-1)["workers"]) - {kept}
        with pytest.raises(RankLostError, match="has ended or cannot be reached"):
            client.submit(read_last, name, workers=[later], pure=False).result()
