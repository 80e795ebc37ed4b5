"""Every use of Dask's internals: private names, undocumented modules, attributes of its servers.

A new release of Dask may break what stands here, and nothing else in ``mgraph.distributed``, which
reads the scheduler's documented state alone (tasks, workers, clients, plugins). Each function says
why no public API serves; ``@needs`` lists the names that it needs and the releases that it was
written for. ``tests/distributed/test_dask_internals.py`` looks them up in the installed release.

A function ``…_on_scheduler`` returns a function that runs on a scheduler: it is defined inside
another one, so that it is pickled by value, for a scheduler without mgraph, and may use nothing of
this module. Importing this module does not import Dask.
"""

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

VERSIONS = "2026.7.1 to 2026.8.0"
INHERITED_CONFIGURATION = "DASK_INTERNAL_INHERIT_CONFIG"  # from dask.config to child processes
# What ``dask scheduler`` and ``dask worker`` run, without looking for other commands first.
SCHEDULER_MODULE, WORKER_MODULE = "distributed.cli.dask_scheduler", "distributed.cli.dask_worker"


# By function: the names that it needs, and the releases of Dask that it was written for.
NEEDS: dict[str, tuple[tuple[str, ...], str]] = {}
_Function = TypeVar("_Function", bound=Callable[..., Any])


def needs(*names: str, versions: str = VERSIONS) -> Callable[[_Function], _Function]:
    """Record paths from a ``client``, ``scheduler``, ``worker``, ``span`` or ``group`` (of tasks),
    or ``module:name``.
    """

    def register(function: _Function) -> _Function:
        NEEDS[function.__name__] = names, versions
        return function

    return register


@needs("client.scheduler.identity")
async def identity(client: Any) -> dict[str, Any]:
    """Ask the scheduler for its own and its workers' figures.

    ``Client.scheduler_info`` takes no time limit; in an event loop its answer is a cached one.
    """
    return dict(await client.scheduler.identity(n_workers=-1))


@needs("client.scheduler.versions", "client.scheduler.broadcast", "worker.handlers.versions")
async def versions(client: Any, worker: str | None) -> Any:
    """Ask a worker, or the scheduler if None, for its versions of Python and of packages.

    ``Client.get_versions`` asks all of them, and waits for one that hangs; ``Client.run`` sends
    code, which a worker with another Python cannot load.
    """
    if worker is None:
        return dict(await client.scheduler.versions(packages=[]))
    message = {"op": "versions", "packages": []}
    answers = await client.scheduler.broadcast(msg=message, workers=[worker], on_error="return")
    return answers[worker]


@needs("distributed:connect", "distributed:Security.get_connection_args")
async def request(address: str, security: Any, seconds: float, **message: Any) -> Any:
    """Send one request to the server at an address, and return its reply; ``op`` names a handler.

    ``distributed.rpc`` raises an error of its own for a reply that it does not understand.
    """
    from distributed import Security, connect

    arguments = (security or Security()).get_connection_args("client")
    comm = await connect(address, timeout=seconds, **arguments)
    try:
        await comm.write({"reply": True, **message})
        return await comm.read()
    finally:
        comm.abort()


@needs("client._event_handlers")
def drop_topic_handler(client: Any, topic: str) -> None:
    """Remove a client's handler of a topic.

    ``Client.unsubscribe_topic`` keeps the handler, and subscribes again after a reconnection.
    """
    client._event_handlers.pop(topic, None)


@needs("distributed:Client._default_event_handlers")
@contextlib.contextmanager
def no_default_event_handlers() -> Iterator[None]:
    """Construct clients here that print nothing of ``distributed.print`` and ``warn`` in tasks.

    A client subscribes when it is constructed, and ``Client.unsubscribe_topic`` comes later.
    """
    from distributed import Client

    previous, Client._default_event_handlers = Client._default_event_handlers, {}
    try:
        yield
    finally:
        Client._default_event_handlers = previous


