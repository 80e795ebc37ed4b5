"""cluster/container: the Containerfile and the compose file, checked without building them.

What they, and Kubernetes' manifests, run inside is started here for real, without containers.
"""

import contextlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tomllib

import dask
import pytest
import yaml

from mgraph.cli.warm_up import RECIPES
from mgraph.distributed.clusters import certificates
from mgraph.distributed.protocol.settings import SETTINGS
from tests.waiting import wait_for_json

ROOT = pathlib.Path(__file__).parents[2]
RECIPE = ROOT / "cluster" / "container"
BIN = pathlib.Path(sys.executable).parent


def instructions():
    """(name, rest) of each instruction of the Containerfile, lines joined."""
    text = re.sub(r"^#.*\n", "", (RECIPE / "Containerfile").read_text(), flags=re.MULTILINE)
    joined = text.replace("\\\n", " ")
    return [line.strip().split(maxsplit=1) for line in joined.splitlines() if line.strip()]


def compose():
    return yaml.safe_load((RECIPE / "compose.yaml").read_text())


def test_copied_files_exist():
    copied = [shlex.split(rest) for name, rest in instructions() if name == "COPY"]
    sources = [s for words in copied if not words[0].startswith("--") for s in words[:-1]]
    assert {"mgraph", "pyproject.toml", "cluster/container/tls.yaml"} <= set(sources)
    assert [source for source in sources if not (ROOT / source).exists()] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["readme"] in sources


def test_the_installed_extras_exist():
    (extras,) = [rest for name, rest in instructions() if name == "ARG" and "EXTRAS" in rest]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    requested = re.findall(r"EXTRAS=([\w,]+)", (RECIPE / "Containerfile").read_text())
    assert extras == "EXTRAS=cluster"
    assert set(",".join(requested).split(",")) <= set(project["optional-dependencies"])


def test_the_container_runs_as_an_ordinary_user():
    names = [name for name, _ in instructions()]
    assert names.count("FROM") == 2
    assert dict(instructions())["USER"] == "1000:1000"
    (warm_up,) = [rest for name, rest in instructions()[names.index("USER") :] if name == "RUN"]
    assert "mgraph warm-up" in warm_up  # the user's caches, by the user


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({"WARM_UP": "generate sssp", "ARCHS": ""}, "warm-up --quiet generate sssp"),
        (
            {"WARM_UP": "msf", "ARCHS": "sm_80 sm_90"},
            "warm-up --quiet msf --arch sm_80 --arch sm_90",
        ),
        ({"WARM_UP": "", "ARCHS": "sm_90"}, None),
    ],
)
def test_the_image_is_warmed_up(variables, expected, tmp_path):
    """The line of the Containerfile, with a command that shows its arguments."""
    (line,) = [rest for name, rest in instructions() if name == "RUN" and "warm-up" in rest]
    shown = tmp_path / "mgraph"
    shown.write_text('#!/bin/sh\necho "$@"\n')
    shown.chmod(0o755)
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", **variables}
    ran = subprocess.run(["sh", "-c", line], env=environment, capture_output=True, check=True)
    assert ran.stdout.decode().split() == (expected.split() if expected else [])
    given = expected.split()[2:] if expected else []
    assert {word for word in given if "-" not in word and "_" not in word} <= set(RECIPES)
    assert json.loads(dict(instructions())["ENTRYPOINT"]) == ["tini", "-g", "--"]


def test_the_image_has_mgraph_s_settings():
    (run,) = [rest for name, rest in instructions() if name == "RUN" and "SETTINGS" in rest]
    code = re.search(r'python -c "(.+)" >/etc/dask/mgraph.yaml', run)[1]
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    found = yaml.safe_load(made.stdout)
    assert {key: dask.config.get(key, config=found) for key in SETTINGS} == SETTINGS


