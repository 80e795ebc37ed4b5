"""The cost of killing one of four workers every few seconds while a graph is generated.

    python -m tests.benchmarks.kills [EDGES] [--compression zstd] [--weights]

The dataset is verified. Work lost: half a part per kill, on average. The figures are in
cluster/BENCHMARKS.md.
"""

import argparse
import os
import shutil
import signal
import tempfile
import threading
import time

import mgraph

WORKERS, EVERY_SECONDS, ALLOWED = 4, 5.0, 0.2


class Killer(threading.Thread):
    """Kills a worker every few seconds, each in turn; ``kills`` counts them."""

    def __init__(self, client):
        super().__init__(daemon=True)
        self._client, self._over, self.kills = client, threading.Event(), 0

    def run(self):
        while not self._over.wait(EVERY_SECONDS):
            pids = list(self._client.run(os.getpid, on_error="ignore").values())
            os.kill(pids[self.kills % len(pids)], signal.SIGKILL)
            self.kills += 1

    def stop(self):
        self._over.set()
        self.join()


def measure(model, compression, killing, tiny=False):
    """Return the seconds, kills and parts of one run in a new folder."""
    out = tempfile.mkdtemp(prefix="mgraph-kills-")
    try:
        with mgraph.connect(workers=WORKERS, backend="cpu", dashboard="127.0.0.1:0") as cluster:
            killer = Killer(cluster.client)
            began = time.monotonic()
            if killing:
                killer.start()
            made = mgraph.generate(out, model, cluster=cluster, compression=compression,
                                   overwrite=True, progress=None)  # fmt: skip
            seconds = time.monotonic() - began
            if killing:
                killer.stop()
                cluster.client.wait_for_workers(WORKERS)
                assert tiny or killer.kills >= 1, "the run was over before the first kill"
                assert mgraph.verify(out, cluster=cluster, progress=None).ok
            return seconds, killer.kills, len(made.manifest.parts)
    finally:
        shutil.rmtree(out, ignore_errors=True)


def main():
    """Measure and print; fail if the overhead exceeds the allowed one."""
    parser = argparse.ArgumentParser()
    parser.add_argument("edges", nargs="?", type=float, default=1e9)
    parser.add_argument("--compression", default="lz4")
    parser.add_argument("--weights", action="store_true")
    parser.add_argument("--tiny", action="store_true", help="for the tests: no bar")
    given = parser.parse_args()
    weights = (1, 99) if given.weights else None
    model = mgraph.CopyModel(int(given.edges) // 8, 8, weights=weights)
    plain, _, parts = measure(model, given.compression, killing=False, tiny=given.tiny)
    seconds, kills, _ = measure(model, given.compression, killing=True, tiny=given.tiny)
    lost = kills * 0.5 * plain / parts
    allowed = plain * (1 + ALLOWED) + lost
    print(
        f"{model.num_edges:,} edges, {given.compression}{', weights' * given.weights}, "
        f"{parts} parts: {plain:.1f} s without, {seconds:.1f} s with {kills} kills; "
        f"work lost {lost:.1f} s, allowed {allowed:.1f} s"
    )
    assert given.tiny or seconds <= allowed


if __name__ == "__main__":
    main()