@needs("client._close", "client.scheduler_comm.close")
def close_stream_with(client: Any) -> None:
    """Have a client that closes also end the coroutine that sends its messages.

    ``Client.close`` leaves that out where the scheduler closes the connection first; a timer of the
    coroutine may then end together with the event loop, which prints "Future exception was never
    retrieved" and a traceback.
    """
    close = client._close

    async def close_with_stream(*arguments: Any, **options: Any) -> None:
        stream = client.scheduler_comm
        await close(*arguments, **options)
        if stream is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stream.close(), 1)

    client._close = close_with_stream


@needs("distributed.utils:format_dashboard_link")
def dashboard_link(host: str, port: int) -> str:
    """Fill a host and a port into the configured ``distributed.dashboard.link``.

    ``Client.dashboard_link`` always takes the scheduler's host, and cuts an IPv6 address.
    """
    from distributed.utils import format_dashboard_link

    return str(format_dashboard_link(host, port))


@needs("distributed.system:MEMORY_LIMIT")
def detected_memory_limit() -> int:
    """Return the bytes that ``LocalCluster(memory_limit="auto")`` divides, and does not return."""
    from distributed import system

    return int(system.MEMORY_LIMIT)


@needs("distributed.utils:_forkserver_preload_set")
def keep_forkserver_preload() -> None:
    """Stop Dask from replacing the fork server's modules, which imports pandas and others here.

    No setting does: ``distributed.worker.preload`` is another list.
    """
    import distributed.utils

    if hasattr(distributed.utils, "_forkserver_preload_set"):
        distributed.utils._forkserver_preload_set = True


@needs("worker.state.nthreads", "worker.memory_manager.memory_limit")
def thread_and_memory_limits(worker: Any) -> tuple[int, int | None]:
    """Return a worker's number of threads, and its memory limit in bytes, None without one.

    ``Client.scheduler_info`` has both, in another process.
    """
    return worker.state.nthreads, worker.memory_manager.memory_limit


@needs("worker.state.tasks")
def is_wanted(worker: Any, key: Any) -> bool:
    """Return whether the scheduler wants a task of this worker, as far as the worker knows.

    No public API lets a running task find out that it was cancelled.
    """
    task = worker.state.tasks.get(key)
    return task is not None and task.state != "cancelled"


@needs("worker.execute")
def annotate_execution(worker: Any, name: str) -> None:
    """Put each task's annotation ``name`` in force while the worker executes the task.

    The tasks that it starts then inherit the annotation; Dask itself passes on spans alone.
    """
    from dask import annotate

    execute = worker.execute

    async def execute_annotated(key: Any, **options: Any) -> Any:
        task = worker.state.tasks.get(key)
        value = (task.annotations or {}).get(name) if task else None
        with annotate(**{name: value}) if value else contextlib.nullcontext():
            return await execute(key, **options)

    worker.execute = execute_annotated  # ``del worker.execute`` brings the class's method back


@needs("worker.digests_total", "worker.digests_max")
def merge_digests_of_spans(worker: Any) -> None:
    """Add up a worker's times over all spans, and drop their maxima, which nothing reads.

    Dask keeps both for each (execute, span, prefix, activity, unit) without any limit.
    """

    def is_of_span(key: Any) -> bool:
        return isinstance(key, tuple) and len(key) == 5 and key[0] == "execute"

    totals = worker.digests_total
    for key in filter(is_of_span, list(totals)):
        totals[key[:1] + key[2:]] += totals.pop(key)
    for key in filter(is_of_span, list(worker.digests_max)):
        del worker.digests_max[key]


@needs("distributed.diagnostics.nvml:device_get_count",
       "distributed.diagnostics.nvml:get_device_index_and_uuid")  # fmt: skip
def gpu_uuid(device: str) -> Any:
    """Return the UUID (text or bytes) of a GPU given by index or UUID; None where NVML finds none.

    Dask initializes NVML once for each process, and pynvml does not know that it did.
    """
    from distributed.diagnostics import nvml

    if not nvml.device_get_count():
        return None
    return nvml.get_device_index_and_uuid(device).uuid


