"""A submitted workflow on GPUs is cancelled: what it searched or made there ends, soon."""

import asyncio

import pytest
from distributed.diagnostics import nvml

import mgraph
from mgraph.distributed.clusters import background_cluster
from mgraph.distributed.operations import tasks
from mgraph.distributed.submission.payload import collect_files
from mgraph.distributed.submission.runs import Runs
from tests.waiting import wait_until

pytestmark = pytest.mark.gpu

MODEL = mgraph.CopyModel(4_000_000, 8, weights=(1, 1000))
SCRIPT = """
import sys, mgraph
what, path = sys.argv[1:]
with mgraph.connect() as cluster:
    print(what, cluster.backend, flush=True)
    if what == "generate":
        model = mgraph.CopyModel(300_000_000, 16)
        mgraph.generate(path, model, cluster=cluster, parts=300, overwrite=True)
    elif what == "sssp":
        mgraph.sssp_many(path, random=100_000, cluster=cluster, predecessors=False)
    else:
        mgraph.steiner_many(path, sample=[(64, 100_000)], method="star", cluster=cluster)
"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("gpus") / "c"
    home = background_cluster.start(folder=folder, dashboard="127.0.0.1:0")
    try:
        with mgraph.connect(scheduler_file=home.scheduler_file) as connected:
            yield connected
    finally:
        background_cluster.stop(folder)


@pytest.fixture(scope="module")
def graph(cluster, tmp_path_factory):
    path = tmp_path_factory.mktemp("graph") / "g"
    mgraph.generate(path, MODEL, cluster=cluster, progress=None)
    return path


def busy():
    """How much of the last moment the first GPU computed, in percent."""
    return nvml.real_time()["utilization"]


async def wait_for_kernels(client):
    """Wait for the workers' kernels, a minute at most; others may use the GPU meanwhile."""

    def synchronize():  # here, since workers cannot import tests
        import cupy

        cupy.cuda.Device().synchronize()

    await asyncio.wait_for(client.run(synchronize), 60)


@pytest.mark.parametrize("what", ["generate", "sssp", "steiner"])
def test_cancelling_ends_what_runs_on_the_device(cluster, graph, tmp_path, what):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    out = tmp_path / "g"
    runs = Runs(tmp_path / "runs", cluster.client)
    run, _ = runs.submit(collect_files(script), [what, str(out if what == "generate" else graph)])
    wait_until(lambda: runs.output(run, 0) == f"{what} gpu\n".encode())
    wait_until(lambda: any(tasks.count_running(cluster.client).values()))
    if what == "generate":
        wait_until(lambda: len(list(out.glob("part-*"))) >= 2)
    else:
        wait_until(lambda: busy() >= 50)
    record = runs.cancel(run, 30).record
    assert (record.state, record.error) == ("cancelled", None)
    wait_until(lambda: not any(tasks.count_running(cluster.client).values()))
    cluster.client.sync(wait_for_kernels, cluster.client)
    found = mgraph.sssp_many(graph, [5, 7], tmp_path / "a", cluster=cluster, progress=None)
    cores = mgraph.connect(backend="cpu", threaded=True)
    expected = mgraph.sssp_many(graph, [5, 7], tmp_path / "b", cluster=cores, progress=None)
    assert found.checksum == expected.checksum
