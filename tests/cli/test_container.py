"""Commands in a container: what its limits allow counts, not what the machine has."""

import json
import os
import shutil
import subprocess
import sys

import pytest

from mgraph.core import host

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0
    or shutil.which("unshare") is None
    or subprocess.run(["unshare", "-m", "true"], capture_output=True).returncode != 0,
    reason="needs root, and the right to make a mount namespace",
)


def contained(limits, *arguments, cwd):
    """A command where /sys/fs/cgroup holds these files alone."""
    script = "mount -t tmpfs none /sys/fs/cgroup && cd /sys/fs/cgroup && "
    script += "".join(f"echo '{text}' > {name} && " for name, text in limits.items())
    script += 'cd "$1" && shift && exec "$@"'
    command = ["unshare", "-m", "sh", "-c", script, "sh", str(cwd)]
    command += [sys.executable, "-m", "mgraph.cli.main", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=200)


def doctor_checks(limits, cwd):
    """What ``mgraph doctor`` says of this machine, by name."""
    found = contained(limits, "doctor", "--json", cwd=cwd)
    assert found.returncode == 0, found.stderr
    return {check["name"]: check for check in json.loads(found.stdout)}


@pytest.mark.skipif(host.available_cores() < 2, reason="needs two cores")
def test_a_cpu_quota_decides_how_many_workers_there_are(tmp_path):
    made = contained(
        {"cpu.max": "100000 100000"}, "generate", "g", "-n", 1000, "-d", 2, "--backend", "cpu",
        "--dashboard", "127.0.0.1:0", cwd=tmp_path,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert "cores of this machine: 1 worker, 1 thread" in made.stderr


def test_the_doctor_says_which_limit_counts(tmp_path):
    found = doctor_checks({"cpu.max": "50000 100000", "memory.max": 1 << 30}, tmp_path)
    if host.available_cores() > 1:
        assert found["cores"]["told"].startswith(
            "1, the CPU quota of 0.5 in /sys/fs/cgroup/cpu.max"
        )
    assert found["memory"]["state"] == "warn"
    assert (
        "GiB free of the limit of 1.0 GiB in /sys/fs/cgroup/memory.max" in found["memory"]["told"]
    )
    found = doctor_checks({"memory.max": "max", "cpu.max": "max 100000"}, tmp_path)
    assert "/sys/fs/cgroup" not in found["cores"]["told"] + found["memory"]["told"]
    limits = {"memory.max": 8 << 30, "memory.current": 3 << 30}
    assert doctor_checks(limits, tmp_path)["memory"]["told"].startswith(
        "5.0 GiB free of the limit of 8.0"
    )


def test_little_memory_for_many_workers_is_told_before_they_start(tmp_path):
    made = contained(
        {"memory.max": 1 << 30, "memory.current": 600 << 20}, "generate", "g", "-n", 1000, "-d", 2,
        "--backend", "cpu", "--dashboard", "127.0.0.1:0", "--workers", 2, cwd=tmp_path,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert "warning: 2 workers with 212 MiB of memory each" in made.stderr
    assert "use 1 worker" in made.stderr
