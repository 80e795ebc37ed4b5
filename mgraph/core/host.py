"""How many cores and how much memory this process may use: of its container, not of the machine.

A container, a Slurm job or a systemd unit is a control group (cgroup), whose limits the kernel
enforces and which the usual counts of processors and of free memory do not show. A group's limits
hold for all groups inside it, so every level from this process's group up to the root is read.
Version 2 (one tree) and version 1 (a tree per controller) are read where they usually are mounted;
a process that sees only its own part of a tree finds that part at the mount's root.

Whatever counts cores or memory asks ``measure_cores`` and ``measure_memory``, or the functions that
return their amounts alone.
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
_QUOTA_SECONDS = 5.0  # that it is remembered: reading it takes up to a millisecond
_PERIOD = 100_000  # microseconds, the kernel's default
# What the kernel gives back where memory runs short: the page cache.
_RECLAIMABLE = ("inactive_file", "active_file", "slab_reclaimable")


class Measured(NamedTuple):
    """An amount, cores or bytes, and what it comes from, for people."""

    amount: int
    reason: str


class _Limit(NamedTuple):
    """What a file of a cgroup allows. file: its path; folder: of the files beside it."""

    amount: float
    file: str
    folder: str


def available_cores() -> int:
    """How many threads this process can keep busy: at least 1."""
    return measure_cores().amount


def available_memory(process_limit: int | None = None) -> int:
    """How many bytes this process may still allocate.

    process_limit: of this process alone, as a Dask worker has one; it counts less what the process
    has in memory.
    """
    free = measure_memory().amount
    if process_limit:
        free = min(free, max(0, process_limit - _resident()))
    return free


def measure_cores() -> Measured:
    """The cores that the affinity of this process and the CPU quota of its cgroups leave.

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


def measure_memory() -> Measured:
    """The bytes that are free on this machine and within the limits of its cgroups."""
    import psutil

    free = int(psutil.virtual_memory().available)
    found = Measured(free, "of this machine")
    for limit in _memory_limits():
        left = max(0, int(limit.amount) - _used(limit.folder))
        if left < found.amount:
            reason = f"of the limit of {_gib(limit.amount)} in {limit.file}"
            found = Measured(left, f"{reason}; the machine has {_gib(free)} free")
    return found


def memory_limit() -> int:
    """The bytes that this process and those beside it could use if nothing else ran."""
    import psutil

    total = int(psutil.virtual_memory().total)
    return int(min([total, *(limit.amount for limit in _memory_limits())]))


def _gib(amount: float) -> str:
    return f"{amount / 2**30:.1f} GiB"


def _resident() -> int:
    import psutil

    return int(psutil.Process().memory_info().rss)


@functools.lru_cache(maxsize=1)
def _smallest_quota(groups: str, membership: str, moment: int) -> _Limit | None:
    """The CPU quota that counts, or None. moment: quotas may change while a process runs."""
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
    """Those of this process's cgroups; what is not limited has none, or one above any memory."""
    names = {"": ("memory.max", "memory.high"), "memory": ("memory.limit_in_bytes",)}
    for controller, files in names.items():
        for folder in _groups(controller):
            for name in files:
                words = _words(folder, name)
                if words and (amount := _number(words[0])) is not None:
                    yield _Limit(amount, f"{folder}/{name}", folder)


def _used(folder: str) -> int:
    """The bytes of a cgroup that the kernel cannot take back; of this process, where none tells."""
    for current, prefix in (("memory.current", ""), ("memory.usage_in_bytes", "total_")):
        words = _words(folder, current)
        used = _number(words[0]) if words else None
        if used is not None:
            stat = _words(folder, "memory.stat")
            known = dict(zip(stat[::2], stat[1::2], strict=False))
            return max(0, used - sum(_number(known.get(prefix + k, "")) or 0 for k in _RECLAIMABLE))
    return _resident()


def _groups(controller: str) -> Iterator[str]:
    """Folders of this process's cgroups, inner ones first. controller: of version 1, or ""."""
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
    group = os.path.normpath(f"/{group.lstrip('/')}")  # a group outside our part begins with /..
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
    """A small file's words; none where it cannot be read."""
    try:
        with open(f"{folder}/{name}", encoding="utf-8", errors="replace") as stream:
            return stream.read(1 << 16).split()
    except OSError:
        return []


def _number(word: str = "") -> int | None:
    """A whole number above or at 0, or None."""
    return int(word) if word.isdecimal() and len(word) < 30 else None
