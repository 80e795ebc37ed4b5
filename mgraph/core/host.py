"""The cores and the memory that this process may use: its container's, not the machine's.

A container, a Slurm job or a systemd unit is a control group (cgroup), whose limits the kernel
enforces and which the usual counts of processors and of free memory do not show. A group's limits
hold for all groups inside it, so every level from this process's group up to the root is read.
Version 2 (one tree) and version 1 (one tree per controller) are read from their usual mount points;
a process that sees only its own part of a tree finds that part at the root of the mount.

All code that counts cores or memory calls ``measure_cores`` and ``measure_memory``, or the
functions that return their amounts alone.
"""

import contextlib
import functools
import math
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

CGROUPS = "/sys/fs/cgroup"
MEMBERSHIP = "/proc/self/cgroup"
_QUOTA_SECONDS = 5.0  # a quota is cached that long: reading it takes up to a millisecond
_PERIOD = 100_000  # microseconds, the kernel's default
# The page cache, which the kernel reclaims when memory runs short.
_RECLAIMABLE = ("inactive_file", "active_file", "slab_reclaimable")


class Measured(NamedTuple):
    """A number of cores or bytes, and a phrase that names what sets it."""

    amount: int
    reason: str


class _Limit(NamedTuple):
    """The limit in a file of a cgroup. file: its path; folder: the cgroup's folder."""

    amount: float
    file: str
    folder: str


def available_cores() -> int:
    """Return how many threads this process can run at a time: at least 1."""
    return measure_cores().amount


def available_memory(process_limit: int | None = None) -> int:
    """Return how many bytes this process may still allocate; ``measure_memory`` says why."""
    return measure_memory(process_limit).amount


def measure_cores() -> Measured:
    """Return the cores that this process's affinity and the CPU quota of its cgroups allow.

    A quota is rounded up to whole cores, as Dask does.
    """
    machine = os.cpu_count() or 1
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else machine
    reason = "all of this machine"
    if usable < machine:
        reason = f"the affinity of this process; the machine has {machine}"
    quota = _smallest_quota(CGROUPS, MEMBERSHIP, int(time.monotonic() / _QUOTA_SECONDS))
    if quota is not None and math.ceil(quota.amount) < usable:
        reason = f"the CPU quota of {quota.amount:g} in {quota.file}; the machine has {machine}"
        usable = max(1, math.ceil(quota.amount))
    return Measured(usable, reason)


def measure_memory(process_limit: int | None = None) -> Measured:
    """Return the bytes that are free on this machine and within all limits.

    process_limit: the limit of this process alone, such as a Dask worker's, in bytes; the memory
    that the process already uses is subtracted from it. Limits of cgroups count in any case.
    """
    import psutil

    free = int(psutil.virtual_memory().available)
    measured = Measured(free, "of this machine")
    for limit in _memory_limits():
        remaining = max(0, int(limit.amount) - _used_bytes(limit.folder))
        if remaining < measured.amount:
            reason = f"of the limit of {_format_gib(limit.amount)} in {limit.file}"
            measured = Measured(remaining, f"{reason}; the machine has {_format_gib(free)} free")
    if process_limit and (remaining := max(0, process_limit - _resident_bytes())) < measured.amount:
        measured = Measured(remaining, "of the worker's own limit")
    return measured


def memory_limit() -> int:
    """Return the bytes that the processes of this cgroup could use if nothing else ran."""
    import psutil

    total = int(psutil.virtual_memory().total)
    return int(min([total, *(limit.amount for limit in _memory_limits())]))


def _format_gib(amount: float) -> str:
    return f"{amount / 2**30:.1f} GiB"


def _resident_bytes() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)


@functools.lru_cache(maxsize=1)
def _smallest_quota(groups: str, membership: str, moment: int) -> _Limit | None:
    """Return the minimum CPU quota, or None. moment: the key of the cache, as quotas may change."""
    return min(_cpu_quotas(), default=None)


def _cpu_quotas() -> Iterator[_Limit]:
    for folder in _groups(""):
        words = _words(folder, "cpu.max")
        if words and words[0] != "max":
            quota, period = _number(words[0]), _number((words[1:] or [str(_PERIOD)])[0])
            if quota and period:
                yield _Limit(quota / period, f"{folder}/cpu.max", folder)
    for folder in _groups("cpu"):
        quota = _number(*_words(folder, "cpu.cfs_quota_us")[:1])  # -1: none
        period = _number(*_words(folder, "cpu.cfs_period_us")[:1]) or _PERIOD
        if quota:
            yield _Limit(quota / period, f"{folder}/cpu.cfs_quota_us", folder)


def _memory_limits() -> Iterator[_Limit]:
    """Yield the limits of this process's cgroups; no limit may be a number beyond any memory."""
    names = {"": ("memory.max", "memory.high"), "memory": ("memory.limit_in_bytes",)}
    for controller, files in names.items():
        for folder in _groups(controller):
            for name in files:
                words = _words(folder, name)
                if words and (amount := _number(words[0])) is not None:
                    yield _Limit(amount, f"{folder}/{name}", folder)


def _used_bytes(folder: str) -> int:
    """Return a cgroup's bytes that the kernel cannot reclaim; this process's if unknown."""
    for current, prefix in (("memory.current", ""), ("memory.usage_in_bytes", "total_")):
        words = _words(folder, current)
        used = _number(words[0]) if words else None
        if used is not None:
            stat = _words(folder, "memory.stat")
            values = dict(zip(stat[::2], stat[1::2], strict=False))
            reclaimable = (_number(values.get(prefix + name, "")) for name in _RECLAIMABLE)
            return max(0, used - sum(number or 0 for number in reclaimable))
    return _resident_bytes()


def _groups(controller: str) -> Iterator[str]:
    """Yield the folders of this process's cgroups, inner first. controller: version 1's, or ""."""
    group, mounts = "/", ["", "unified"]
    if controller:
        mounts = [controller, "cpu,cpuacct", "cpuacct,cpu"] if controller == "cpu" else [controller]
    with contextlib.suppress(OSError):
        for line in Path(MEMBERSHIP).read_text("utf-8", "replace").splitlines():
            number, _, rest = line.partition(":")
            controllers, _, path = rest.partition(":")
            if controller in controllers.split(",") and (controller or number == "0"):
                group = path
                if controllers not in mounts:
                    mounts.append(controllers)
    group = os.path.normpath(f"/{group.lstrip('/')}")  # may begin with /..
    for mount in mounts:
        base = os.path.join(CGROUPS, mount).rstrip("/")
        if not os.path.isdir(base):
            continue
        inner = group
        while True:
            yield base + inner.rstrip("/")
            if inner == "/":
                break
            inner = os.path.dirname(inner)


def _words(folder: str, name: str) -> list[str]:
    """Return the words of a small file; none if it cannot be read."""
    try:
        with open(f"{folder}/{name}", encoding="utf-8", errors="replace") as stream:
            return stream.read(1 << 16).split()
    except OSError:
        return []


def _number(word: str = "") -> int | None:
    """Parse a whole number of 0 or more; None for anything else."""
    return int(word) if word.isdecimal() and len(word) < 30 else None
