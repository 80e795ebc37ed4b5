"""Small jobs of every kind for an hour on two workers: the growth of memory and open files.

    python -m tests.benchmarks.soak [--minutes 60] [--jobs-a-client 50]

A cluster in the background; jobs run in clients that connect, work and leave, and every so often
in a submitted workflow. Each minute the memory and the open files of scheduler, nannies and workers
are recorded. The figures are in cluster/BENCHMARKS.md.
"""

import argparse
import random
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import psutil

import mgraph
from mgraph import experiments
from mgraph.distributed.clusters import background_cluster
from mgraph.distributed.submission.payload import collect_files
from mgraph.distributed.submission.runs import Runs

GROWTH = 0.05  # of a process's memory between the second quarter of the time and the last
SCRIPT = """
import sys, mgraph
with mgraph.connect() as cluster:
    mgraph.generate(sys.argv[1], mgraph.CopyModel(5_000, 4), cluster=cluster, overwrite=True,
                    parts=4, progress=None)
"""


def jobs(folder, cluster):
    """Return the jobs by name: each takes a number and runs for a fraction of a second."""
    graph, how = f"{folder}/graph", {"cluster": cluster, "progress": None}
    knapsack = f"{folder}/a.data"
    out = f"{folder}/out"

    def generate(seed):
        mgraph.generate(out, mgraph.CopyModel(5_000, 4, seed=seed), overwrite=True, parts=4, **how)

    return {
        "generate": generate,
        "verify": lambda seed: mgraph.verify(graph, **how),
        "degrees": lambda seed: mgraph.degrees(graph, **how),
        "sssp": lambda seed: mgraph.sssp_many(graph, random=4, seed=seed, **how),
        "steiner": lambda seed: mgraph.steiner_many(graph, sample=[(3, 4)], seed=seed, **how),
        "msf": lambda seed: mgraph.spanning_forest_dataset(
            graph, f"{folder}/forest", overwrite=True, **how
        ),
        "knapsack": lambda seed: mgraph.knapsack_many([knapsack] * 2, **how),
    }


def submit(client, folder):
    """Submit a workflow, wait for it and remove it."""
    runs = Runs(f"{folder}/runs", client)
    run, future = runs.submit(collect_files(f"{folder}/script.py"), [f"{folder}/submitted"])
    future.release()
    run = runs.wait(run)
    assert run.record.state == "finished", runs.output(run, 0).decode()
    runs.remove_ended(0)


def processes(pids):
    """Return the MiB and open files of each process, by its name."""
    found = {}
    for name, pid in pids.items():
        process = psutil.Process(pid)
        found[name] = process.memory_info().rss / 2**20, process.num_fds()
    return found


def family(client):
    """Return the process ids of the cluster by name."""
    import os

    pids = {"scheduler": client.run_on_scheduler(os.getpid)}
    for where, nanny in (("worker", False), ("nanny", True)):
        by_address = client.run(os.getpid, nanny=nanny)
        pids |= {f"{where} {i}": pid for i, (_, pid) in enumerate(sorted(by_address.items()))}
    return pids


def main():
    """Run and print; fail if a process has grown."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--jobs-a-client", type=int, default=50)
    given = parser.parse_args()
    folder = tempfile.mkdtemp(prefix="mgraph-soak-")
    Path(folder, "script.py").write_text(SCRIPT)
    experiments.pisinger_instance("even_odd", 50, 1_000, 30).write(f"{folder}/a.data")
    place = f"{folder}/cluster"
    background_cluster.start(workers=2, backend="cpu", folder=place, dashboard="127.0.0.1:0")
    file = background_cluster.running_scheduler_file(place)
    draw, done, samples, pids = random.Random(1), {}, [], {}
    begun = sampled = time.monotonic()
    try:
        while time.monotonic() - begun < given.minutes * 60:
            with mgraph.connect(scheduler_file=file) as cluster:
                if not pids:
                    mgraph.generate(f"{folder}/graph", mgraph.CopyModel(2_000, 4, weights=(1, 9)),
                                    cluster=cluster, parts=4, progress=None)  # fmt: skip
                    pids = family(cluster.client)
                all_jobs = jobs(folder, cluster)
                for _ in range(given.jobs_a_client):
                    name = draw.choice(list(all_jobs))
                    all_jobs[name](draw.randrange(1 << 30))
                    done[name] = done.get(name, 0) + 1
                submit(cluster.client, folder)
                done["submit"] = done.get("submit", 0) + 1
            if time.monotonic() - sampled >= 60 or not samples:
                sampled = time.monotonic()
                samples.append(((sampled - begun) / 60, processes(pids)))
                row = ", ".join(f"{name} {mib:.0f} MiB {fds} files"
                                for name, (mib, fds) in samples[-1][1].items())  # fmt: skip
                print(f"{samples[-1][0]:.0f} min, {sum(done.values()):,} jobs: {row}", flush=True)
        assert set(pids.values()) <= set(psutil.pids()), "a process was replaced"
    finally:
        background_cluster.stop(place)
        shutil.rmtree(folder)
    print(", ".join(f"{count:,} {name}" for name, count in sorted(done.items())))
    report(samples)


def report(samples):
    """Compare the second quarter of the time with the last."""
    quarter = max(1, len(samples) // 4)
    early, late = samples[quarter : 2 * quarter] or samples, samples[-quarter:]
    grown = []
    for name in samples[0][1]:
        before, after = (
            [statistics.median(row[name][i] for _, row in part) for i in (0, 1)]
            for part in (early, late)
        )
        memory, files = (f"{before[i]:.0f} -> {after[i]:.0f}" for i in (0, 1))
        print(f"{name}: {memory} MiB, {files} files")
        if after[0] > before[0] * (1 + GROWTH) + 2 or after[1] > before[1] + 2:
            grown.append(name)
    print("nothing has grown" if not grown else f"has grown: {', '.join(grown)}")
    assert not grown


if __name__ == "__main__":
    main()
