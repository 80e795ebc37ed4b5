"""``mgraph doctor``: what may be wrong with this machine and with a cluster, and what to do.

The checks start no processes, and wait a limited time for each worker.
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
from mgraph.distributed.doctor.check import (
    FAIL,
    OK,
    WARN,
    Check,
    call_workers,
    pickled_by_value,
)
from mgraph.distributed.doctor.folder_probe import FolderProbe
from mgraph.distributed.protocol import addresses, configuration, dask_internals
from mgraph.distributed.protocol.broadcast import workers_of
from mgraph.distributed.protocol.failures import explaining
from mgraph.errors import ClusterError, MgraphError
from mgraph.installation import install_command

ANSWER_SECONDS = 5.0  # for versions, which take a worker milliseconds
PROBE_SECONDS = 15.0
KERNEL_SECONDS = 90.0  # to initialize CUDA and compile a kernel
CLOCK_SECONDS = 2.0
LOW_MEMORY, LOW_DISK, NO_DISK = 1 << 30, 2 << 30, 100 << 20
_INSTALL = "install the same versions everywhere, best from one environment or container"
_MAX_NAMES = 3  # of workers in a line


def checks(
    *,
    scheduler: str | None = None,
    scheduler_file: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
) -> Iterator[Check]:
    """Yield every check as it is made: of this machine, then of the cluster if one is named.

    out: a folder for the workers to write to. Raises UsageError for an invalid address.
    """
    client_probe = worker_probe.probe_here()
    yield from check_machine(client_probe)
    address = scheduler or (None if scheduler_file else connect.configured_scheduler())
    if address or scheduler_file:
        try:
            with connect.connect_client(address, scheduler_file) as client:
                yield from check_cluster(
                    client, client_probe, None if out is None else os.fspath(out)
                )
                yield from _check_certificate(address, scheduler_file)
        except ClusterError as error:
            yield Check("scheduler", FAIL, str(error))
    else:
        yield Check("scheduler", OK, "none is named, so only this machine was checked")
        if out is not None:
            with FolderProbe(os.fspath(out)) as probe:
                yield _check_folder(probe)


def check_machine(client_probe: dict[str, Any]) -> Iterator[Check]:
    """Yield what commands need that run on this machine. client_probe: its probe."""
    packages = client_probe["packages"]
    yield Check("python", OK, f"{client_probe['python']}, {sys.executable}")
    for name in ("mgraph", "dask", "distributed", "numpy", "numba", "pyarrow"):
        version = packages[name]
        state = OK if version and version[:1].isdigit() else FAIL
        remedy = "" if state == OK else f"{install_command()} installs what it needs"
        yield Check(name, state, version or "not installed", remedy)
    yield Check("cores", OK, f"{client_probe['cores']}, {client_probe['cores_reason']}")
    low = max(LOW_MEMORY, client_probe["cores"] * WORKER_BYTES)
    reason = {"here": client_probe["memory_reason"]}
    remedy = "use fewer --workers"
    yield _check_free_bytes("memory", {"here": client_probe["memory"]}, low, 0, remedy, reason)
    folder = tempfile.gettempdir()
    free = {"here": worker_probe.free_disk(folder)}
    yield _check_free_bytes("disk", free, LOW_DISK, NO_DISK, f"free some space in {folder}")
    problems: dict[str, None] = {}
    for name in configuration.SETTINGS:
        try:
            configuration.get_setting(name)
        except MgraphError as error:
            problems[str(error)] = None
    yield from (Check("settings", FAIL, problem) for problem in problems)
    if not client_probe["gpus"]:
        yield Check("gpu", OK, "no CUDA device and driver here: commands use the cores")
        return
    names, cupy = ", ".join(sorted(set(client_probe["gpus"]))), packages["cupy"]
    text = (
        f"{len(client_probe['gpus'])} ({names}), driver {_driver_version()}, cupy {cupy or 'none'}"
    )
    if cupy is None:
        yield Check("gpu", WARN, text, f"{install_command('gpu')} (or gpu13) to use it")
        return
    yield Check("gpu", OK, text)
    yield _check_kernels({"here": worker_probe.try_kernel_here()}, 1)


def check_cluster(client: Any, client_probe: dict[str, Any], out: str | None) -> Iterator[Check]:
    """Yield what the scheduler and every worker must have. client_probe: this machine's probe."""
    address = client.scheduler.address
    warning = addresses.scheduler_warning(address)
    yield Check("scheduler", OK, f"answers at {address}")
    if warning:
        yield Check("encryption", WARN, warning.removeprefix("warning: "))
    else:
        is_encrypted = address.startswith(("tls://", "wss://"))
        yield Check("encryption", OK, "TLS" if is_encrypted else "none, on this machine alone")
    with explaining("listing the workers"):
        workers = list(workers_of(client))
    if not workers:
        yield Check("workers", FAIL, "there are none", "start some with dask worker")
        return
    versions = client.sync(_ask_versions, client, workers)
    yield _check_answers("workers", versions, ANSWER_SECONDS)
    pythons = {"here": client_probe["python"],
               **_map_answers(versions, lambda answer: answer["host"]["python"])}  # fmt: skip
    yield _check_equal(
        "python", {name: ".".join(text.split(".")[:3]) for name, text in pythons.items()}
    )
    # Another Python cannot load the code of a probe, so its worker is not probed.
    own = _minor_version(client_probe["python"])
    able = [w for w in workers if _minor_version(pythons.get(w, "")) == own and w in versions]
    with contextlib.ExitStack() as stack:
        probe = stack.enter_context(FolderProbe(out)) if out else None
        arguments: tuple[Any, ...] = ()
        if probe and not probe.error:
            arguments = (probe.folder, probe.name, probe.token)
        is_scheduler_able = _minor_version(pythons.get("scheduler", "")) == own
        began = time.time()
        probes = client.sync(_probe_processes, client, able, is_scheduler_able, arguments)
        ended = time.time()
        on_scheduler = probes.pop("scheduler", None)
        if any(isinstance(answer, BaseException) for answer in probes.values()):
            yield _check_answers("probe", probes, PROBE_SECONDS)
        answers = _map_answers(probes, lambda answer: answer)
        yield from _check_packages(client_probe, on_scheduler, answers)
        yield _check_clocks(answers, began, ended)
        memory = _map_answers(probes, lambda answer: answer["memory"])
        reasons = _map_answers(probes, lambda answer: answer["memory_reason"])
        remedy = "use fewer workers per machine"
        yield _check_free_bytes("memory", memory, LOW_MEMORY, 0, remedy, reasons)
        disk = _map_answers(probes, lambda answer: answer["disk"])
        remedy = "free some space there, or start workers with another --local-directory"
        yield _check_free_bytes("disk", disk, LOW_DISK, NO_DISK, remedy)
        if probe:
            yield _check_folder(probe)
            if not probe.error:
                yield from probe.checks(client, answers)
    gpus = _map_answers(probes, lambda answer: len(answer["gpus"]))
    yield _check_gpus(gpus)
    with_gpu = [name for name, count in gpus.items() if count]
    if with_gpu:
        function = worker_probe.try_kernel
        results = client.sync(call_workers, client, with_gpu, KERNEL_SECONDS, function)
        yield _check_kernels(results, len(with_gpu))
    else:
        yield Check("kernels", OK, "no worker sees a GPU, so none was compiled")


