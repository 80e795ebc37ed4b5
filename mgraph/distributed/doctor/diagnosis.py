"""``mgraph doctor``: what may be wrong with this machine and with a cluster, and what to do.

Nothing is started, and no worker is waited for that does not answer.
"""

import asyncio
import contextlib
import datetime
import os
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from typing import Any

from mgraph.core.formatting import pluralize
from mgraph.distributed.clusters import certificates, client, connect
from mgraph.distributed.clusters.worker_shares import WORKER_BYTES
from mgraph.distributed.doctor import worker_probe
from mgraph.distributed.doctor.check import FAIL, OK, WARN, Check, by_value, everyone
from mgraph.distributed.doctor.folder_probe import Probe
from mgraph.distributed.protocol import addresses, configuration, dask_internals
from mgraph.errors import ClusterError, MgraphError
from mgraph.installation import install_command

ANSWER_SECONDS = 5.0  # to be asked for versions takes a worker milliseconds
EXAMINE_SECONDS = 15.0
KERNEL_SECONDS = 90.0  # CUDA begins, and a kernel is compiled
CLOCK_SECONDS = 2.0
LOW_MEMORY, LOW_DISK, NO_DISK = 1 << 30, 2 << 30, 100 << 20
_INSTALL = "install the same versions everywhere, best from one environment or container"
_NAMED = 3  # workers that a line names


