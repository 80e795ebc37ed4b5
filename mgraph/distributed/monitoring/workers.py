"""The figures that workers send with their heartbeats, added up, and kept for about an hour.

A worker's rate is the difference of two heartbeats' counters over the time between the heartbeats,
some seconds apart, so that it does not depend on when the scheduler is asked. The counts of a
worker that is gone stay in the totals.
"""

import math
from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from mgraph.core.gauges import COUNTERS, LEVELS
from mgraph.distributed.monitoring.jobs import rounded

RATE_SECONDS = 3.0  # between the heartbeats of a rate, if heartbeats come more often
SILENT_SECONDS = 10.0  # without a heartbeat, before a worker's rate counts as 0
POINTS = 600  # of the history in one answer
NAME_LENGTH = 80
SERIES = (*COUNTERS, *LEVELS, "gpu_use", "watts", "progress")


def number(value: Any) -> float | None:
    """Return a finite number, or None for anything else that a worker may send."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return value


class Heartbeat(NamedTuple):
    """The time of a worker's heartbeat, and its counters."""

    time: float
    counts: dict[str, float]


class Heartbeats:
    """A worker's heartbeats of the last seconds."""

    def __init__(self, first: Heartbeat) -> None:
        """Begin with the first heartbeat."""
        self._recent = deque([first])

    @property
    def last(self) -> Heartbeat:
        """The latest heartbeat."""
        return self._recent[-1]

    def add(self, time: float, figures: dict[str, float | None]) -> None:
        """Add a heartbeat; a counter that is missing or smaller than before keeps its value."""
        before = self.last.counts
        counts = {name: max(value or 0, before[name]) for name, value in figures.items()}
        self._recent.append(Heartbeat(time, counts))
        while len(self._recent) > 2 and self._recent[1].time <= time - RATE_SECONDS:
            self._recent.popleft()

    def rate(self, name: str) -> float:
        """Return a counter's recent increase per second."""
        first, last = self._recent[0], self._recent[-1]
        seconds = last.time - first.time
        return (last.counts[name] - first.counts[name]) / seconds if seconds > 0 else 0.0


class Workers:
    """The workers of a scheduler."""

    def __init__(self) -> None:
        """Start without any."""
        self._heartbeats: dict[str, Heartbeats] = {}
        self._removed: dict[str, float] = dict.fromkeys(COUNTERS, 0)

    def update(self, scheduler: Any) -> None:
        """Take the heartbeats since the last update."""
        for address in self._heartbeats.keys() - scheduler.workers.keys():
            self.remove(address)
        for address, worker in scheduler.workers.items():
            heartbeats, time = self._heartbeats.get(address), worker.last_seen
            if heartbeats is not None and time <= heartbeats.last.time:
                continue
            figures = {name: number(worker.metrics.get(f"mgraph_{name}")) for name in COUNTERS}
            if heartbeats is None:
                counts = {name: value or 0 for name, value in figures.items()}
                self._heartbeats[address] = Heartbeats(Heartbeat(time, counts))
            else:
                heartbeats.add(time, figures)

    def remove(self, address: str) -> None:
        """Forget a worker that is gone, and keep its counts in the totals."""
        heartbeats = self._heartbeats.pop(address, None)
        for name, count in heartbeats.last.counts.items() if heartbeats else ():
            self._removed[name] += count

    def total(self, name: str) -> float:
        """Return a counter's sum over all present and former workers; it never decreases."""
        present = self._heartbeats.values()
        return self._removed[name] + sum(heartbeats.last.counts[name] for heartbeats in present)

    def rate(self, name: str, now: float) -> float:
        """Return a counter's increase per second, over all workers."""
        present = self._heartbeats.values()
        alive = (h for h in present if now - h.last.time < SILENT_SECONDS)
        return sum(heartbeats.rate(name) for heartbeats in alive)

    def rows(self, scheduler: Any, now: float) -> list[dict[str, Any]]:
        """Return one row per worker, by name; memory in bytes."""
        rows = []
        workers = sorted(scheduler.workers.values(), key=lambda worker: _order(worker.name))
        for worker in workers:
            heartbeats, metrics = self._heartbeats.get(worker.address), worker.metrics
            rows.append(
                {
                    "name": str(worker.name)[:NAME_LENGTH],
                    "address": worker.address,
                    "state": worker.status.name,
                    "threads": worker.nthreads,
                    "memory": number(metrics.get("memory")),
                    "limit": number(worker.memory_limit) or None,
                    "executing": len(worker.executing),
                    "waiting": max(len(worker.processing) - len(worker.executing), 0),
                    "cpu": number(metrics.get("cpu")),
                    "edges": heartbeats.last.counts["edges"] if heartbeats else None,
                    "rate": rounded(heartbeats.rate("edges")) if heartbeats else None,
                    "silent": round(max(now - worker.last_seen, 0), 1),
                    **{name: number(metrics.get(f"mgraph_{name}")) for name in LEVELS},
                }
            )
        return rows