async def _ask_versions(client: Any, workers: list[str]) -> dict[str, Any]:
    """Ask each process for its versions, which loads no code there; returns answers or errors."""

    async def ask(worker: str | None) -> Any:
        try:
            return await asyncio.wait_for(dask_internals.versions(client, worker), ANSWER_SECONDS)
        except Exception as error:
            return error

    answers = await asyncio.gather(*map(ask, [None, *workers]))
    return dict(zip(["scheduler", *workers], answers, strict=True))


async def _probe_processes(
    client: Any, workers: list[str], is_scheduler_able: bool, arguments: tuple[Any, ...]
) -> dict[str, Any]:
    """Probe workers, and the scheduler if it can load the code; returns answers or errors."""
    answers: dict[str, Any] = {}
    function = worker_probe.probe_process
    if is_scheduler_able:
        with pickled_by_value(), contextlib.suppress(Exception):
            answer = client.run_on_scheduler(function, asynchronous=True)
            answers["scheduler"] = await asyncio.wait_for(answer, ANSWER_SECONDS)
    return answers | await call_workers(client, workers, PROBE_SECONDS, function, *arguments)


def _map_answers(answers: Mapping[str, Any], function: Any) -> dict[str, Any]:
    """Apply a function to each answer, without those that are errors."""
    return {name: function(answer) for name, answer in answers.items() if isinstance(answer, dict)}


