"""What Dask would keep for ever on a scheduler that stays is forgotten after a while.

That is every span that there was, with the groups of its tasks, some kilobytes for each operation;
of every client that there was a topic of events, of which it forgets the events alone; and, not
for ever, but for 100,000 keys, what each is called.
"""

import time
from typing import Any

PRUNE_SECONDS = 60.0  # after its end
MOST_KEYS = 10_000


def guard(scheduler: Any) -> None:
    """Have the scheduler overlook what workers tell late of a span that is forgotten by then."""
    extension = scheduler.extensions.get("spans")
    if extension is None or getattr(extension, "mgraph_guarded", False):
        return
    heartbeat = extension.heartbeat

    def guarded(worker: Any, data: dict[Any, float]) -> None:
        heartbeat(worker, {key: value for key, value in data.items() if key[1] in extension.spans})

    extension.heartbeat = guarded
    extension.mgraph_guarded = True


def prune(scheduler: Any) -> None:
    """Forget what is over."""
    prune_spans(scheduler)
    prune_topics(scheduler)
    prune_keys()


def prune_keys() -> None:
    """Forget this process's names of keys, some hundred bytes each, where they are many."""
    from dask.utils import key_split

    if hasattr(key_split, "cache_info") and key_split.cache_info().currsize > MOST_KEYS:
        key_split.cache_clear()


def prune_topics(scheduler: Any) -> None:
    """Forget the topics that hold no event any more and that nobody listens to."""
    topics = getattr(getattr(scheduler, "_broker", None), "_topics", {})
    for name, topic in list(topics.items()):
        if not (topic.events or topic.subscribers):
            del topics[name]


def prune_spans(scheduler: Any, older: float = PRUNE_SECONDS) -> int:
    """Forget the spans that ended that many seconds ago; returns how many.

    A span stays while the scheduler knows a task of it, or one of the spans inside it stays.
    """
    extension = scheduler.extensions.get("spans")
    if extension is None:
        return 0
    before, pruned = time.time() - older, set()
    for span in reversed(extension.spans.values()):  # those inside others came later
        if any(child.id not in pruned for child in span.children):
            continue
        if any(scheduler.task_groups.get(group.name) is group for group in span.groups):
            continue
        ended = max((group.stop for group in span.groups), default=span.enqueued)
        if max(ended, span.enqueued, *(child.enqueued for child in span.children)) < before:
            pruned.add(span.id)
    if pruned:
        _forget(extension, pruned)
    return len(pruned)


def _forget(extension: Any, pruned: set[str]) -> None:
    for name in pruned:
        span = extension.spans.pop(name)
        if span.parent is not None and span.parent.id not in pruned:
            span.parent.children.remove(span)
    extension.root_spans = [span for span in extension.root_spans if span.id not in pruned]
    for index in (extension.spans_search_by_name, extension.spans_search_by_tag):
        for key, spans in list(index.items()):
            left = [span for span in spans if span.id not in pruned]
            if left:
                index[key] = left
            else:
                del index[key]
