"""cuPPA over several GPUs, which read each other's memory: the edges of one GPU."""

import time

import numpy as np
import pytest
from distributed import LocalCluster

import mgraph
from mgraph import CopyModel
from mgraph.cuda import peer_memory
from mgraph.distributed.operations import graph_endpoints
from mgraph.generators import cuppa_gpu, preferential_attachment
from mgraph.generators.cuppa_peers_gpu import PeerEndpoints
from mgraph.partitioned.exchange import ExchangeLostError
from tests.gpu import certificate
from tests.partitioned.thread_exchange import run_ranks

pytestmark = pytest.mark.gpu
BLOCKS = 40  # of each rank, so that the kernels of all are on one GPU at once


@pytest.fixture
def few_blocks(monkeypatch):
    monkeypatch.setattr(cuppa_gpu, "resident_blocks", lambda *arguments: BLOCKS)


def on_ranks(ranks, program):
    """Return ``program(exchange, device)`` of each rank: threads, each with a stream of its own."""
    import cupy

    devices = cupy.cuda.runtime.getDeviceCount()

    def run(exchange):
        device = exchange.rank % devices
        with cupy.cuda.Device(device), cupy.cuda.Stream(non_blocking=True):
            return program(exchange)

    return run_ranks(ranks, run, at_once=True)


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize(
    ("n", "d", "p"),
    [(5, 4, 0.5), (4000, 1, 0.5), (300_000, 4, 0.5), (300_000, 7, 0.0), (20_000, 33, 0.5),
     (3000, 200, 0.0)],
)  # fmt: skip
def test_the_edges_are_those_of_the_cpu(few_blocks, ranks, n, d, p):
    model = CopyModel(n, d, p, 3, "cuppa", weights=(1, 9))
    expected = model.edges(backend="cpu")

    def program(exchange):
        share = PeerEndpoints(exchange, model)
        for _ in range(2):  # a second time in the same memory
            share.generate(exchange, model)
        vertices = certificate.sample(model, 2000)
        wrong = certificate.wrong_endpoints(model, share.endpoints, vertices)
        part = model.part(exchange.rank, exchange.size)
        blocks = preferential_attachment.stream(
            model, part, backend="gpu", block_edges=5000, ends=share.endpoints
        )
        rows = [([np.array(column) for column in block.edges], block.checksum) for block in blocks]
        share.close(exchange)
        return wrong, rows

    results = on_ranks(ranks, program)
    assert [wrong for wrong, _ in results] == [0] * ranks
    blocks = [block for _, rows in results for block in rows]
    for number, column in enumerate(expected.edges):
        ours = np.concatenate([columns[number] for columns, _ in blocks])
        np.testing.assert_array_equal(ours, column)
    assert sum(checksum for _, checksum in blocks) % (1 << 64) == expected.checksum


def test_shared_memory_is_of_whole_pages():
    """Another process reads other memory in small pages, a hundred times as slowly."""
    for count in (0, 1, 33, 1 << 20):
        array = peer_memory.allocate(count, np.int32)
        assert array.shape == (count,)
        assert array.data.mem.size % (2 << 20) == 0


def test_a_rank_does_not_wait_for_one_that_has_failed(few_blocks):
    model = CopyModel(3_000_000, 4, 0.0, method="cuppa")

    def program(exchange):
        share = PeerEndpoints(exchange, model)
        if exchange.rank == 1:
            share._memory.fill(-1)
            exchange.all_gather(np.zeros(1, np.uint8))  # where the other rank begins
            time.sleep(0.1)
            raise ValueError("a fault of rank 1")
        share.generate(exchange, model)

    began = time.monotonic()
    with pytest.raises(ValueError, match="rank 1"):
        on_ranks(2, program)
    assert time.monotonic() - began < 30
    assert issubclass(ExchangeLostError, mgraph.ClusterError)


def check_dataset(folder, cluster, monkeypatch):
    monkeypatch.setattr(graph_endpoints, "choose_ranks", lambda model, cluster: 2)
    model = CopyModel(200_000, 4, weights=(1, 9), method="cuppa")
    made = mgraph.generate(folder, model, cluster=cluster, parts=7, progress=None)
    assert made.manifest.checksum == model.edges(backend="cpu").checksum
    assert mgraph.verify(folder, regenerate=1.0, cluster=cluster, progress=None).ok


def test_two_processes_share_a_graph(tmp_path, monkeypatch):
    """On one GPU, whose time they share."""
    with (
        LocalCluster(n_workers=2, threads_per_worker=2, dashboard_address="127.0.0.1:0") as local,
        mgraph.connect(scheduler=local.scheduler_address, backend="gpu") as cluster,
    ):
        check_dataset(tmp_path / "graph", cluster, monkeypatch)


@pytest.mark.multigpu
def test_two_gpus_share_a_graph(tmp_path, monkeypatch):
    with mgraph.connect(workers=2, backend="gpu", dashboard="127.0.0.1:0") as cluster:
        check_dataset(tmp_path / "graph", cluster, monkeypatch)
