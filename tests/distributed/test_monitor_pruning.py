"""What Dask would keep for ever, on a scheduler and on workers that stay up, is removed."""

import math

from dask.utils import key_split
from distributed import Client, span

from mgraph.distributed.operations.tasks import run_parts
from mgraph.distributed.protocol import dask_internals
from tests.distributed.scheduler_thread import on_loop
from tests.waiting import wait_until


def test_spans_are_forgotten(watched):
    scheduler = watched.client.cluster.scheduler
    extension = scheduler.extensions["spans"]
    for index in range(3):
        with span("outer"), span(f"inner-{index}"):
            watched.client.submit(int, index, key=(f"mgraph-inner-{index}", 0)).result()
    with span("kept"):
        held = watched.client.submit(int, 5, key="held")
        held.result()
    wait_until(lambda: len(scheduler.task_groups) == 1)
    assert len(extension.spans) == 7

    def prune(older):
        return on_loop(scheduler, lambda: dask_internals.forget_spans(scheduler, older))

    assert prune(60) == 0
    wait_until(lambda: prune(0.2) >= 0 and len(extension.spans) == 1)
    assert [one.name for one in extension.spans.values()] == [("kept",)]
    assert [one.name for one in extension.root_spans] == [("kept",)]
    assert set(extension.spans_search_by_tag) == {"kept"}
    late = {("execute", "gone", "mgraph-inner", "thread-cpu", "seconds"): 1.0}
    on_loop(scheduler, lambda: extension.heartbeat(None, late))
    held.release()
    wait_until(lambda: not scheduler.task_groups)
    wait_until(lambda: prune(0.2))
    assert not extension.spans
    with span("outer"):
        assert watched.client.submit(int, 8).result() == 8
    assert len(watched.client.scheduler_info(n_workers=-1)["workers"]) == 2


def test_workers_add_up_their_digests(watched):
    run_parts(watched, str, {0: 0}, {0: 1}, verb="digests", progress=None)

    def lengths(dask_worker):
        totals = dask_worker.digests_total
        before = sum(value for key, value in totals.items() if key[0] == "execute")
        dask_internals.merge_digests_of_spans(dask_worker)
        after = sum(value for key, value in totals.items() if key[0] == "execute")
        assert math.isclose(before, after)
        left = [*totals, *dask_worker.digests_max]
        return {len(key) for key in left if isinstance(key, tuple) and key[0] == "execute"}

    assert set().union(*watched.client.run(lengths).values()) == {4}


def test_many_names_of_keys_are_forgotten():
    key_split.cache_clear()
    for kept, many in ((True, 50), (False, 101)):
        for number in range(many):
            key_split(("mgraph-test-1", number))
        dask_internals.forget_key_names(100)
        assert (key_split.cache_info().currsize > 0) == kept


def test_topics_of_disconnected_clients_are_forgotten(watched):
    scheduler = watched.client.cluster.scheduler
    with Client(scheduler.address) as other:
        gone = other.id
    wait_until(lambda: gone not in scheduler.clients)
    topics = scheduler._broker._topics

    def pruned():
        dask_internals.forget_empty_topics(scheduler)
        return gone in topics, watched.client.id in topics

    assert on_loop(scheduler, pruned) == (True, True)
    on_loop(scheduler, lambda: scheduler._broker.truncate(gone))  # as the scheduler does, later
    assert on_loop(scheduler, pruned) == (False, True)
