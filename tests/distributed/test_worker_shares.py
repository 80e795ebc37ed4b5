"""How cores and memory are divided among the workers of this machine; warnings of too many."""

import io

import pytest

import mgraph
from mgraph.core.host import Measured
from mgraph.distributed.clusters import background_cluster, worker_shares


@pytest.fixture
def machine(monkeypatch):
    def set_up(cores, gib):
        monkeypatch.setattr(worker_shares, "measure_cores", lambda: Measured(cores, "all"))
        monkeypatch.setattr(worker_shares, "available_cores", lambda: cores)
        amount = int(gib * 2**30)
        monkeypatch.setattr(worker_shares, "measure_memory", lambda: Measured(amount, "of this"))
        monkeypatch.setattr(worker_shares, "memory_limit", lambda: amount)

    return set_up


@pytest.mark.parametrize(
    ("cores", "gib", "workers", "threads", "words"),
    [
        (2, 8, 2, 1, []),
        (2, 8, 1, 8, []),
        (2, 16, 3, 1, ["3 workers are more than the 2 cores here (all)", "; 2 workers are enough"]),
        (1, 16, 2, 1, ["2 workers are more than the 1 core here", "; 1 worker is enough"]),
        (8, 16, 4, 4, ["4 workers of 4 threads are more than the 8 cores", "; 2 workers are"]),
        (64, 8, 64, 1, ["64 workers with 128 MiB of memory each", "use 32 workers"]),
        (1, 0.125, 1, 1, ["1 worker with 128 MiB of memory each", "more memory"]),
        (2, 8, 64, 1, ["more than the 2 cores", "64 workers with 128 MiB"]),
    ],
)
def test_too_many_workers_are_warned_of(machine, cores, gib, workers, threads, words):
    machine(cores, gib)
    lines = list(worker_shares.warnings(workers, threads))
    assert all(line.startswith("warning: ") and "\n" not in line for line in lines)
    for word in words:
        assert word in " ".join(lines)
    assert bool(lines) == bool(words)


def test_memory_is_shared(machine):
    machine(4, 8)
    assert worker_shares.memory_per_worker(4) == 2 << 30
    assert worker_shares.memory_by_threads(4, 1) == 2 << 30
    assert worker_shares.memory_by_threads(1, 1) == 2 << 30  # the other cores are others'
    assert worker_shares.memory_by_threads(1, 4) == 8 << 30
    assert worker_shares.memory_by_threads(8, 1) == 1 << 30


def test_the_warning_precedes_the_start(monkeypatch, tmp_path):
    def stop(*args, **how):
        raise mgraph.ClusterError("not in this test")

    monkeypatch.setattr("mgraph.distributed.clusters.local.start_cpu_workers", stop)
    monkeypatch.setattr(background_cluster, "_start", stop)
    for start in (
        lambda stream: mgraph.connect(workers=999, backend="cpu", announce=stream).__enter__(),
        lambda stream: background_cluster.start(
            workers=999, backend="cpu", folder=tmp_path, dashboard="127.0.0.1:0", announce=stream
        ),
    ):
        stream = io.StringIO()
        with pytest.raises(mgraph.ClusterError, match="not in this test"):
            start(stream)
        assert "warning: 999 workers are more than the " in stream.getvalue()
