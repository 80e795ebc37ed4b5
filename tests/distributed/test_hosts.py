"""Several hosts, each with its own address: TLS, cut links, a scheduler that is started again."""

import json
import re
import sys
import time

import pytest

import mgraph
from mgraph.distributed.clusters import certificates
from tests.distributed.hosts import Network, dask, end, parts_in, why_not
from tests.distributed.hosts import mgraph as mgraph_command
from tests.gate import Gate
from tests.waiting import wait_until

pytestmark = pytest.mark.skipif(bool(why := why_not()), reason=why or "")

MODEL = mgraph.CopyModel(20_000, 4)
PARTS, PASSING = 12, 3  # parts before the gate; then each worker has one half-written
GENERATE = ["-n", MODEL.n, "-d", MODEL.d, "--parts", PARTS]
PORT = 8786
# How long a link may be silent; the default is 30 s.
NOTICED = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "11s"}  # the least that Dask takes
SCRIPT = """
import sys, mgraph
with mgraph.connect() as cluster:
    model = mgraph.CopyModel(20_000, 4)
    made = mgraph.generate(sys.argv[1], model, cluster=cluster, parts=12, progress=sys.stdout)
    print("made", made.made_parts, "kept", made.kept_parts)
"""


class Cluster:
    """A scheduler and two workers, each on its host, and a client's host beside them."""

    def __init__(self, network, folder, tls=True):
        self.network, self.folder, self.gate = network, folder, Gate(folder / "gate")
        self.scheme = "tls" if tls else "tcp"
        for host in network.hosts.values():
            host.environment = NOTICED | {"DASK_MGRAPH__RUNS": str(folder / "runs")}
            host.environment["DASK_TEMPORARY_DIRECTORY"] = str(folder / f"scratch-{host.name}")
            if tls:
                host.environment["DASK_CONFIG"] = str(folder / "tls")
        self.address = f"{self.scheme}://{network['scheduler'].address}:{PORT}"
        self.to_it = ["--scheduler", self.address]

    def start_scheduler(self):
        host = self.network["scheduler"]
        where = ["--host", host.address, "--port", PORT, "--protocol", self.scheme]
        where += ["--dashboard-address", "127.0.0.1:0"]
        preload = ["--preload", "mgraph.distributed.scheduler_preload"]
        command = dask("scheduler", *where, *preload)
        self.scheduler = host.start(*command, log=self.folder / "scheduler.log")

    def start_worker(self, name):
        host = self.network[name]
        where = ["--host", host.address, "--dashboard-address", "127.0.0.1:0", "--nthreads", 1]
        where += ["--name", name]
        # A worker whose scheduler is gone ends, with its nanny: a service manager starts it again.
        again = ["sh", "-c", 'while :; do "$@"; sleep 1; done', "again"]
        command = [*again, *dask("worker", self.address, *where)]
        host.environment |= self.gate.environment
        return host.start(*command, log=self.folder / f"{name}.log")

    def mgraph(self, verb, *arguments):
        """Run a command on the client's host."""
        return self.network["client"].mgraph(verb, *self.to_it, *arguments)

    def start(self, out, verb, *arguments):
        """Start a command on the client's host; first parts are there, both workers at the gate."""
        host = self.network["client"]
        self.gate.close(PASSING)
        process = host.start(*mgraph_command(verb, *self.to_it, *arguments))
        self.gate.wait_for(2)
        assert len(parts_in(out)) == PASSING
        return process

    def wait_for_workers(self):
        """Wait until a client finds both; in one process, since each one imports Dask."""
        code = (
            "import contextlib, time\n"
            "from distributed import Client\n"
            "found = 0\n"
            "while found != 2:\n"
            "    time.sleep(0.1)\n"
            f"    with contextlib.suppress(OSError), Client({self.address!r}, timeout=2) as us:\n"
            "        found = len(us.scheduler_info(n_workers=-1)['workers'])"
        )
        status, _, err = self.network["client"].run(sys.executable, "-c", code)
        assert status == 0, err


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    """Each host has a folder of runs of its own, and shares the rest."""
    folder = tmp_path_factory.mktemp("hosts")
    (folder / "runs").mkdir()
    with Network(["scheduler", "one", "two", "client"], own=folder / "runs") as network:
        certificates.make(folder / "tls")
        cluster = Cluster(network, folder)
        cluster.start_scheduler()
        cluster.start_worker("one")
        cluster.start_worker("two")
        yield cluster


@pytest.fixture
def cluster(shared):
    """With TLS, and both workers there: their service managers bring back what a test has lost."""
    shared.wait_for_workers()
    yield shared
    shared.gate.open()


def finished(process, seconds=120):
    out, err = process.communicate(timeout=seconds)
    assert process.returncode == 0, err
    return out, err


def test_a_client_without_a_certificate_is_refused(cluster, tmp_path, monkeypatch):
    client = cluster.network["client"]
    monkeypatch.delitem(client.environment, "DASK_CONFIG")
    for address in (cluster.address, cluster.address.replace("tls", "tcp")):
        status, out, err = client.mgraph("generate", tmp_path / "g", "-n", 1000,
                                         "--scheduler", address)  # fmt: skip
        assert status in (1, 2)
        assert out == ""
        assert err.startswith("mgraph: ")
        assert "Traceback" not in err
    assert not (tmp_path / "g").exists()


