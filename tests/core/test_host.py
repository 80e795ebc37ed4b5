"""The cores and the memory of this process's container, not of the machine."""

import os
import types

import psutil
import pytest

from mgraph.core import host
from mgraph.distributed.doctor import worker_probe

GIB = 1 << 30


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """A machine of 64 cores and 100 GiB, of which 80 are free; a function adds cgroups' files."""
    memory = types.SimpleNamespace(total=100 * GIB, available=80 * GIB)
    monkeypatch.setattr(psutil, "virtual_memory", lambda: memory)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(64))
    monkeypatch.setattr(host, "CGROUPS", str(tmp_path / "cgroup"))
    monkeypatch.setattr(host, "MEMBERSHIP", str(tmp_path / "membership"))
    monkeypatch.setattr(host, "_resident_bytes", lambda: GIB // 4)
    host._smallest_quota.cache_clear()

    def add(files, membership="0::/\n"):
        (tmp_path / "membership").write_text(membership)
        for name, text in files.items():
            file = tmp_path / "cgroup" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)

    return add


@pytest.mark.parametrize(
    ("files", "membership", "cores"),
    [
        ({}, "0::/\n", 64),
        ({"cpu.max": "max 100000\n"}, "0::/\n", 64),
        ({"cpu.max": "100000 100000\n"}, "0::/\n", 1),
        ({"cpu.max": "50000 100000\n"}, "0::/\n", 1),
        ({"cpu.max": "100001 100000\n"}, "0::/\n", 2),  # rounded up
        ({"cpu.max": "250000 100000\n"}, "0::/\n", 3),
        ({"cpu.max": "300000\n"}, "0::/\n", 3),
        ({"cpu.max": "9900000 100000\n"}, "0::/\n", 64),  # more than there are
        ({"cpu.max": "1000 100000\n"}, "0::/\n", 1),  # never none
        ({"cpu.max": "much\n"}, "0::/\n", 64),
        ({"cpu.max": ""}, "0::/\n", 64),
        # The quota of any level holds.
        ({"a/b/cpu.max": "400000 100000"}, "0::/a/b\n", 4),
        ({"a/cpu.max": "400000 100000", "a/b/cpu.max": "max 100000"}, "0::/a/b\n", 4),
        ({"a/cpu.max": "400000 100000", "a/b/cpu.max": "800000 100000"}, "0::/a/b\n", 4),
        ({"a/cpu.max": "800000 100000", "a/b/cpu.max": "400000 100000"}, "0::/a/b\n", 4),
        ({"other/cpu.max": "400000 100000"}, "0::/a/b\n", 64),
        # A container that sees its own part alone, under a name that is the machine's.
        ({"cpu.max": "400000 100000"}, "0::/docker/0123\n", 4),
        ({"cpu.max": "400000 100000"}, "0::/../../docker/0123\n", 4),
        # Version 1, and both.
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, "1:cpu:/\n0::/\n", 64),
        ({"cpu/cpu.cfs_quota_us": "200000", "cpu/cpu.cfs_period_us": "50000"}, "1:cpu:/\n", 4),
        ({"cpu,cpuacct/a/cpu.cfs_quota_us": "200000"}, "4:cpu,cpuacct:/a\n", 2),
        ({"cpuacct,cpu/cpu.cfs_quota_us": "200000"}, "4:cpuacct,cpu:/docker/0\n", 2),
        ({"unified/a/cpu.max": "200000 100000"}, "1:cpu:/\n0::/a\n", 2),
        ({"cpu.max": "200000 100000"}, "4:memory:/a\n1:cpu:/\n", 2),
        ({"cpu.max": "200000 100000"}, "", 2),
    ],
)  # fmt: skip
def test_a_cpu_quota_is_read_at_every_level(machine, files, membership, cores):
    machine(files, membership)
    found = host.measure_cores()
    assert found.amount == host.available_cores() == cores
    assert ("CPU quota" in found.reason) == (cores < 64)


