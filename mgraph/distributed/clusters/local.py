"""Start a cluster on this machine, of its cores or its GPUs, for the length of a command.

Little work, and all work of a machine's only GPU, is done by threads of the command's process.

Workers are forked from a server that has imported what they need (``preload``): importing takes a
core about a second, so it happens once, while this process imports the scheduler.
"""

import contextlib
import logging
import os
import warnings
from typing import Any

from mgraph import compilation
from mgraph.core import backend as backends
from mgraph.core.host import available_cores
from mgraph.distributed.clusters import main_module, worker_shares
from mgraph.distributed.clusters.dask_objects import OWN_CLIENTS
from mgraph.distributed.monitoring.dashboard import LazyDashboard
from mgraph.distributed.protocol import settings
from mgraph.distributed.protocol.dask_internals import close_stream_with, keep_forkserver_preload
from mgraph.distributed.protocol.failures import cause_of
from mgraph.distributed.protocol.interrupts import ignore_interrupts, interrupts_blocked
from mgraph.errors import ClusterError
from mgraph.installation import install_command

START_SECONDS = 60  # a GPU's worker may have to initialize CUDA and CuPy


def warm_up(quiet: bool = True) -> None:
    """Start the fork server of the local workers in the background; cheap, and may be repeated.

    The server compiles the kernels that workers share; it prints a notice on standard error unless
    it is ``quiet``.
    """
    import multiprocessing
    from multiprocessing import forkserver, resource_tracker

    multiprocessing.get_context("forkserver").set_forkserver_preload(
        ["mgraph.distributed.clusters.preload"]
    )
    resource_tracker.ensure_running()  # not below, since it unblocks interrupts
    with interrupts_blocked():
        if not quiet:
            os.environ[compilation.NOTIFY_IN_FORK_SERVER] = "1"
        try:
            forkserver.ensure_running()
        finally:
            os.environ.pop(compilation.NOTIFY_IN_FORK_SERVER, None)


def start_in_process(
    stack: contextlib.ExitStack, name: str, threads: int, dashboard: str, on_gpu: bool = False
) -> tuple[Any, str]:
    """Start a cluster whose scheduler and one worker are threads of this process.

    Returns its client, and the name. It starts in a tenth of a second, and what the process has
    imported and initialised serves the worker. The scheduler listens as any other does. A worker
    that crashes takes the process with it; what it finished stays finished.
    """
    from distributed import LocalCluster

    if on_gpu:
        from mgraph.cuda.memory import release_unused

        stack.callback(release_unused)  # as the end of a worker's own process does
    memory = worker_shares.memory_per_worker(1)
    shares = {"n_workers": 1, "threads_per_worker": threads, "memory_limit": memory}
    return _start(stack, LocalCluster, name, dashboard, processes=False, protocol="tcp", **shares)


def start_gpu_workers(
    stack: contextlib.ExitStack, workers: int | None, dashboard: str
) -> tuple[Any, str]:
    """Start a cluster with one worker per GPU; returns its client, and its name for people."""
    try:
        from dask_cuda import LocalCUDACluster
    except ImportError as error:
        raise ClusterError(
            f"this machine has a GPU, but dask-cuda cannot be imported ({error}); "
            f"{install_command('gpu')}, or use backend cpu"
        ) from error
    count = workers or backends.gpu_count()
    threads = max(1, available_cores() // count)
    name = "GPUs of this machine"
    shares = {"n_workers": count, "threads_per_worker": threads}
    shares["memory_limit"] = worker_shares.memory_per_worker(count)
    started = _start(stack, LocalCUDACluster, name, dashboard, **shares)
    started[0].run(ignore_interrupts)
    return started


def start_cpu_workers(
    stack: contextlib.ExitStack, workers: int | None, dashboard: str, threaded: bool
) -> tuple[Any, str]:
    """Start a cluster with one worker per core, or one worker with all of them (``threaded``).

    Returns the cluster's client, and its name for people.
    """
    warm_up()
    import dask
    from distributed import LocalCluster

    keep_forkserver_preload()
    cores = available_cores()
    count = workers or (1 if threaded else cores)
    stack.enter_context(
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
    )
    return _start(
        stack,
        LocalCluster,
        "cores of this machine",
        dashboard,
        n_workers=count,
        threads_per_worker=-(-cores // count) if threaded else 1,
        memory_limit=worker_shares.memory_per_worker(count),
        env=dict(os.environ),  # the fork server's own is that of the moment when it started
    )


def _start(
    stack: contextlib.ExitStack, cluster_class: Any, name: str, dashboard: str, **options: Any
) -> tuple[Any, str]:
    """Start a cluster on this machine and close it, workers first, when the stack unwinds."""
    from distributed import Client

    if options.get("processes", True):
        if reason := main_module.unguarded_start(certain=True):
            raise ClusterError(reason)
        stack.enter_context(main_module.hiding_unreadable_file())
    stack.enter_context(settings.applied())
    with warnings.catch_warnings():
        # If its port is taken, the dashboard gets another one, which is printed with its address.
        warnings.filterwarnings("ignore", message="Port .* is already in use")
        try:
            cluster = cluster_class(
                host="127.0.0.1",
                dashboard_address=dashboard,
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
                **options,
            )
        except Exception as error:
            raise ClusterError(_start_failure(error)) from error
        stack.enter_context(cluster)
    LazyDashboard(cluster.scheduler)
    client = stack.enter_context(Client(cluster))
    OWN_CLIENTS.add(client)
    close_stream_with(client)
    try:
        client.wait_for_workers(options["n_workers"], timeout=START_SECONDS)
    except TimeoutError as error:
        raise ClusterError(_start_failure(error)) from error
    return client, name


def _start_failure(error: Exception) -> str:
    """Return the sentence for a cluster that could not be started, with the likely reason."""
    while error.__cause__ is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return main_module.unguarded_start(certain=False) or (
        f"no workers could be started on this machine ({cause_of(error)}); see their output above, "
        "and run mgraph doctor to examine the machine"
    )