def checks(
    *,
    scheduler: str | None = None,
    scheduler_file: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Iterator[Check]:
    """Every check, as it is made: of this machine, then of the cluster if one is named.

    out: a folder that the workers are to write to. Raises UsageError for what is no address.
    """
    here = worker_probe.examined()
    yield from this_machine(here)
    where = scheduler or (None if scheduler_file else connect.configured_scheduler())
    if where or scheduler_file:
        try:
            with connect.client_of(where, scheduler_file) as client:
                yield from of_cluster(client, here, None if out is None else os.fspath(out))
                yield from _certificate(where, scheduler_file)
        except ClusterError as error:
            yield Check("scheduler", FAIL, str(error))
    else:
        yield Check("scheduler", OK, "none was named, so that only this machine was looked at")
        if out is not None:
            with Probe(os.fspath(out)) as probe:
                yield _here(probe)


def this_machine(here: dict[str, Any]) -> Iterator[Check]:
    """What commands need that run here."""
    packages = here["packages"]
    yield Check("python", OK, f"{here['python']}, {sys.executable}")
    for name in ("mgraph", "dask", "distributed", "numpy", "numba", "pyarrow"):
        found = packages[name]
        state = OK if found and found[:1].isdigit() else FAIL
        todo = "" if state == OK else f"{install_command()} brings all it needs"
        yield Check(name, state, found or "not installed", todo)
    yield Check("cores", OK, f"{here['cores']}, {here['cores_reason']}")
    low = max(LOW_MEMORY, here["cores"] * WORKER_BYTES)
    reason = {"here": here["memory_reason"]}
    yield _low("memory", {"here": here["memory"]}, low, 0, "use fewer --workers", reason)
    folder = tempfile.gettempdir()
    free = {"here": worker_probe.free_disk(folder)}
    yield _low("disk", free, LOW_DISK, NO_DISK, f"free some space in {folder}")
    wrong: dict[str, None] = {}
    for name in configuration.SETTINGS:
        try:
            configuration.given(name)
        except MgraphError as error:
            wrong[str(error)] = None
    yield from (Check("settings", FAIL, told) for told in wrong)
    if not here["gpus"]:
        yield Check("gpu", OK, "no CUDA device and driver here: commands use the cores")
        return
    names = ", ".join(sorted(set(here["gpus"])))
    told = f"{len(here['gpus'])} ({names}), driver {_driver()}, cupy {packages['cupy'] or 'none'}"
    if packages["cupy"] is None:
        yield Check("gpu", WARN, told, f"{install_command('gpu')} (or gpu13) to use it")
        return
    yield Check("gpu", OK, told)
    yield _kernels({"here": worker_probe.tried_kernel()}, 1)


def of_cluster(client: Any, here: dict[str, Any], out: str | None) -> Iterator[Check]:
    """What the scheduler and every worker must have."""
    address = client.scheduler.address
    warning = addresses.warning_of_scheduler(address)
    yield Check("scheduler", OK, f"answers at {address}")
    if warning:
        yield Check("encryption", WARN, warning.removeprefix("warning: "))
    else:
        secret = address.startswith(("tls://", "wss://"))
        yield Check("encryption", OK, "TLS" if secret else "none, on this machine alone")
    workers = list(client.scheduler_info(n_workers=-1)["workers"])
    if not workers:
        yield Check("workers", FAIL, "there are none", "start some with dask worker")
        return
    versions = client.sync(_versions, client, workers)
    yield _answered("workers", versions, ANSWER_SECONDS)
    pythons = {"here": here["python"], **_of(versions, lambda found: found["host"]["python"])}
    yield _same("python", {name: ".".join(text.split(".")[:3]) for name, text in pythons.items()})
    # Code of another Python cannot be loaded, so that no more can be asked there.
    same = _short(here["python"])
    able = [one for one in workers if _short(pythons.get(one, "")) == same and one in versions]
    with contextlib.ExitStack() as stack:
        probe = stack.enter_context(Probe(out)) if out else None
        asked: tuple[Any, ...] = ()
        if probe and not probe.refused:
            asked = (probe.folder, probe.name, probe.token)
        began = time.time()
        found = client.sync(
            _examined, client, able, _short(pythons.get("scheduler", "")) == same, asked
        )
        ended = time.time()
        master = found.pop("scheduler", None)
        if any(isinstance(answer, BaseException) for answer in found.values()):
            yield _answered("examination", found, EXAMINE_SECONDS)
        answers = _of(found, lambda answer: answer)
        yield from _packages(here, master, answers)
        yield _clocks(answers, began, ended)
        yield _low("memory", _of(found, lambda answer: answer["memory"]), LOW_MEMORY, 0,
                   "use fewer workers a machine",
                   _of(found, lambda answer: answer["memory_reason"]))  # fmt: skip
        yield _low("disk", _of(found, lambda answer: answer["disk"]), LOW_DISK, NO_DISK,
                   "free some space there, or give workers another --local-directory")  # fmt: skip
        if probe:
            yield _here(probe)
            if not probe.refused:
                yield from probe.checks(client, answers)
    seeing = _of(found, lambda answer: len(answer["gpus"]))
    yield _gpus(seeing)
    with_gpu = [name for name, count in seeing.items() if count]
    if with_gpu:
        yield _kernels(client.sync(everyone, client, with_gpu, KERNEL_SECONDS,
                                   worker_probe.try_kernel), len(with_gpu))  # fmt: skip
    else:
        yield Check("kernels", OK, "no worker sees a GPU, so that none was compiled")


async def _versions(client: Any, workers: list[str]) -> dict[str, Any]:
    """What each process says of its versions, which loads no code there; or the error."""

    async def one(worker: str | None) -> Any:
        try:
            return await asyncio.wait_for(dask_internals.versions(client, worker), ANSWER_SECONDS)
        except Exception as error:
            return error

    answers = await asyncio.gather(*map(one, [None, *workers]))
    return dict(zip(["scheduler", *workers], answers, strict=True))


async def _examined(
    client: Any, workers: list[str], scheduler: bool, asked: tuple[Any, ...]
) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if scheduler:
        with by_value(), contextlib.suppress(Exception):
            answer = client.run_on_scheduler(worker_probe.examine, asynchronous=True)
            found["scheduler"] = await asyncio.wait_for(answer, ANSWER_SECONDS)
    return found | await everyone(client, workers, EXAMINE_SECONDS, worker_probe.examine, *asked)


def _of(found: Mapping[str, Any], what: Any) -> dict[str, Any]:
    """A thing of each answer that came."""
    came = {name: answer for name, answer in found.items() if isinstance(answer, dict)}
    return {name: what(answer) for name, answer in came.items()}


def _named(workers: list[str]) -> str:
    more = f" and {len(workers) - _NAMED} more" if len(workers) > _NAMED else ""
    return ", ".join(workers[:_NAMED]) + more


def _short(version: str) -> str:
    return ".".join(version.split(".")[:2])


def _answered(name: str, found: Mapping[str, Any], seconds: float) -> Check:
    workers = {one: answer for one, answer in found.items() if one != "scheduler"}
    silent = [one for one, answer in workers.items() if not isinstance(answer, dict)]
    if not silent:
        return Check(name, OK, f"{len(workers)} answer")
    error = workers[silent[0]]
    why = f"within {seconds:g} s" if isinstance(error, TimeoutError) else f"({error})"
    return Check(
        name, FAIL, f"{len(silent)} of {len(workers)} do not answer {why}: {_named(silent)}",
        "look at that machine; it hangs, is out of memory or cut off",
    )  # fmt: skip


def _same(name: str, versions: Mapping[str, str | None], other: str = FAIL) -> Check:
    """One version here, on the scheduler and on all workers."""
    found = set(versions.values())
    if len(found) == 1:
        return Check(name, OK, f"{found.pop() or 'none'} everywhere")
    told = []
    for version in sorted(found, key=str):
        where = [who for who, one in versions.items() if one == version]
        workers = [who for who in where if who not in ("here", "scheduler")]
        places = [{"here": "here", "scheduler": "on the scheduler"}[who] for who in where
                  if who not in workers]  # fmt: skip
        if workers:
            places.append(f"on {pluralize(len(workers), 'worker')} ({_named(workers)})")
        told.append(f"{version or 'none'} {' and '.join(places)}")
    return Check(name, other, ", ".join(told), _INSTALL)


def _packages(
    here: dict[str, Any], master: dict[str, Any] | None, answers: Mapping[str, Any]
) -> Iterator[Check]:
    for name in worker_probe.PACKAGES:
        versions = {"here": here["packages"][name]}
        versions |= {one: answer["packages"][name] for one, answer in answers.items()}
        on_scheduler = master["packages"][name] if master else None
        if name == "cupy":  # where there is a GPU
            versions = {one: answer["packages"][name] for one, answer in answers.items()
                        if answer["gpus"]}  # fmt: skip
            if not versions:
                continue
        elif on_scheduler or (name in ("dask", "distributed") and master):
            versions["scheduler"] = on_scheduler
        missing = [one for one, version in versions.items() if version is None]
        serious = missing or name in ("mgraph", "dask", "distributed")
        yield _same(name, versions, FAIL if serious else WARN)
    if master and master["packages"]["mgraph"] is None:
        yield Check("page", WARN, "the scheduler has no mgraph, so there is no page /mgraph",
                    "install mgraph there, too")  # fmt: skip


def _clocks(answers: Mapping[str, Any], began: float, ended: float) -> Check:
    """How much clocks differ at least: a worker's answer fell between our two readings."""
    apart = {
        one: max(0.0, answer["ended"] - ended, began - answer["began"])
        for one, answer in answers.items()
    }
    far = [one for one, seconds in apart.items() if seconds > CLOCK_SECONDS]
    if far:
        told = f"{max(apart.values()):.0f} s apart: {_named(far)}"
        return Check("clocks", WARN, told, "run NTP there: certificates and logs need the time")
    return Check("clocks", OK, f"within {CLOCK_SECONDS:g} s, as far as can be told")


def _low(
    name: str,
    free: Mapping[str, int | None],
    low: int,
    none: int,
    todo: str,
    reasons: Mapping[str, str] | None = None,
) -> Check:
    """The least that is free anywhere. reasons: why it is as much, by place."""
    known = {one: count for one, count in free.items() if count is not None}
    if not known:
        return Check(name, WARN, "not known")
    least, most = min(known.values()), max(known.values())
    told = f"{least / 2**30:.1f} GiB free"
    if "here" not in known:
        told = f"{least / 2**30:.1f} to {most / 2**30:.1f} GiB free on each worker"
    if reason := (reasons or {}).get(min(known, key=lambda one: known[one])):
        told += f" {reason}" if "here" in known else f", the least {reason}"
    short = [one for one, count in known.items() if count < low]
    if not short:
        return Check(name, OK, told)
    told += "" if "here" in known else f", the least on {_named(short)}"
    return Check(name, FAIL if least < none else WARN, told, todo)


def _gpus(seeing: Mapping[str, int]) -> Check:
    with_gpu = [one for one, count in seeing.items() if count]
    if not with_gpu:
        return Check("gpus", OK, "no worker sees one: work is done on cores")
    if len(with_gpu) < len(seeing):
        without = [one for one in seeing if one not in with_gpu]
        return Check(
            "gpus", WARN, f"{len(without)} of {len(seeing)} workers see none: {_named(without)}",
            "all work is done on cores then; start those workers with dask cuda worker",
        )  # fmt: skip
    counts = sorted(set(seeing.values()))
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return Check("gpus", OK, f"{len(seeing)} workers see {each} each")


def _kernels(found: Mapping[str, Any], count: int) -> Check:
    wrong = {
        one: answer["error"] if isinstance(answer, dict) else f"no answer ({answer!r})"
        for one, answer in found.items()
        if not isinstance(answer, dict) or answer["error"]
    }
    if wrong:
        return Check(
            "kernels", FAIL, f"{next(iter(wrong.values()))}: {_named(list(wrong))}",
            f"see that the driver and CuPy belong together: {install_command('gpu')} or gpu13",
        )  # fmt: skip
    free = min(answer["free"] for answer in found.values()) / 2**30
    slowest = max(answer["seconds"] for answer in found.values())
    told = f"one compiled and ran on {count} GPU{'s' * (count > 1)}, within {slowest:.1f} s"
    return Check("kernels", OK, f"{told}; at least {free:.1f} GiB of GPU memory free")


def _here(probe: Probe) -> Check:
    if probe.refused:
        return Check("out", FAIL, f"{probe.folder} cannot be written from here: {probe.refused}",
                     "choose a folder that exists or can be made, and is yours")  # fmt: skip
    free = "" if probe.free is None else f", {probe.free / 2**30:.1f} GiB free"
    low = probe.free is not None and probe.free < LOW_DISK
    return Check("out", WARN if low else OK, f"{probe.folder} can be written from here{free}")


def _certificate(where: str | None, scheduler_file: Any) -> Iterator[Check]:
    """When the certificates end that this client uses."""
    from distributed import Security

    address, security, _ = client.located(where, scheduler_file)
    if not address.startswith(("tls://", "wss://")):
        return
    security = security or Security()  # of Dask's configuration
    files = [security.tls_client_cert, security.tls_ca_file]
    ends = [certificates.expiry(file) for file in files if file and "\n" not in file]
    known = [end for end in ends if end is not None]
    if not known:
        yield Check("certificate", OK, "its end is not known", "pip install cryptography tells it")
        return
    left = min(known) - datetime.datetime.now(datetime.UTC)
    soon = left.days < certificates.SOON_DAYS
    yield Check(
        "certificate", WARN if soon else OK, f"valid until {min(known):%Y-%m-%d}",
        "mgraph cluster certificates DIR --host NAME --overwrite makes another" if soon else "",
    )  # fmt: skip


def _driver() -> str:
    with contextlib.suppress(OSError), open("/proc/driver/nvidia/version") as stream:
        words = stream.readline().split("Kernel Module")[-1].split()
        return next((word for word in words if word[:1].isdigit()), "unknown")
    return "unknown"
