"""What a scheduler needs of Dask's internals.

A function ``…_on_scheduler`` returns a function that runs on a scheduler: it is defined inside
another one, so that it is pickled by value, for a scheduler without mgraph, and may use nothing of
this module.
"""

import time
from collections.abc import Callable
from typing import Any

from mgraph.distributed.protocol.dask_internals.needs import needs


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
