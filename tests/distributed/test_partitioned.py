"""Graphs over the workers of a cluster: one device's answers, and workers that are lost."""

import os
import shutil
import signal
import threading
import time

import numpy as np
import pytest
from distributed import Client

import mgraph
from mgraph import ClusterError, CopyModel, DatasetError, EdgeList, UsageError
from mgraph.distributed.operations import graph_shares, partitioned_tasks, ranks
from mgraph.distributed.operations.partitioned_graph import open_partitioned
from mgraph.distributed.operations.ranks import ranks_of
from mgraph.distributed.protocol.broadcast import on_workers, workers_of
from mgraph.io.dataset import EdgeDataset
from tests.distributed.paused_exchange import paused_programs
from tests.waiting import wait_until

MODEL = CopyModel(3000, 4, weights=(0, 50))


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    folder = tmp_path_factory.mktemp("partitioned") / "graph"
    mgraph.generate(folder, MODEL, backend="cpu", parts=5)
    return folder


@pytest.fixture(scope="module")
def graph(dataset):
    return mgraph.read_graph(dataset, backend="cpu")


def connect(workers):
    return mgraph.connect(workers=workers, backend="cpu", dashboard="127.0.0.1:0")


@pytest.fixture
def pair():
    with connect(2) as cluster:
        yield cluster


def assert_answers(partitioned, graph):
    for source, options in (
        (7, {}),
        ([1, 2999], {"targets": [40, 50]}),
        (0, {"cutoff": 30}),
    ):
        paths = partitioned.sssp(source, predecessors=True, **options)
        expected = mgraph.sssp(
            graph, source, joint=True, predecessors=True, backend="cpu", **options
        )
        np.testing.assert_array_equal(paths.distance(), expected.distance)
        np.testing.assert_array_equal(paths.predecessor(), expected.predecessor)
        is_reached = expected.distance != expected.infinity
        assert paths.reached == is_reached.sum()
        assert paths.max_distance == expected.distance[is_reached].max()
        targets = np.flatnonzero(is_reached)[-3:].tolist()
        np.testing.assert_array_equal(paths.lengths(targets), expected.distance[targets])
        for target in targets:
            one, other = paths.path(target), expected.path(target)
            np.testing.assert_array_equal(one.vertices, other.vertices)
            np.testing.assert_array_equal(one.distance, other.distance)
            assert one.distance.dtype == other.distance.dtype
        paths.release()


def assert_components(partitioned, graph):
    found = partitioned.connected_components()
    expected = mgraph.connected_components(graph, backend="cpu")
    np.testing.assert_array_equal(found.labels(), expected.labels)
    assert found.num_components == expected.num_components
    assert found.largest == expected.largest
    assert found.largest_size == expected.sizes.max()
    found.release()


def assert_forest(partitioned, graph):
    found = partitioned.minimum_spanning_forest()
    expected = mgraph.minimum_spanning_forest(graph, backend="cpu")
    edges = found.edges()
    for name in ("src", "dst", "weight"):
        if getattr(edges, name) is None:
            assert graph.weights is None
            continue
        one, other = getattr(edges, name), getattr(expected, name)
        np.testing.assert_array_equal(one, other)
        assert one.dtype == other.dtype
    assert found.num_edges == len(edges) == len(expected)
    assert found.num_components == expected.components
    assert found.total_weight == expected.total_weight
    found.release()


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_answers_are_one_devices(dataset, graph, workers):
    with connect(workers) as cluster, open_partitioned(dataset, cluster=cluster) as partitioned:
        assert len(partitioned.ranks) == workers
        assert (partitioned.n, partitioned.num_arcs) == (graph.n, graph.num_arcs)
        assert sum(facts.owned for facts in partitioned.ranks) == graph.n
        assert_answers(partitioned, graph)
        assert_components(partitioned, graph)
        assert_forest(partitioned, graph)


def test_edges_of_a_model_are_made_not_read(pair, graph, dataset, tmp_path):
    shutil.copytree(dataset, tmp_path / "g")
    for part in (tmp_path / "g").glob("part-*.parquet"):
        part.write_bytes(b"no Parquet")
    for location in (tmp_path / "g", MODEL):
        with open_partitioned(location, cluster=pair) as partitioned:
            assert partitioned.num_arcs == graph.num_arcs
            assert_answers(partitioned, graph)