@needs("worker.periodic_callbacks", "scheduler.periodic_callbacks")
def start_periodic_callback(
    server: Any, name: str, function: Callable[[], Any], seconds: float
) -> None:
    """Call a function every ``seconds`` in a server's event loop, until the server closes.

    A plugin, whose ``close`` could stop the callback, is closed too late for that.
    """
    from tornado.ioloop import PeriodicCallback

    callback = PeriodicCallback(function, seconds * 1000)
    server.periodic_callbacks[name] = callback
    callback.start()


def stop_periodic_callback(server: Any, name: str) -> None:
    """Undo ``start_periodic_callback``."""
    if callback := server.periodic_callbacks.pop(name, None):
        callback.stop()


@needs("dask.utils:key_split.cache_info", "dask.utils:key_split.cache_clear")
def forget_key_names(limit: int) -> None:
    """Empty the cache of ``key_split`` beyond ``limit`` entries of some hundred bytes each.

    The cache itself holds 100,000, which no setting changes.
    """
    from dask.utils import key_split

    if hasattr(key_split, "cache_info") and key_split.cache_info().currsize > limit:
        key_split.cache_clear()


@needs("scheduler.http_application.add_application")
def add_application(scheduler: Any, application: Any) -> None:
    """Add one to the applications that the scheduler's web server asks for a page, in turn.

    ``Scheduler(http_server_modules=…)`` adds pages only when the scheduler is constructed.
    """
    scheduler.http_application.add_application(application)


@needs("scheduler.http_application.applications", "scheduler.http_server",
       "distributed.dashboard.scheduler:connect")  # fmt: skip
def replace_with_dashboard(scheduler: Any, placeholder: Any) -> Any:
    """Mount Dask's dashboard in place of an application; returns all applications as one.

    ``Scheduler(dashboard=True)`` mounts it when the scheduler is constructed, and never later.
    """
    from distributed.dashboard.scheduler import connect

    scheduler.http_application.applications.remove(placeholder)
    connect(scheduler.http_application, scheduler.http_server, scheduler)
    return scheduler.http_application


@needs("scheduler.http_application.settings", "scheduler.http_application.wildcard_router.rules",
       "scheduler.http_application.add_handlers")  # fmt: skip
def add_pages(scheduler: Any, name: str, pages: list[tuple[str, Any, dict[str, Any]]]) -> None:
    """Serve pages (pattern, handler, options) below the prefix of the scheduler's own pages.

    Pages of a ``name`` that is there are left out. They come before all others, so that a dashboard
    that is not mounted yet stays so. ``distributed.scheduler.http.routes`` in Dask's configuration
    counts only when the scheduler is constructed.
    """
    application, prefix = scheduler.http_application, "/"
    if application.settings.get(name):
        return
    application.settings[name] = True
    for rule in application.wildcard_router.rules:
        pattern = getattr(getattr(rule.matcher, "regex", None), "pattern", "")
        if pattern.endswith("/metrics$"):
            prefix = pattern.removesuffix("metrics$")
    handlers = [(prefix + pattern, handler, options) for pattern, handler, options in pages]
    application.add_handlers(".*$", handlers)


@needs("scheduler._broker._topics")
def forget_empty_topics(scheduler: Any) -> None:
    """Remove the event topics without events and subscribers.

    Of a client that is gone Dask removes the events, and keeps the topic.
    """
    topics = getattr(getattr(scheduler, "_broker", None), "_topics", {})
    for name, topic in list(topics.items()):
        if not (topic.events or topic.subscribers):
            del topics[name]


@needs("scheduler.extensions.spans.heartbeat", "scheduler.extensions.spans.spans")
def ignore_forgotten_spans(scheduler: Any) -> None:
    """Have the scheduler skip the times that workers report of spans that it has forgotten.

    A heartbeat after ``forget_spans`` would raise KeyError.
    """
    extension = scheduler.extensions.get("spans")
    if extension is None or getattr(extension, "mgraph_guarded", False):
        return
    heartbeat = extension.heartbeat

    def guarded(worker: Any, data: dict[Any, float]) -> None:
        heartbeat(worker, {key: value for key, value in data.items() if key[1] in extension.spans})

    extension.heartbeat = guarded
    extension.mgraph_guarded = True


