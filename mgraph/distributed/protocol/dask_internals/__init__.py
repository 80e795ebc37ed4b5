"""Every use of Dask's internals: private names, undocumented modules, attributes of its servers.

A new release of Dask may break what stands here, and nothing else in ``mgraph.distributed``, which
reads the scheduler's documented state alone (tasks, workers, clients, plugins). Each function says
why no public API serves; ``@needs`` lists the names that it needs and the releases that it was
written for. ``tests/distributed/test_dask_internals.py`` looks them up in the installed release.
Importing this package does not import Dask.
"""

from mgraph.distributed.protocol.dask_internals.clients import (
    close_stream_with,
    dashboard_link,
    detected_memory_limit,
    drop_topic_handler,
    identity,
    keep_forkserver_preload,
    request,
    versions,
)
from mgraph.distributed.protocol.dask_internals.needs import NEEDS
from mgraph.distributed.protocol.dask_internals.schedulers import (
    add_application,
    add_pages,
    forget_empty_topics,
    forget_spans,
    ignore_forgotten_spans,
    limit_topic_on_scheduler,
    listening_hosts_on_scheduler,
    metadata_on_scheduler,
    replace_with_dashboard,
    states_of_plugins_on_scheduler,
)
from mgraph.distributed.protocol.dask_internals.workers import (
    add_handler,
    annotate_execution,
    ask_worker,
    event_loop,
    forget_key_names,
    gpu_uuid,
    is_wanted,
    merge_digests_of_spans,
    remove_handler,
    start_periodic_callback,
    stop_periodic_callback,
    thread_and_memory_limits,
)

__all__ = [
    "INHERITED_CONFIGURATION",
    "NEEDS",
    "SCHEDULER_MODULE",
    "WORKER_MODULE",
    "add_application",
    "add_handler",
    "add_pages",
    "annotate_execution",
    "ask_worker",
    "close_stream_with",
    "dashboard_link",
    "detected_memory_limit",
    "drop_topic_handler",
    "event_loop",
    "forget_empty_topics",
    "forget_key_names",
    "forget_spans",
    "gpu_uuid",
    "identity",
    "ignore_forgotten_spans",
    "is_wanted",
    "keep_forkserver_preload",
    "limit_topic_on_scheduler",
    "listening_hosts_on_scheduler",
    "merge_digests_of_spans",
    "metadata_on_scheduler",
    "remove_handler",
    "replace_with_dashboard",
    "request",
    "start_periodic_callback",
    "states_of_plugins_on_scheduler",
    "stop_periodic_callback",
    "thread_and_memory_limits",
    "versions",
]

INHERITED_CONFIGURATION = "DASK_INTERNAL_INHERIT_CONFIG"  # from dask.config to child processes
# What ``dask scheduler`` and ``dask worker`` run, without looking for other commands first.
SCHEDULER_MODULE, WORKER_MODULE = "distributed.cli.dask_scheduler", "distributed.cli.dask_worker"
