"""What a cluster's workers tell with their heartbeats, added up and kept for an hour or so.

A worker's rate is what it counted between two of its heartbeats, some seconds apart, by the time
between them: so it does not depend on when the scheduler looks. What a worker that is gone had
counted stays counted.
"""

import math
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from mgraph.core.gauges import COUNTERS, LEVELS
from mgraph.distributed.monitoring.jobs import rounded

RATE_SECONDS = 3.0  # between the heartbeats that a rate is of, if they come more often
SILENT_SECONDS = 10.0  # without a heartbeat before a worker's rate counts 0
POINTS = 600  # of the history in one answer
SERIES = (*COUNTERS, *LEVELS, "gpu_use", "watts")


def number(value: Any) -> float | None:
    """A finite number, or None for whatever else a worker may send."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


class Mark(NamedTuple):
    """A worker's counters at a heartbeat."""

    when: float
    counts: dict[str, float]


class Seen:
    """What was seen of a worker: its heartbeats of the last seconds."""

    def __init__(self, when: float, counts: dict[str, float]) -> None:
        """The first."""
        self._marks = deque([Mark(when, counts)])

    @property
    def last(self) -> Mark:
        """The latest."""
        return self._marks[-1]

    def add(self, when: float, told: dict[str, float | None]) -> None:
        """The next; a counter that was not told, or fell, stays as it was."""
        before = self.last.counts
        counts = {name: max(value or 0, before[name]) for name, value in told.items()}
        self._marks.append(Mark(when, counts))
        while len(self._marks) > 2 and self._marks[1].when <= when - RATE_SECONDS:
            self._marks.popleft()

    def rate(self, name: str) -> float:
        """How fast a counter grew of late, a second."""
        first, last = self._marks[0], self._marks[-1]
        seconds = last.when - first.when
        return (last.counts[name] - first.counts[name]) / seconds if seconds > 0 else 0.0


class Workers:
    """The workers of a scheduler."""

    def __init__(self) -> None:
        """None yet."""
        self._seen: dict[str, Seen] = {}
        self._gone: dict[str, float] = dict.fromkeys(COUNTERS, 0)

    def look(self, scheduler: Any) -> None:
        """Take in what has come with heartbeats since the last look."""
        for address in self._seen.keys() - scheduler.workers.keys():
            self.gone(address)
        for address, worker in scheduler.workers.items():
            seen, when = self._seen.get(address), worker.last_seen
            if seen is not None and when <= seen.last.when:
                continue
            told = {name: number(worker.metrics.get(f"mgraph_{name}")) for name in COUNTERS}
            if seen is None:
                counts = {name: value or 0 for name, value in told.items()}
                self._seen[address] = Seen(when, counts)
            else:
                seen.add(when, told)

    def gone(self, address: str) -> None:
        """A worker is no more; what it counted stays."""
        seen = self._seen.pop(address, None)
        for name, count in seen.last.counts.items() if seen else ():
            self._gone[name] += count

    def total(self, name: str) -> float:
        """A counter's sum over all workers that there are and were; never falls."""
        return self._gone[name] + sum(seen.last.counts[name] for seen in self._seen.values())

    def rate(self, name: str, now: float) -> float:
        """A counter's rate over all workers, a second."""
        alive = (seen for seen in self._seen.values() if now - seen.last.when < SILENT_SECONDS)
        return sum(seen.rate(name) for seen in alive)

    def rows(self, scheduler: Any, now: float) -> list[dict[str, Any]]:
        """A row a worker, by name; memory in bytes."""
        rows = []
        workers = sorted(scheduler.workers.values(), key=lambda worker: _order(worker.name))
        for worker in workers:
            seen, metrics = self._seen.get(worker.address), worker.metrics
            rows.append(
                {
                    "name": str(worker.name)[:80],
                    "address": worker.address,
                    "state": worker.status.name,
                    "threads": worker.nthreads,
                    "memory": number(metrics.get("memory")),
                    "limit": number(worker.memory_limit) or None,
                    "executing": len(worker.executing),
                    "waiting": max(len(worker.processing) - len(worker.executing), 0),
                    "edges": seen.last.counts["edges"] if seen else None,
                    "rate": rounded(seen.rate("edges")) if seen else None,
                    "silent": round(max(now - worker.last_seen, 0), 1),
                    **{name: number(metrics.get(f"mgraph_{name}")) for name in LEVELS},
                }
            )
        return rows


def _order(name: Any) -> tuple[int, float, str]:
    return (0, name, "") if isinstance(name, int) else (1, 0, str(name))


def gpus(scheduler: Any) -> list[dict[str, Any]]:
    """A row a GPU: use (%), memory and limit (bytes), watts; None if not told.

    Workers that share a GPU share its row.
    """
    found: dict[str, dict[str, Any]] = {}
    for worker in scheduler.workers.values():
        told = worker.metrics.get("mgraph_gpu")
        if not isinstance(told, dict) or not isinstance(told.get("uuid"), str):
            continue
        row = found.setdefault(
            told["uuid"],
            {
                "uuid": told["uuid"][:80],
                "name": str(told.get("name"))[:80],
                "host": worker.host,
                "workers": [],
                **{what: number(told.get(what)) for what in ("use", "memory", "limit", "watts")},
            },
        )
        row["workers"].append(str(worker.name)[:80])
    return [found[uuid] for uuid in sorted(found)]


def added(values: Iterable[float | None]) -> float | None:
    """The sum of what was told, None where nothing was."""
    told = [value for value in values if value is not None]
    return sum(told) if told else None


class History:
    """Samples, one a moment, of the columns ``SERIES``; the oldest go."""

    def __init__(self, samples: int) -> None:
        """Keep so many."""
        self.most = max(1, samples)
        self._kept: deque[tuple[float | None, ...]] = deque(maxlen=self.most)
        self.count = 0  # of samples ever taken

    def __len__(self) -> int:
        """How many are kept."""
        return len(self._kept)

    def take(self, scheduler: Any, workers: Workers, now: float) -> None:
        """Add a sample."""
        rates = [rounded(workers.rate(name, now)) for name in COUNTERS]
        metrics = [worker.metrics for worker in scheduler.workers.values()]
        levels = [added(number(m.get(f"mgraph_{name}")) for m in metrics) for name in LEVELS]
        devices = gpus(scheduler)
        use, watts = _mean([gpu["use"] for gpu in devices]), added(gpu["watts"] for gpu in devices)
        told = [None if value is None else rounded(value) for value in (*levels, use, watts)]
        self._kept.append((now, *rates, *told))
        self.count += 1

    def since(self, count: int, now: float) -> dict[str, Any]:
        """Columns of the samples after the first ``count``; where they are many, means of some.

        age: seconds before now. Columns in which nothing was told are left out.
        """
        new = self.count - count if 0 <= count <= self.count else self.count
        samples = list(self._kept)[max(len(self._kept) - new, 0) :]
        step = max(1, math.ceil(len(samples) / POINTS))
        groups = [samples[i : i + step] for i in range(0, len(samples), step)]
        columns: dict[str, Any] = {"age": [round(now - (group[-1][0] or 0), 1) for group in groups]}
        for place, name in enumerate(SERIES, 1):
            column = [_mean([sample[place] for sample in group]) for group in groups]
            if any(value is not None for value in column):
                columns[name] = column
        return columns


def _mean(values: list[float | None]) -> float | None:
    told = [value for value in values if value is not None]
    return rounded(sum(told) / len(told)) if told else None