def test_affinity_and_quota_both_limit_the_cores(machine, monkeypatch):
    machine({"cpu.max": "800000 100000"})
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(3))
    found = host.measure_cores()
    assert found == (3, "the affinity of this process; the machine has 64")
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(16))
    assert host.measure_cores().amount == 8


@pytest.mark.parametrize(
    ("files", "membership", "free"),
    [
        ({}, "0::/\n", 80),
        ({"memory.max": "max\n"}, "0::/\n", 80),
        ({"memory.max": str(4 * GIB), "memory.current": str(GIB)}, "0::/\n", 3),
        # The page cache is given back.
        ({"memory.max": str(4 * GIB), "memory.current": str(3 * GIB),
          "memory.stat": f"anon 5\ninactive_file {GIB}\nactive_file {GIB // 2}\n"}, "0::/\n", 2.5),
        # Where the group does not say what it has used, this process is known.
        ({"memory.max": str(GIB)}, "0::/\n", 0.75),
        ({"memory.max": str(GIB), "memory.current": str(2 * GIB)}, "0::/\n", 0),
        ({"memory.high": str(GIB), "memory.max": str(4 * GIB), "memory.current": "0"}, "0::/\n", 1),
        ({"a/memory.max": str(4 * GIB), "a/memory.current": str(GIB), "a/b/memory.max": "max",
          "a/b/memory.current": "0"}, "0::/a/b\n", 3),
        # What is left of an outer limit may be less than what is left of an inner one.
        ({"a/memory.max": str(8 * GIB), "a/memory.current": str(7 * GIB),
          "a/b/memory.max": str(4 * GIB), "a/b/memory.current": "0"}, "0::/a/b\n", 1),
        ({"memory.max": str(200 * GIB), "memory.current": "0"}, "0::/\n", 80),
        ({"memory.max": str(4 * GIB), "memory.current": str(GIB)}, "0::/docker/0123\n", 3),
        ({"memory/memory.limit_in_bytes": "9223372036854771712",
          "memory/memory.usage_in_bytes": "5"}, "4:memory:/\n0::/\n", 80),
        ({"memory/x/memory.limit_in_bytes": str(4 * GIB),
          "memory/x/memory.usage_in_bytes": str(3 * GIB),
          "memory/x/memory.stat": f"inactive_file 7\ntotal_inactive_file {2 * GIB}\n"},
         "4:memory:/x\n0::/\n", 3),
    ],
)  # fmt: skip
def test_used_memory_is_subtracted_from_a_limit(machine, files, membership, free):
    machine(files, membership)
    found = host.measure_memory()
    assert found.amount == host.available_memory() == free * GIB
    assert ("limit of" in found.reason) == (free < 80)


def test_resident_memory_is_subtracted_from_a_process_limit(machine):
    machine({"memory.max": str(4 * GIB), "memory.current": str(GIB)})
    assert host.available_memory(2 * GIB) == 1.75 * GIB
    assert host.available_memory(8 * GIB) == 3 * GIB
    assert host.available_memory(1) == 0
    assert host.measure_memory(2 * GIB).reason == "of the worker's own limit"
    assert "limit of 4.0 GiB" in host.measure_memory(8 * GIB).reason


@pytest.mark.parametrize("limit", [None, 0, 6])
def test_the_amount_and_its_reason_are_of_one_measurement(machine, monkeypatch, limit):
    """Memory that becomes less from one measurement to the next gives no limit to a process."""
    machine({})
    left = iter(range(8, 0, -1))
    monkeypatch.setattr(
        psutil, "virtual_memory", lambda: types.SimpleNamespace(available=next(left) * GIB)
    )
    manager = types.SimpleNamespace(memory_limit=limit and limit * GIB)
    worker = types.SimpleNamespace(memory_manager=manager)
    for free in (8, 7, 6):
        found = worker_probe.memory(worker)
        is_own = limit == 6
        assert found["memory"] == (5.75 if is_own else free) * GIB
        assert (found["memory_reason"] == "of the worker's own limit") == is_own