@pytest.mark.parametrize("method", ["cuppa", "copy_hash"])
def test_other_methods(pair, tmp_path, method):
    model = CopyModel(900, 3, method=method, weights=(1, 9))
    mgraph.generate(tmp_path / "g", model, backend="cpu", parts=2)
    expected = mgraph.read_graph(tmp_path / "g", backend="cpu")
    with open_partitioned(tmp_path / "g", cluster=pair) as partitioned:
        distance = partitioned.sssp(5).distance()
    np.testing.assert_array_equal(distance, mgraph.sssp(expected, 5, backend="cpu").distance)


def test_models_that_workers_cannot_divide(pair):
    for model, options, message in (
        (CopyModel(900, 3, method="ba"), {}, "makes a graph as a whole"),
        (MODEL, {"symmetrise": True}, "apply to datasets"),
    ):
        with (
            pytest.raises(UsageError, match=message),
            open_partitioned(model, cluster=pair, **options),
        ):
            pass


def test_graphs_without_weights_are_searched_by_breadth(pair, tmp_path):
    model = CopyModel(3000, 4)
    mgraph.generate(tmp_path / "graph", model, cluster=pair)
    graph = mgraph.read_graph(tmp_path / "graph", backend="cpu")
    with open_partitioned(tmp_path / "graph", cluster=pair) as partitioned:
        assert_answers(partitioned, graph)
        assert_forest(partitioned, graph)


