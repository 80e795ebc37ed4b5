"""Work that is stopped: how long it goes on, and large inputs that would take it long.

What it still does is measured by the time of processors that this process takes, which other
programs of the machine do not lengthen; the wall clock only ends what would never end.
"""

import functools
import os
import threading
import time

import mgraph
from mgraph.core import cancellation

PATIENCE = 1.0 * len(os.sched_getaffinity(0))  # seconds of processors; mostly a tenth is enough


@functools.cache
def graph(n):
    """A preferential-attachment graph of degree 16, with weights."""
    model = mgraph.CopyModel(n, 8, 0.5, 1, weights=(1, 1000))
    made = model.edges(backend="cpu")
    return mgraph.from_edges(made.edges, n, directed=False, backend="cpu")


def seconds_to_stop(run, *, after=0.2, longest=240.0):
    """Seconds of processors that ``run()`` takes when it is stopped, ``after`` it began."""
    unwanted, ended = threading.Event(), []

    def begin():
        try:
            with cancellation.cancelled_when(unwanted.is_set):
                run()
            ended.append((time.process_time(), "it was done before"))
        except cancellation.Cancelled:
            ended.append((time.process_time(), ""))
        except Exception as error:
            ended.append((time.process_time(), f"it failed: {error!r}"))

    thread = threading.Thread(target=begin, daemon=True)
    thread.start()
    time.sleep(after)
    requested = time.process_time()
    unwanted.set()
    thread.join(longest)
    assert ended, f"it goes on for {longest} seconds"
    (at, why), *_ = ended
    assert not why, why
    return at - requested


def both_ways(run):
    """What ``run()`` gives to who might stop it, and to who cannot."""
    with cancellation.cancelled_when(lambda: False):
        stoppable = run()
    return stoppable, run()
