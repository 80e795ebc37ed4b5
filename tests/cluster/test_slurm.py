"""cluster/slurm on a real Slurm, made for these tests: a controller and two nodes, all here."""

import contextlib
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile

import psutil
import pytest

from tests.waiting import wait_until

RECIPE = pathlib.Path(__file__).parents[2] / "cluster" / "slurm"
BIN = pathlib.Path(sys.executable).parent
DAEMONS = ["munged", "mungekey", "slurmctld", "slurmd"]
PATH = os.pathsep.join([str(BIN), os.environ["PATH"], "/usr/sbin"])
absent = [tool for tool in [*DAEMONS, "sbatch", "srun"] if shutil.which(tool, path=PATH) is None]

pytestmark = [
    pytest.mark.skipif(bool(absent), reason=f"needs slurm-wlm and munge ({', '.join(absent)})"),
    pytest.mark.skipif(os.geteuid() != 0, reason="Slurm's daemons need root here"),
    pytest.mark.skipif(not (BIN / "mgraph").exists(), reason="needs the mgraph command"),
]

CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldPort={ports[0]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
KillWait=10
NodeName=DEFAULT CPUs=2 RealMemory={memory} State=UNKNOWN
NodeName=n1 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[1]}
NodeName=n2 NodeHostname={host} NodeAddr=127.0.0.1 Port={ports[2]}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


def free_ports(count):
    with contextlib.ExitStack() as stack:
        probes = [stack.enter_context(socket.socket()) for _ in range(count)]
        for probe in probes:
            probe.bind(("127.0.0.1", 0))
        return [probe.getsockname()[1] for probe in probes]


@pytest.fixture(scope="module")
def slurm():
    """Runs a command with Slurm and mgraph at hand; the daemons live as long as the module."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="slurm"))  # short, for the socket's path
    host = socket.gethostname().partition(".")[0]
    memory = psutil.virtual_memory().total >> 21  # half of it, in MiB
    configuration = folder / "slurm.conf"
    configuration.write_text(
        CONFIGURATION.format(host=host, folder=folder, ports=free_ports(3), memory=memory)
    )
    (folder / "state").mkdir()
    environment = os.environ | {"PATH": PATH, "SLURM_CONF": str(configuration)}
    for name in list(environment):
        if name.startswith(("DASK_", "SLURM_JOB")):
            del environment[name]

    def run(*command, cwd=folder, check=True):
        found = subprocess.run(
            [*map(str, command)], cwd=cwd, env=environment, timeout=150,
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert found.returncode == 0 or not check, f"{command}: {found.stderr}{found.stdout}"
        return found

    run("mungekey", "-c", "-k", folder / "munge.key")
    munge = [f"--{name}-file={folder}/munge.{name}" for name in ("key", "log", "pid", "seed")]
    commands = [
        ["munged", "--foreground", "--force", f"--socket={folder}/munge.socket", *munge],
        ["slurmctld", "-D", "-f", configuration],
        *(["slurmd", "-D", "-f", configuration, "-N", node] for node in ("n1", "n2")),
    ]
    daemons = []
    try:
        for command in commands:
            with open(folder / f"{command[0]}-{len(daemons)}.log", "wb") as log:
                daemons.append(subprocess.Popen(command, env=environment, stdout=log, stderr=log))
            if command[0] == "munged":
                wait_until((folder / "munge.socket").exists, 10)
        up = ["sinfo", "--noheader", "--states=idle", "--format=%D"]

        def ready():
            assert not any(daemon.poll() for daemon in daemons)
            return run(*up, check=False).stdout.strip() == "2"

        wait_until(ready, 30)
        yield run
    except AssertionError:
        output = "".join(log.read_text()[-400:] for log in folder.glob("slurm*-*.log"))
        pytest.skip(f"Slurm does not start here: {output}")
    finally:
        for daemon in reversed(daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(folder)


def dask_processes(folder):
    """What of Dask runs with ``folder`` on its command line or as its working folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            here = process.cwd().startswith(str(folder)) or str(folder) in str(process.cmdline())
            if here and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@pytest.fixture