def test_another_programs_files_and_directed_graphs(pair, tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    random = np.random.default_rng(3)
    ends = random.integers(0, 400, (2, 1500)).astype(np.int64)
    weight = random.random(1500)
    weight[::50] = np.inf
    pq.write_table(
        pa.table({"from": ends[0], "to": ends[1], "minutes": weight}), tmp_path / "roads.parquet"
    )
    reading = {"src": "from", "dst": "to", "weight": "minutes", "drop_infinite": True}
    is_open = weight != np.inf
    edges = EdgeList(*(column[is_open] for column in (*ends, weight)))
    for symmetrise in (False, True):
        graph = mgraph.from_edges(edges, 400, directed=not symmetrise, backend="cpu")
        with open_partitioned(
            tmp_path / "roads.parquet", cluster=pair, reading=reading, symmetrise=symmetrise
        ) as partitioned:
            assert partitioned.directed != symmetrise
            assert_same = np.testing.assert_array_equal
            paths = partitioned.sssp(5, predecessors=True)
            expected = mgraph.sssp(graph, 5, predecessors=True, backend="cpu")
            assert_same(paths.distance(), expected.distance)
            assert_same(paths.predecessor(), expected.predecessor)
            assert_components(partitioned, graph)
            if symmetrise:
                assert_forest(partitioned, graph)
                continue
            with pytest.raises(UsageError, match=r"needs an undirected graph.*symmetrise=True"):
                partitioned.minimum_spanning_forest()


def test_mistakes_are_one_sentence(pair, dataset, tmp_path):
    with pytest.raises(UsageError, match="merge does not apply to the partitioned graph"):
        open_partitioned(dataset, cluster=pair, reading={"merge": True}).__enter__()
    with open_partitioned(dataset, cluster=pair) as partitioned:
        with pytest.raises(UsageError, match=r"source must lie in \[0, 3,?000\)"):
            partitioned.sssp(3000)
        with pytest.raises(UsageError, match="at least one vertex"):
            partitioned.sssp([])
        with pytest.raises(UsageError, match="recorded no predecessors"):
            partitioned.sssp(0).predecessor()
        for delta in (0, -1.0, float("nan"), float("inf"), "x", True):
            with pytest.raises(UsageError, match="delta must be positive and finite"):
                partitioned.sssp(0, delta=delta)
        for cutoff in (-1, float("nan"), "x"):
            with pytest.raises(UsageError, match="cutoff must be at least 0"):
                partitioned.sssp(0, cutoff=cutoff)
    copy = tmp_path / "copy"
    mgraph.generate(copy, CopyModel(3000, 4, method="cuppa"), backend="cpu", parts=3)
    (copy / "part-00001.parquet").write_bytes(b"no file")
    with pytest.raises(DatasetError, match="part-00001"):
        open_partitioned(copy, cluster=pair).__enter__()
    with open_partitioned(dataset, cluster=pair) as partitioned:  # the cluster is as before
        assert partitioned.sssp(0).reached == MODEL.n


def test_a_result_ends_with_its_release_and_with_the_graph(pair, dataset):
    with open_partitioned(dataset, cluster=pair) as partitioned:
        kept, released = partitioned.sssp(0, predecessors=True), partitioned.connected_components()
        assert kept.lengths(7) == kept.lengths([7])
        released.release()
        released.release()
        with pytest.raises(UsageError, match="this result was released"):
            released.labels()
    for ask in (kept.distance, lambda: kept.path(7), lambda: partitioned.sssp(0)):
        with pytest.raises(UsageError, match="its `with` block has ended"):
            ask()
    kept.release()


def plans(dataset):
    """What ``paused_programs`` needs, for two ranks."""
    edges = EdgeDataset(dataset)
    build = graph_shares.BuildPlan(str(dataset), edges.n, tuple(edges.dtypes), False, False, "cpu")
    search = partitioned_tasks.SearchPlan(
        "paths", (7,), (), False, 10**6, np.dtype(np.int32), 5.0, True
    )
    return graph_shares.divide(build, edges, 2), {"plan": build, "search": search}


# Exchanges of these two programs: 12 or so to build, then those of the search.
PHASES = {"at the start": 0, "while it builds": 7, "while it searches": 20, "near the end": 60}


@pytest.mark.parametrize("calls", PHASES.values(), ids=PHASES)
def test_a_worker_is_killed(pair, dataset, graph, tmp_path, calls):
    shares, options = plans(dataset)

    def kill():
        (path,) = wait_until(lambda: list(tmp_path.glob("paused-*")))
        os.kill(int(path.name.rpartition("-")[2]), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    with ranks_of(pair) as ranks:
        killer.start()
        with pytest.raises(ClusterError, match=r"has ended or cannot be reached.*start again"):
            ranks.run(
                paused_programs, shares, verb="partition", sizes=[1, 1], pauses={1: calls},
                folder=str(tmp_path), **options,
            )  # fmt: skip
        killer.join()
    wait_until(lambda: len(workers_of(pair.client)) == 2)
    with open_partitioned(dataset, cluster=pair) as partitioned:
        assert_answers(partitioned, graph)


def test_a_worker_that_hangs_is_lost(pair, dataset, tmp_path, monkeypatch):
    """It is stopped, so that its connections stay; the other rank gives up on its own."""
    shares, options = plans(dataset)
    stopped = []

    def stop():
        (path,) = wait_until(lambda: list(tmp_path.glob("paused-*")))
        stopped.append(int(path.name.rpartition("-")[2]))
        os.kill(stopped[0], signal.SIGSTOP)

    stopper = threading.Thread(target=stop)
    with ranks_of(pair) as ranks:
        stopper.start()
        began = time.monotonic()
        try:
            with pytest.raises(ClusterError, match="has ended or cannot be reached"):
                ranks.run(
                    paused_programs, shares, verb="partition", sizes=[1, 1], pauses={1: 7},
                    folder=str(tmp_path), **options,
                )  # fmt: skip
            assert time.monotonic() - began < 60
        finally:
            stopper.join()
            os.kill(stopped[0], signal.SIGKILL)


def test_the_last_answer_to_a_client_does_not_count(pair, dataset, graph, monkeypatch):
    """A client asks for totals without workers now and then: here instead of all else."""
    update = Client._update_scheduler_info

    async def totals(self, n_workers=0):
        await update(self, 0)

    monkeypatch.setattr(Client, "_update_scheduler_info", totals)
    monkeypatch.setattr(ranks, "WATCH_SECONDS", 0.01)
    assert pair.client.scheduler_info(n_workers=-1)["workers"] == {}
    assert len(on_workers(pair.client, int)) == 2
    with open_partitioned(dataset, cluster=pair) as partitioned:
        assert_answers(partitioned, graph)


def test_an_interrupted_run_leaves_the_cluster_usable(pair, dataset, graph, tmp_path):
    shares, options = plans(dataset)

    def interrupt():
        wait_until(lambda: list(tmp_path.glob("paused-*")))
        signal.raise_signal(signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with ranks_of(pair) as ranks, pytest.raises(KeyboardInterrupt):
        ranks.run(
            paused_programs, shares, verb="partition", sizes=[1, 1], pauses={1: 20},
            folder=str(tmp_path), **options,
        )  # fmt: skip
    interrupter.join()
    with open_partitioned(dataset, cluster=pair) as partitioned:
        assert_answers(partitioned, graph)