@needs("scheduler.extensions.spans.spans", "scheduler.extensions.spans.root_spans",
       "scheduler.extensions.spans.spans_search_by_name",
       "scheduler.extensions.spans.spans_search_by_tag", "span.id", "span.parent", "span.children",
       "span.groups", "span.enqueued", "group.stop")  # fmt: skip
def forget_spans(scheduler: Any, seconds: float) -> int:
    """Forget the spans that ended that many seconds ago; returns how many were forgotten.

    A span stays while the scheduler knows one of its tasks, or one of the spans inside it stays.
    Dask keeps every span, with the groups of its tasks: kilobytes for each operation.
    """
    extension = scheduler.extensions.get("spans")
    if extension is None:
        return 0
    before, forgotten = time.time() - seconds, set()
    for span in reversed(extension.spans.values()):  # a span inside another one was added later
        if any(child.id not in forgotten for child in span.children):
            continue
        if any(scheduler.task_groups.get(group.name) is group for group in span.groups):
            continue
        ended = max((group.stop for group in span.groups), default=span.enqueued)
        if max(ended, span.enqueued, *(child.enqueued for child in span.children)) < before:
            forgotten.add(span.id)
    for span in [extension.spans.pop(name) for name in forgotten]:
        if span.parent is not None and span.parent.id not in forgotten:
            span.parent.children.remove(span)
    if forgotten:
        roots = [span for span in extension.root_spans if span.id not in forgotten]
        extension.root_spans = roots
        for index in (extension.spans_search_by_name, extension.spans_search_by_tag):
            kept = {key: [span for span in spans if span.id not in forgotten]
                    for key, spans in index.items()}  # fmt: skip
            index.clear()
            index.update((key, spans) for key, spans in kept.items() if spans)
    return len(forgotten)


@needs("scheduler.http_server._sockets")
def listening_hosts_on_scheduler() -> Callable[..., list[str]]:
    """Return a function for the addresses at which a scheduler's web server listens.

    ``Client.scheduler_info`` has the port alone.
    """

    def listening_hosts(dask_scheduler: Any) -> list[str]:
        sockets = getattr(dask_scheduler.http_server, "_sockets", {})
        return [str(socket.getsockname()[0]) for socket in sockets.values()]

    return listening_hosts


@needs("scheduler._broker._topics")
def limit_topic_on_scheduler() -> Callable[..., None]:
    """Return a function that has a scheduler store no event of a topic, or forget the topic.

    ``distributed.admin.low-level-log-length`` is one limit for all topics.
    """

    def limit_topic(topic: str, forget: bool, dask_scheduler: Any) -> None:
        topics = dask_scheduler._broker._topics
        if forget:
            topics.pop(topic, None)
        else:
            topics[topic].events = type(topics[topic].events)(maxlen=0)

    return limit_topic


@needs("scheduler.worker_plugins")
def states_of_plugins_on_scheduler() -> Callable[..., dict[str, str | None]]:
    """Return a function for the worker plugins with a prefix, and the state of a task of each.

    The plugin ``<prefix><name>-<number>`` belongs to the task ``<key><name>``; its state is None
    where the scheduler has no such task. ``Client`` cannot list the registered plugins.
    """

    def states_of_plugins(prefix: str, key: str, dask_scheduler: Any) -> dict[str, str | None]:
        states, tasks = {}, dask_scheduler.tasks
        for plugin in dask_scheduler.worker_plugins:
            if plugin.startswith(prefix):
                name = plugin.removeprefix(prefix).rpartition("-")[0]
                states[plugin] = getattr(tasks.get(f"{key}{name}"), "state", None)
        return states

    return states_of_plugins


@needs("scheduler.task_metadata")
def metadata_on_scheduler() -> Callable[..., Any]:
    """Return a function that reads, replaces or removes one entry of a scheduler's metadata.

    ``Client.set_metadata`` cannot remove an entry, so that each would stay.
    """

    def metadata(group: str, name: str, value: Any, dask_scheduler: Any) -> Any:
        """value: None reads the entry, an empty one removes it, any other replaces it."""
        entries = dask_scheduler.task_metadata.setdefault(group, {})
        if value:
            entries[name] = value
        elif value is not None:
            entries.pop(name, None)
        return entries.get(name)

    return metadata