def _order(name: Any) -> tuple[int, float, str]:
    return (0, name, "") if isinstance(name, int) else (1, 0, str(name))


def gpu_rows(scheduler: Any) -> list[dict[str, Any]]:
    """Return one row per GPU: use (%), memory and limit (bytes), watts; None if not reported.

    Workers that share a GPU share its row.
    """
    rows: dict[str, dict[str, Any]] = {}
    for worker in scheduler.workers.values():
        figures = worker.metrics.get("mgraph_gpu")
        if not isinstance(figures, dict) or not isinstance(figures.get("uuid"), str):
            continue
        row = rows.setdefault(
            figures["uuid"],
            {
                "uuid": figures["uuid"][:NAME_LENGTH],
                "name": str(figures.get("name"))[:NAME_LENGTH],
                "host": worker.host,
                "workers": [],
                **{key: number(figures.get(key)) for key in ("use", "memory", "limit", "watts")},
            },
        )
        row["workers"].append(str(worker.name)[:NAME_LENGTH])
    return [rows[uuid] for uuid in sorted(rows)]


def _sum(values: Iterable[float | None]) -> float | None:
    """Return the sum of the known values, None if there are none."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _mean(values: list[float | None]) -> float | None:
    """Return the mean of the known values, None if there are none."""
    known = [value for value in values if value is not None]
    return rounded(sum(known) / len(known)) if known else None


class History:
    """Samples of the columns ``SERIES``, of which the oldest are dropped."""

    def __init__(self, samples: int) -> None:
        """Keep that many samples."""
        self.capacity = max(1, samples)
        self._samples: deque[tuple[float | None, ...]] = deque(maxlen=self.capacity)
        self.count = 0  # of samples ever taken

    def __len__(self) -> int:
        """Return the number of samples that are kept."""
        return len(self._samples)

    def sample(
        self, scheduler: Any, workers: Workers, now: float, progress: float | None = None
    ) -> None:
        """Take a sample. progress: percent of the operation that runs."""
        rates = [rounded(workers.rate(name, now)) for name in COUNTERS]
        metrics = [worker.metrics for worker in scheduler.workers.values()]
        levels = [_sum(number(m.get(f"mgraph_{name}")) for m in metrics) for name in LEVELS]
        devices = gpu_rows(scheduler)
        use, watts = _mean([gpu["use"] for gpu in devices]), _sum(gpu["watts"] for gpu in devices)
        others = [
            None if value is None else rounded(value) for value in (*levels, use, watts, progress)
        ]
        self._samples.append((now, *rates, *others))
        self.count += 1

    def since(self, count: int, now: float) -> dict[str, Any]:
        """Return the columns of the samples after the first ``count``; means, if there are many.

        age: seconds before now. Columns without any value are left out.
        """
        new = self.count - count if 0 <= count <= self.count else self.count
        samples = list(self._samples)[max(len(self._samples) - new, 0) :]
        step = max(1, math.ceil(len(samples) / POINTS))
        groups = [samples[i : i + step] for i in range(0, len(samples), step)]
        columns: dict[str, Any] = {"age": [round(now - (group[-1][0] or 0), 1) for group in groups]}
        for index, name in enumerate(SERIES, 1):
            column = [_mean([sample[index] for sample in group]) for group in groups]
            if any(value is not None for value in column):
                columns[name] = column
        return columns