def _format_names(workers: list[str]) -> str:
    more = f" and {len(workers) - _MAX_NAMES} more" if len(workers) > _MAX_NAMES else ""
    return ", ".join(workers[:_MAX_NAMES]) + more


def _minor_version(version: str) -> str:
    """Return the first two numbers of a version."""
    return ".".join(version.split(".")[:2])


def _check_answers(name: str, answers: Mapping[str, Any], seconds: float) -> Check:
    workers = {name: answer for name, answer in answers.items() if name != "scheduler"}
    silent = [name for name, answer in workers.items() if not isinstance(answer, dict)]
    if not silent:
        return Check(name, OK, f"{len(workers)} answer")
    error = workers[silent[0]]
    reason = f"within {seconds:g} s" if isinstance(error, TimeoutError) else f"({error})"
    return Check(
        name, FAIL,
        f"{len(silent)} of {len(workers)} do not answer {reason}: {_format_names(silent)}",
        "look at that machine: it hangs, is out of memory or cannot be reached",
    )  # fmt: skip


def _check_equal(name: str, versions: Mapping[str, str | None], state: str = FAIL) -> Check:
    """Check that this machine, the scheduler and all workers have one version.

    state: of the check, if they differ.
    """
    distinct = set(versions.values())
    if len(distinct) == 1:
        return Check(name, OK, f"{distinct.pop() or 'none'} everywhere")
    texts = []
    for version in sorted(distinct, key=str):
        holders = [holder for holder, other in versions.items() if other == version]
        workers = [holder for holder in holders if holder not in ("here", "scheduler")]
        places = [{"here": "here", "scheduler": "on the scheduler"}[holder] for holder in holders
                  if holder not in workers]  # fmt: skip
        if workers:
            places.append(f"on {pluralize(len(workers), 'worker')} ({_format_names(workers)})")
        texts.append(f"{version or 'none'} {' and '.join(places)}")
    return Check(name, state, ", ".join(texts), _INSTALL)


def _check_packages(
    client_probe: dict[str, Any], scheduler: dict[str, Any] | None, answers: Mapping[str, Any]
) -> Iterator[Check]:
    for name in worker_probe.PACKAGES:
        versions = {"here": client_probe["packages"][name]}
        versions |= {worker: answer["packages"][name] for worker, answer in answers.items()}
        on_scheduler = scheduler["packages"][name] if scheduler else None
        if name == "cupy":  # only workers with a GPU need it
            versions = {worker: answer["packages"][name] for worker, answer in answers.items()
                        if answer["gpus"]}  # fmt: skip
            if not versions:
                continue
        elif on_scheduler or (name in ("dask", "distributed") and scheduler):
            versions["scheduler"] = on_scheduler
        missing = [worker for worker, version in versions.items() if version is None]
        is_required = missing or name in ("mgraph", "dask", "distributed")
        yield _check_equal(name, versions, FAIL if is_required else WARN)
    if scheduler and scheduler["packages"]["mgraph"] is None:
        yield Check("page", WARN, "the scheduler has no mgraph, so there is no page /mgraph",
                    "install mgraph there, too")  # fmt: skip


def _check_clocks(answers: Mapping[str, Any], began: float, ended: float) -> Check:
    """Check by how much clocks differ at least: a probe ran between two readings of this clock."""
    apart = {
        worker: max(0.0, answer["ended"] - ended, began - answer["began"])
        for worker, answer in answers.items()
    }
    distant = [worker for worker, seconds in apart.items() if seconds > CLOCK_SECONDS]
    if distant:
        text = f"{max(apart.values()):.0f} s apart: {_format_names(distant)}"
        return Check("clocks", WARN, text, "run NTP there: certificates and logs need the time")
    return Check("clocks", OK, f"within {CLOCK_SECONDS:g} s, as far as can be measured")