def test_a_worker_s_link_is_cut_for_a_moment(cluster, tmp_path):
    out = tmp_path / "g"
    process = cluster.start(out, "generate", out, *GENERATE)
    with cluster.network["two"].cut_off():
        cluster.gate.open()
        assert process.poll() is None
        time.sleep(1.5)
    finished(process)
    status, _, err = cluster.mgraph("verify", out, "--regenerate", 0.05)
    assert status == 0, err
    assert mgraph.open_dataset(out).manifest.checksum == MODEL.edges(backend="cpu").checksum


def test_a_worker_s_link_is_cut_until_it_counts_as_dead(cluster, tmp_path):
    out = tmp_path / "g"
    process = cluster.start(out, "generate", out, *GENERATE)
    with cluster.network["two"].cut_off():
        assert process.poll() is None
        cluster.gate.open()
        finished(process)  # by the other one, after the time-out
    assert cluster.mgraph("verify", out)[0] == 0
    assert not list(out.glob(".*"))


def test_a_worker_s_link_is_cut_while_it_searches_for_steiner_trees(cluster, tmp_path):
    graph, out, whole = tmp_path / "g", tmp_path / "trees", tmp_path / "whole"
    made = cluster.mgraph("generate", graph, "-n", 3_000, "-d", 4, "--weights", "1:99")
    assert made[0] == 0, made[2]
    query = ["steiner", graph, "--sample", "3:40", "--batch", 4, "--seed", 7]
    assert cluster.mgraph(*query, "--out", whole)[0] == 0
    process = cluster.start(out, *query, "--out", out)
    with cluster.network["one"].cut_off():
        assert process.poll() is None
        cluster.gate.open()
        finished(process)
    answer = [json.loads((folder / "_manifest.json").read_text()) for folder in (out, whole)]
    assert answer[0]["checksum"] == answer[1]["checksum"]


def test_a_graph_is_spread_over_hosts_with_tls(cluster, tmp_path):
    """Rows are those of one worker's graph; a link that is cut ends the search in a sentence."""
    graph, query = tmp_path / "g", ["--random", 6, "--seed", 3]
    made = cluster.mgraph("generate", graph, "-n", 20_000, "-d", 4, "--weights", "1:99")
    assert made[0] == 0, made[2]
    found = []
    for partition in ("always", "never"):
        out = tmp_path / partition
        status, _, err = cluster.mgraph(
            "sssp", graph, *query, "--out", out, "--partition", partition
        )
        assert status == 0, err
        found.append(json.loads((out / "_manifest.json").read_text()))
    assert found[0]["workers"] == 2
    assert found[0]["checksum"] == found[1]["checksum"]
    many, out = ["--random", 10_000], tmp_path / "cut"
    process = cluster.network["client"].start(
        *mgraph_command("sssp", graph, *cluster.to_it, *many, "--partition", "always", "--out", out)
    )
    wait_until(lambda: len(parts_in(out)) > 4)
    with cluster.network["two"].cut_off():
        began = time.monotonic()
        _, err = process.communicate(timeout=90)
    assert process.returncode not in (0, None)
    assert time.monotonic() - began < 60
    assert "Traceback" not in err
    assert "worker" in err
    cluster.wait_for_workers()
    assert cluster.mgraph("sssp", graph, "--random", 1, "--partition", "always")[0] == 0


def test_a_scheduler_is_killed_and_started_again_then_resume(cluster, tmp_path):
    out = tmp_path / "g"
    process = cluster.start(out, "generate", out, *GENERATE)
    end(cluster.scheduler)
    _, err = process.communicate(timeout=90)
    assert process.returncode == 75
    assert "the connection to the scheduler was lost" in err
    assert re.search("(--resume|`resume=True`) continues from", err)
    assert "Traceback" not in err
    assert len(parts_in(out)) == PASSING
    cluster.gate.open()
    assert not (out / "_manifest.json").exists()
    cluster.start_scheduler()
    cluster.wait_for_workers()
    status, answer, err = cluster.mgraph("generate", out, *GENERATE, "--resume")
    assert status == 0, err
    assert " of them kept" in answer
    assert cluster.mgraph("verify", out)[0] == 0


def test_a_submitted_run_outlives_its_client_and_its_driver_s_link(cluster, tmp_path):
    """No disk is shared but that of the results: its log is read through the scheduler."""
    script, out = tmp_path / "script.py", tmp_path / "g"
    script.write_text(SCRIPT)
    cluster.gate.close(PASSING)
    status, name, err = cluster.mgraph("submit", "--detach", script, out)
    assert status == 0, err
    name = name.strip()
    cluster.gate.wait_for(2)  # both workers: else one may still write a part that may pass
    assert len(parts_in(out)) == PASSING

    def host_of(name):
        status, answer, _ = cluster.mgraph("status", name, "--json")
        return json.loads(answer)["host"] if status == 0 else None

    status, answer, err = cluster.mgraph("status", name, "--json")
    assert status == 0, err
    record = json.loads(answer)
    assert record["state"] == "running"
    assert record["host"] in ("one", "two")
    with cluster.network[record["host"]].cut_off():
        cluster.gate.open()
        wait_until(lambda: host_of(name) not in (None, record["host"]), 60, every=2)
        time.sleep(2)
    status, log, err = cluster.mgraph("logs", "-f", name)
    assert status == 0, err + log
    answer = json.loads(cluster.mgraph("status", name, "--json")[1])
    assert (answer["state"], answer["status"]) == ("finished", 0)
    made, kept = map(int, log.splitlines()[-1].split()[1::2])
    assert made + kept == PARTS
    assert kept >= PASSING
    assert cluster.mgraph("verify", out)[0] == 0
