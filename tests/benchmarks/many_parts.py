"""Ten thousand parts in one run: tasks per second, the scheduler's memory, its pages' latency.

    python -m tests.benchmarks.many_parts [PARTS]

The scheduler is a process of its own. The figures are in cluster/BENCHMARKS.md.
"""

import argparse
import shutil
import statistics
import tempfile
import threading
import time
import urllib.request

import psutil

import mgraph
from mgraph.distributed.clusters import background_cluster

EDGES_PER_PART = 512
TASKS_PER_SECOND, SCHEDULER_BYTES, USABLE_SECONDS = 200, 2 << 30, 1.0  # the bars
EVERY_SECONDS = {"mgraph/data": 1, "mgraph": 5, "metrics": 5, "status": 5}  # as a browser does


def ask(address, waits, over):
    """Load the pages until the run is over; record the seconds of each."""
    due = dict.fromkeys(EVERY_SECONDS, 0.0)
    while not over.wait(0.1):
        for page in [page for page, at in due.items() if time.monotonic() >= at]:
            began = time.monotonic()
            due[page] = began + EVERY_SECONDS[page]
            with urllib.request.urlopen(f"{address}/{page}", timeout=60) as answer:
                answer.read()
            waits[page].append(time.monotonic() - began)


def main():
    """Run and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="?", type=int, default=10_000)
    parser.add_argument("--tiny", action="store_true", help="for the tests: no bars")
    given = parser.parse_args()
    parts = given.parts
    folder = tempfile.mkdtemp(prefix="mgraph-parts-")
    background_cluster.start(backend="cpu", folder=f"{folder}/cluster", dashboard="127.0.0.1:0")
    try:
        file = background_cluster.running_scheduler_file(f"{folder}/cluster")
        with mgraph.connect(scheduler_file=file) as cluster:
            pid = cluster.client.run_on_scheduler(_pid)
            page = cluster.dashboard.rsplit("/", 1)[0]
            waits, over = {name: [] for name in EVERY_SECONDS}, threading.Event()
            asking = threading.Thread(target=ask, args=(page, waits, over))
            asking.start()
            began = time.monotonic()
            mgraph.generate(f"{folder}/g", mgraph.CopyModel(parts * EDGES_PER_PART // 8, 8),
                            cluster=cluster, parts=parts, progress=None)  # fmt: skip
            seconds = time.monotonic() - began
            over.set()
            asking.join()
            memory = psutil.Process(pid).memory_info().rss
        print(
            f"{parts:,} parts in {seconds:.1f} s, {parts / seconds:.0f} tasks/s; scheduler "
            f"{memory / 2**20:.0f} MiB"
        )
        for name, took in waits.items() if all(waits.values()) else ():
            print(
                f"/{name}: median {statistics.median(took) * 1000:.0f} ms, longest "
                f"{max(took) * 1000:.0f} ms, of {len(took)}"
            )
        if given.tiny:
            return
        assert parts / seconds >= TASKS_PER_SECOND
        assert memory <= SCHEDULER_BYTES
        assert max(map(statistics.median, waits.values())) <= USABLE_SECONDS
    finally:
        background_cluster.stop(f"{folder}/cluster")
        shutil.rmtree(folder)


def _pid():
    import os

    return os.getpid()


if __name__ == "__main__":
    main()