def _check_free_bytes(
    name: str,
    free: Mapping[str, int | None],
    low: int,
    none: int,
    remedy: str,
    reasons: Mapping[str, str] | None = None,
) -> Check:
    """Check the minimum of the free bytes, by process: WARN below ``low``, FAIL below ``none``.

    reasons: why there are that many, by process.
    """
    known = {worker: count for worker, count in free.items() if count is not None}
    if not known:
        return Check(name, WARN, "not known")
    minimum, maximum = min(known.values()), max(known.values())
    text = f"{minimum / 2**30:.1f} GiB free"
    if "here" not in known:
        text = f"{minimum / 2**30:.1f} to {maximum / 2**30:.1f} GiB free on each worker"
    if reason := (reasons or {}).get(min(known, key=lambda worker: known[worker])):
        text += f" {reason}" if "here" in known else f", the minimum {reason}"
    short = [worker for worker, count in known.items() if count < low]
    if not short:
        return Check(name, OK, text)
    text += "" if "here" in known else f", the minimum on {_format_names(short)}"
    return Check(name, FAIL if minimum < none else WARN, text, remedy)


def _check_gpus(gpus: Mapping[str, int]) -> Check:
    """Check that all workers see a GPU, or none does. gpus: their number, by worker."""
    with_gpu = [worker for worker, count in gpus.items() if count]
    if not with_gpu:
        return Check("gpus", OK, "no worker sees one: operations use the cores")
    if len(with_gpu) < len(gpus):
        without = [worker for worker in gpus if worker not in with_gpu]
        return Check(
            "gpus", WARN,
            f"{len(without)} of {len(gpus)} workers see none: {_format_names(without)}",
            "operations then use the cores; start those workers with dask cuda worker",
        )  # fmt: skip
    counts = sorted(set(gpus.values()))
    each = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
    return Check("gpus", OK, f"{len(gpus)} workers see {each} each")


def _check_kernels(results: Mapping[str, Any], count: int) -> Check:
    errors = {
        worker: result["error"] if isinstance(result, dict) else f"no answer ({result!r})"
        for worker, result in results.items()
        if not isinstance(result, dict) or result["error"]
    }
    if errors:
        return Check(
            "kernels", FAIL, f"{next(iter(errors.values()))}: {_format_names(list(errors))}",
            "install a CuPy that fits the driver's CUDA version: "
            f"{install_command('gpu')} or gpu13",
        )  # fmt: skip
    free = min(result["free"] for result in results.values()) / 2**30
    slowest = max(result["seconds"] for result in results.values())
    text = f"one compiled and ran on {pluralize(count, 'GPU')}, within {slowest:.1f} s"
    return Check("kernels", OK, f"{text}; at least {free:.1f} GiB of GPU memory free")


def _check_folder(probe: FolderProbe) -> Check:
    if probe.error:
        return Check("out", FAIL, f"{probe.folder} cannot be written from here: {probe.error}",
                     "choose a folder of your own that exists or can be created")  # fmt: skip
    free = "" if probe.free is None else f", {probe.free / 2**30:.1f} GiB free"
    is_low = probe.free is not None and probe.free < LOW_DISK
    return Check("out", WARN if is_low else OK, f"{probe.folder} can be written from here{free}")


def _check_certificate(scheduler: str | None, scheduler_file: Any) -> Iterator[Check]:
    """Yield when the certificates expire that this client uses, if it uses any."""
    from distributed import Security

    address, security, _ = client.resolve_scheduler(scheduler, scheduler_file)
    if not address.startswith(("tls://", "wss://")):
        return
    security = security or Security()  # that of Dask's configuration
    files = [security.tls_client_cert, security.tls_ca_file]
    ends = [certificates.expiry(file) for file in files if file and "\n" not in file]
    known = [end for end in ends if end is not None]
    if not known:
        remedy = "pip install cryptography to see it"
        yield Check("certificate", OK, "its end is not known", remedy)
        return
    remaining = min(known) - datetime.datetime.now(datetime.UTC)
    is_soon = remaining.days < certificates.SOON_DAYS
    yield Check(
        "certificate", WARN if is_soon else OK, f"valid until {min(known):%Y-%m-%d}",
        "mgraph cluster certificates DIR --overwrite makes another" if is_soon else "",
    )  # fmt: skip


def _driver_version() -> str:
    with contextlib.suppress(OSError), open("/proc/driver/nvidia/version") as stream:
        words = stream.readline().split("Kernel Module")[-1].split()
        return next((word for word in words if word[:1].isdigit()), "unknown")
    return "unknown"