def test_tls_in_the_image_names_the_mounted_files():
    found = yaml.safe_load((RECIPE / "tls.yaml").read_text())
    wanted = certificates.Certificates("/etc/mgraph/tls").configuration
    assert {key: dask.config.get(key, config=found) for key in wanted} == wanted


def test_the_compose_file():
    services = compose()["services"]
    assert all(service["image"] == "mgraph" for service in services.values())
    assert all(service["read_only"] for service in services.values())
    assert all(port.startswith("127.0.0.1:") for port in services["scheduler"]["ports"])
    for service in services.values():
        mounted = [volume.split(":")[0] for volume in service["volumes"]]
        assert [path for path in mounted if "tls" in path] == [
            f"./tls/{name}.pem" for name in ("cert", "key")
        ]
    build = services["scheduler"]["build"]
    assert (RECIPE / build["context"] / build["dockerfile"]).resolve() == RECIPE / "Containerfile"


def test_the_compose_file_is_accepted_by_its_tool():
    tool = ["docker", "compose"]
    if (
        not shutil.which("docker")
        or subprocess.run([*tool, "version"], capture_output=True).returncode
    ):
        pytest.skip("needs docker compose")
    subprocess.run([*tool, "-f", RECIPE / "compose.yaml", "config", "--quiet"], check=True)


def commands_of_compose():
    services = compose()["services"]
    return [services[name]["command"] for name in ("scheduler", "worker")]


def commands_of_kubernetes():
    spec = yaml.safe_load((ROOT / "cluster" / "kubernetes" / "cluster.yaml").read_text())["spec"]
    return [spec[name]["spec"]["containers"][0]["args"] for name in ("scheduler", "worker")]


@pytest.mark.skipif(not (BIN / "mgraph").exists(), reason="needs the mgraph command")
@pytest.mark.parametrize("commands", [commands_of_compose, commands_of_kubernetes])
def test_the_container_s_commands_run(tmp_path, commands):
    """The commands, with the image's TLS settings and certificates of our own, make a cluster."""
    pytest.importorskip("cryptography", reason="needs cryptography")
    certificates.make(tmp_path / "tls")
    settings = (RECIPE / "tls.yaml").read_text().replace("/etc/mgraph/tls", str(tmp_path / "tls"))
    (tmp_path / "tls.yaml").write_text(settings)
    file = tmp_path / "scheduler.json"
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith("DASK_")
    } | {
        "DASK_CONFIG": str(tmp_path / "tls.yaml"),
        "DASK_TEMPORARY_DIRECTORY": str(tmp_path),
        "DASK_WORKER_NAME": "one",
    }

    def arguments(command):
        return [str(BIN / command[0])] + [
            re.sub(r"\$\((\w+)\)", lambda found: environment[found[1]], word)
            for word in command[1:]
        ]

    def start(command, *more):
        with open(tmp_path / f"{command[1]}.log", "wb") as log:
            line = [*arguments(command), "--host", "127.0.0.1", *more]
            return subprocess.Popen(
                line, cwd=tmp_path, env=environment, stdout=log, stderr=log, start_new_session=True
            )

    scheduler, worker = commands()
    ports = ["--port", "0", "--dashboard-address", "127.0.0.1:0", "--scheduler-file", file]
    started = [start(scheduler, *ports)]
    try:
        environment["DASK_SCHEDULER_ADDRESS"] = wait_for_json(file, started[0])["address"]
        started.append(start(worker))
        wait = "from distributed import Client; Client(timeout=60).wait_for_workers(1, timeout=60)"
        subprocess.run([sys.executable, "-c", wait], env=environment, check=True)
        mgraph = [BIN / "mgraph", "generate", "graph", "-n", "10_000", "-q"]
        made = subprocess.run(
            mgraph, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120
        )
        assert made.returncode == 0, made.stderr + (tmp_path / "worker.log").read_text()
        assert "tls://" in environment["DASK_SCHEDULER_ADDRESS"]
    finally:
        for process in reversed(started):
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(15)
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, 9)
            process.wait()
