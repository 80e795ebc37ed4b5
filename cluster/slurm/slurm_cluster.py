"""Generate a graph and verify it, on workers that Slurm starts: jobs with a worker on each core.

    python slurm_cluster.py OUT -n 1_000_000 --jobs 4 --cores 8 --memory 16GB

The scheduler runs here, in this process, and its workers come and go with Slurm's queue. Copy this
file and change what happens inside ``with``. Needs dask-jobqueue; see README.md beside this.
"""

import argparse
import contextlib
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import dask
from dask_jobqueue import SLURMCluster

import mgraph
from mgraph.core.numbers import parse_number
from mgraph.distributed.clusters import certificates
from mgraph.distributed.protocol import settings


@contextlib.contextmanager
def slurm_workers(jobs: int, cores: int, **slurm: Any) -> Iterator[Any]:
    """Yield a Dask cluster of ``jobs`` Slurm jobs with ``cores`` workers each, with encryption.

    slurm: further options of ``dask_jobqueue.SLURMCluster``. Logs and certificates lie in a folder
    of this process below the current one, which every node must see; the certificates are removed
    at the end.
    """
    folder = tempfile.mkdtemp(prefix="mgraph-slurm-", dir=os.getcwd())
    tls = os.path.join(folder, "tls")
    made = certificates.make(tls)
    variables = settings.environment(made.configuration).items()
    try:
        with (
            dask.config.set(made.configuration),
            settings.applied(),
            SLURMCluster(
                cores=cores,
                processes=cores,
                job_name="mgraph-worker",
                log_directory=folder,
                security=made.security(),
                job_script_prologue=[f"export {name}={shlex.quote(to)}" for name, to in variables],
                worker_extra_args=["--dashboard-address", "127.0.0.1:0"],
                scheduler_options={
                    "dashboard_address": "127.0.0.1:8787",
                    "preload": ["mgraph.distributed.scheduler_preload"],
                },
                **slurm,
            ) as cluster,
        ):
            cluster.scale(jobs=jobs)
            wait_for_a_worker(cluster)  # the others join when Slurm starts them
            yield cluster
    finally:
        shutil.rmtree(tls)


def wait_for_a_worker(cluster: Any, seconds: float = 60) -> None:
    """Return when a worker is there, however long the jobs wait in the queue.

    Ends the program where Slurm has taken no job within ``seconds``.
    """
    deadline = time.monotonic() + seconds
    while not cluster.scheduler_info["workers"]:
        if time.monotonic() > deadline and not any(job.job_id for job in cluster.workers.values()):
            sys.exit("slurm_cluster: Slurm takes no such job; sbatch's own words stand above")
        time.sleep(0.5)


def main(argv: list[str] | None = None) -> int:
    """Generate, verify; the exit status is 0 where the graph is whole."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", help="a folder that every node sees")
    parser.add_argument("-n", type=parse_number, default=1_000_000, help="vertices")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--cores", type=int, default=8, help="of each job, a worker on each")
    parser.add_argument("--memory", default="16GB", help="of each job")
    parser.add_argument("--walltime", default="01:00:00", help="of each job")
    parser.add_argument("--queue", help="Slurm's partition")
    parser.add_argument("--account", help="whom Slurm charges")
    parser.add_argument("--interface", help="the network between the nodes, as ib0")
    parser.add_argument(
        "--directive", action="append", default=[], metavar="OPTION",
        help="of sbatch, for each job; several times: --directive=--gres=gpu:4",
    )  # fmt: skip
    options = parser.parse_args(argv)
    if shutil.which("sbatch") is None:
        sys.exit("slurm_cluster: there is no sbatch here; run this where Slurm takes jobs")
    with (
        slurm_workers(
            options.jobs,
            options.cores,
            memory=options.memory,
            walltime=options.walltime,
            queue=options.queue,
            account=options.account,
            interface=options.interface,
            job_extra_directives=options.directive,
        ) as workers,
        mgraph.connect(scheduler=workers.scheduler_address, announce=sys.stderr) as cluster,
    ):
        mgraph.generate(
            options.out, mgraph.CopyModel(n=options.n, d=8), cluster=cluster, resume=True
        )
        return 0 if mgraph.verify(options.out, cluster=cluster).ok else 1


if __name__ == "__main__":
    sys.exit(main())
