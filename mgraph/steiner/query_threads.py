"""Queries in threads: each answer is yielded when it is found, and a dropped iterator ends all."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

from mgraph.core import cancellation
from mgraph.core.deadline import Deadline
from mgraph.core.interrupts import deferred_interrupts


def answer_in_threads(
    answer: Callable[[int, Any], Any],
    jobs: Iterator[tuple[int, Any]],
    deadline: Deadline,
    threads: int,
) -> Iterator[tuple[int, Any]]:
    """Yield each job's index with ``answer(index, job)``.

    Ctrl-C and a dropped iterator stop the deadline, which all answers heed.
    """
    if threads <= 1:
        yield from _defer_interrupts(((i, answer(i, job)) for i, job in jobs), deadline)
        return
    token = cancellation.CancelToken(lambda: deadline.is_stopped)
    pool, answer = ThreadPoolExecutor(threads), cancellation.with_token(answer, token)
    try:
        futures = {pool.submit(answer, i, job): i for i, job in _defer_interrupts(jobs, deadline)}
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:  # also when the caller drops the iterator: cancel what still runs
        deadline.stop()
        pool.shutdown(cancel_futures=True)
        token.close()


def _defer_interrupts(items: Iterator[Any], deadline: Deadline) -> Iterator[Any]:
    """Yield the items; Ctrl-C stops the deadline first, and is raised between two items."""
    while True:
        with deferred_interrupts(deadline.stop):
            item = next(items, None)
        if item is None:
            return
        yield item