def work(tmp_path, slurm):
    """A folder to submit from; jobs and processes of a test that fails are ended."""
    folder = tmp_path / "my work"
    folder.mkdir()
    yield folder
    left = dask_processes(folder)
    slurm("scancel", "--user=root", "--full")
    for process in left:
        with contextlib.suppress(psutil.Error):
            process.kill()


TWO_NODES = ["--nodes=2", "--cpus-per-task=1"]


def submitted(slurm, work, *command):
    """The number of a job with the recipe's script."""
    script = ["sbatch", "--parsable", *TWO_NODES, RECIPE / "mgraph.sbatch"]
    return slurm(*script, *command, cwd=work).stdout.strip()


def ended(slurm, job, seconds):
    """Wait for a job's end; its exit status."""
    queued = ["squeue", "--noheader", f"--jobs={job}"]
    wait_until(lambda: slurm(*queued, check=False).stdout == "", seconds, every=0.3)
    output = slurm("scontrol", "show", "job", job).stdout
    return int(output.split("ExitCode=")[1].split(":")[0])


def test_a_job_generates_and_verifies(slurm, work):
    command = "mgraph generate 'the graph' -n 30_000 -q && mgraph verify 'the graph' -q"
    job = submitted(slurm, work, "bash", "-c", command)
    status = ended(slurm, job, 120)
    output = (work / f"mgraph-{job}.log").read_text()
    assert status == 0, output
    assert "2 workers on 2 nodes" in output
    assert (work / "the graph" / "_manifest.json").exists()
    folder = work / f"mgraph-{job}"
    assert {path.name for path in folder.iterdir()} == {"scheduler.log", "workers.log"}
    assert "tls://" in (folder / "workers.log").read_text()
    assert dask_processes(work) == []


def test_a_failing_command_fails_the_job(slurm, work):
    job = submitted(slurm, work, "bash", "-c", "exit 7")
    assert ended(slurm, job, 120) == 7
    assert dask_processes(work) == []


@pytest.mark.parametrize(
    "cancel", [["scancel"], ["scancel", "--batch", "--signal=TERM"]], ids=["scancel", "limit"]
)
def test_a_waiting_cluster_accepts_clients_and_ends_without_traces(slurm, work, cancel):
    job = submitted(slurm, work)
    log, folder = work / f"mgraph-{job}.log", work / f"mgraph-{job}"
    wait_until(lambda: log.exists() and "mgraph doctor" in log.read_text())
    assert len(dask_processes(work)) >= 4
    assert (folder / "tls" / "key.pem").stat().st_mode & 0o77 == 0
    made = slurm(
        "mgraph", "generate", "g", "-n", 10_000,
        "--scheduler-file", folder / "scheduler.json", cwd=work,
    )  # fmt: skip
    assert "cluster at tls://" in made.stderr
    slurm(*cancel, job)
    ended(slurm, job, 40)
    assert dask_processes(work) == []
    assert {path.name for path in folder.iterdir()} == {"scheduler.log", "workers.log"}
    assert "ended by scancel or before the time limit" in log.read_text()


def test_a_cluster_by_dask_jobqueue(slurm, tmp_path):
    pytest.importorskip("dask_jobqueue", reason="needs dask-jobqueue")
    script = [sys.executable, RECIPE / "slurm_cluster.py", "graph", "-n", "30_000"]
    size = ["--jobs", 2, "--cores", 1, "--memory", "1GB", "--walltime", "00:05:00"]
    made = slurm(*script, *size, cwd=tmp_path)
    assert "cluster at tls://" in made.stderr
    assert (tmp_path / "graph" / "_manifest.json").exists()
    (folder,) = tmp_path.glob("mgraph-slurm-*")
    assert {path.suffix for path in folder.iterdir()} == {".out", ".err"}
    wait_until(lambda: slurm("squeue", "--noheader").stdout == "", 30, every=0.3)
    assert dask_processes(tmp_path) == []
