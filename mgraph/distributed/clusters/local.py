"""Start a cluster on this machine, of its cores or its GPUs, for the length of a command.

Workers come from a fork server that has imported what they need (``preload``): importing costs a
core a second, so it happens once, while this process imports the scheduler.
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
from mgraph.distributed.monitoring.dashboard import LazyDashboard
from mgraph.distributed.protocol import settings
from mgraph.distributed.protocol.failures import cause_of
from mgraph.distributed.protocol.interrupts import ignore_interrupts, interrupts_blocked
from mgraph.errors import ClusterError
from mgraph.installation import install_command

START_SECONDS = 60  # a GPU's worker may begin with CUDA and CuPy


def warm_up(quiet: bool = True) -> None:
    """Start the fork server that local workers come from, in the background; cheap, repeatable.

    It compiles what they share; it says so on standard error unless it is to be quiet.
    """
    import multiprocessing
    from multiprocessing import forkserver, resource_tracker

    multiprocessing.get_context("forkserver").set_forkserver_preload(
        ["mgraph.distributed.clusters.preload"]
    )
    resource_tracker.ensure_running()  # here, since it unblocks interrupts
    with interrupts_blocked():
        if not quiet:
            os.environ[compilation.TOLD_BY_FORK_SERVER] = "1"
        try:
            forkserver.ensure_running()
        finally:
            os.environ.pop(compilation.TOLD_BY_FORK_SERVER, None)


def start_gpus(stack: contextlib.ExitStack, workers: int | None, dashboard: str) -> tuple[Any, str]:
    """A client of a new cluster with one worker per GPU, and what it is called."""
    try:
        from dask_cuda import LocalCUDACluster
    except ImportError as error:
        raise ClusterError(
            f"a GPU is here but dask-cuda is not usable ({error}); {install_command('gpu')}, or "
            "use backend cpu"
        ) from error
    count = workers or backends.gpu_count()
    threads = max(1, available_cores() // count)
    name = "GPUs of this machine"
    shares = {"n_workers": count, "threads_per_worker": threads}
    shares["memory_limit"] = worker_shares.memory_of_each(count)
    started = _start(stack, LocalCUDACluster, name, dashboard, **shares)
    started[0].run(ignore_interrupts)
    return started


def start_cores(
    stack: contextlib.ExitStack, workers: int | None, dashboard: str, threaded: bool
) -> tuple[Any, str]:
    """A client of a new cluster, of a worker per core or one with all, and what it is called."""
    warm_up()
    import dask
    import distributed.utils
    from distributed import LocalCluster

    # Dask would import pandas and others here, to have its own fork server preload them.
    if hasattr(distributed.utils, "_forkserver_preload_set"):
        distributed.utils._forkserver_preload_set = True
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
        memory_limit=worker_shares.memory_of_each(count),
        env=dict(os.environ),  # the fork server has that of its own start
    )


def _start(
    stack: contextlib.ExitStack, kind: Any, name: str, dashboard: str, **options: Any
) -> tuple[Any, str]:
    """Start a cluster on this machine and close it, workers first, when the stack unwinds."""
    from distributed import Client

    certain = main_module.why_workers_fail(certain=True)
    if certain:
        raise ClusterError(certain)
    stack.enter_context(main_module.readable_again())
    stack.enter_context(settings.in_force())
    with warnings.catch_warnings():
        # A taken port moves the dashboard; the address that we print says where to.
        warnings.filterwarnings("ignore", message="Port .* is already in use")
        try:
            cluster = kind(
                host="127.0.0.1",
                dashboard_address=dashboard,
                scheduler_kwargs={"dashboard": False},
                silence_logs=logging.CRITICAL,
                **options,
            )
        except Exception as error:
            raise ClusterError(_not_started(error)) from error
        stack.enter_context(cluster)
    LazyDashboard(cluster.scheduler)
    client = stack.enter_context(Client(cluster))
    try:
        client.wait_for_workers(options["n_workers"], timeout=START_SECONDS)
    except TimeoutError as error:
        raise ClusterError(_not_started(error)) from error
    return client, name


def _not_started(error: Exception) -> str:
    """The likely reason why no cluster could be started on this machine."""
    while error.__cause__ is not None and isinstance(error.__cause__, Exception):
        error = error.__cause__
    return main_module.why_workers_fail(certain=False) or (
        f"no workers could be started on this machine ({cause_of(error)}); what they wrote stands "
        "above, and mgraph doctor examines the machine"
    )
