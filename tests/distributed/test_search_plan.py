from types import SimpleNamespace

import pytest

from mgraph.distributed.operations.sssp_tasks import GraphFacts, choose_batch_size

ROAD, HUBS = GraphFacts(1_500_000, 3_900_000, "int32"), GraphFacts(8_400_000, 134_000_000, "int64")
LARGE = GraphFacts(1 << 31, 1 << 33, "int64")


def cluster(backend, workers, threads):
    gigabytes = 1 << 30
    each = SimpleNamespace(
        threads=threads,
        host_bytes=128 * gigabytes,
        device_bytes=140 * gigabytes,  # there, whether used or not
    )
    return SimpleNamespace(
        backend=backend, workers=dict.fromkeys(range(workers), each), threads=workers * threads
    )


@pytest.mark.parametrize(
    ("facts", "sources", "where", "written", "expected"),
    [
        (ROAD, 1000, ("cpu", 4, 1), True, 63),
        (ROAD, 3, ("cpu", 4, 1), True, 1),
        (HUBS, 100_000, ("cpu", 1, 16), False, 2),  # half a minute of a core
        (ROAD, 10_000, ("gpu", 1, 16), False, 157),
        (ROAD, 800, ("gpu", 1, 16), False, 33),  # so many share the device
        (HUBS, 512, ("gpu", 2, 16), False, 16),
        (HUBS, 64, ("gpu", 2, 16), False, 2),  # each thread has a task
        (HUBS, 512, ("gpu", 2, 16), True, 4),  # a thread writes while others search
        (HUBS, 64, ("gpu", 2, 16), True, 1),
        (HUBS, 10_000, ("gpu", 1, 16), False, 139),  # no more have room
        (HUBS, 10_000, ("gpu", 1, 16), True, 7),
        (LARGE, 1000, ("gpu", 1, 16), True, 1),
    ],
)
def test_sources_a_task(facts, sources, where, written, expected):
    assert choose_batch_size(facts, sources, cluster(*where), written) == expected


@pytest.mark.parametrize(("arcs", "expected"), [(10**6, 50), (40_000_000, 7), (10**10, 1)])
def test_a_task_on_cores_takes_no_minutes(arcs, expected):
    facts = GraphFacts(n=1000, num_arcs=arcs, length_dtype="int32")
    assert choose_batch_size(facts, 400, cluster("cpu", 1, 2), False) == expected
