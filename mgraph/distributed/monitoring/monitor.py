"""The page ``/mgraph`` on the scheduler's own web server, its figures, and Prometheus metrics.

A plugin of the scheduler: ``mgraph.connect`` registers it, and ``dask scheduler --preload
mgraph.distributed.scheduler_preload`` brings it along. ``/mgraph`` is one file without anything
from elsewhere; it asks ``/mgraph/data`` each second. Both only tell; nothing can be changed there.
"""

import importlib.resources
import json
import time
from typing import Any

import psutil
from distributed import SchedulerPlugin
from tornado.web import HTTPError, RequestHandler

import mgraph
from mgraph.distributed.monitoring import metrics, pruning
from mgraph.distributed.monitoring.jobs import ERROR_TEXT, Jobs, rounded
from mgraph.distributed.monitoring.workers import History, Workers, gpus
from mgraph.distributed.protocol import dask_internals

NAME = "mgraph-monitor"
TOPIC = "mgraph"
PRUNE_EVERY = 10.0  # seconds
MOST_SAMPLES = 100_000  # 30 MB
ROWS = 256  # of workers, and of GPUs, in one answer
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
)


class Monitor(SchedulerPlugin):
    """Keeps what the page shows. It begins when a scheduler takes it on."""

    name = NAME
    idempotent = True

    async def start(self, scheduler: Any) -> None:
        """Begin: catch up with what the scheduler knows, add the pages and the metrics."""
        from mgraph.distributed.protocol import configuration

        self.scheduler = scheduler
        self.began = time.time()
        self.interval = float(configuration.given("monitor.interval"))
        self.jobs, self.workers = Jobs(), Workers()
        kept = configuration.given("monitor.history") / self.interval
        self.history = History(min(round(kept), MOST_SAMPLES))
        self._pruned = self.began
        self.jobs.replay(scheduler.get_events(TOPIC), scheduler.clients)
        for key, task in scheduler.tasks.items():
            if task.state == "memory" and type(key) is tuple:
                self._count(key, failed=False)
        dask_internals.ignore_forgotten_spans(scheduler)
        options = {"scheduler": scheduler}
        pages = [("mgraph/?", PageHandler, options), ("mgraph/data", DataHandler, options)]
        dask_internals.add_pages(scheduler, NAME, pages)
        metrics.serve(self)
        dask_internals.start_periodic_callback(scheduler, NAME, self.sample, self.interval)

    async def close(self) -> None:
        """Let go of the scheduler."""
        dask_internals.stop_periodic_callback(self.scheduler, NAME)
        metrics.leave(self)

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """The scheduler's hook, called several times for each task."""
        if start == "processing" and type(key) is tuple and finish in ("memory", "erred"):
            self._count(key, failed=finish == "erred")

    def _count(self, key: Any, *, failed: bool) -> None:
        if type(key) is tuple and len(key) == 2:
            self.jobs.part(key[0], key[1], failed)

    def log_event(self, topic: str, msg: Any) -> None:
        """The scheduler's hook: clients tell of operations and runs under the topic ``mgraph``."""
        if topic == TOPIC:
            self.jobs.hear(msg)

    def remove_client(self, scheduler: Any, client: str) -> None:
        """The scheduler's hook."""
        self.jobs.client_gone(client)

    def remove_worker(self, scheduler: Any, worker: str, **kwargs: Any) -> None:
        """The scheduler's hook."""
        self.workers.gone(worker)

    def sample(self) -> None:
        """Take in what has come; called each ``interval`` seconds."""
        now = time.time()
        self.workers.look(self.scheduler)
        self.history.take(self.scheduler, self.workers, now)
        self.jobs.settle(self.scheduler)
        if now - self._pruned > PRUNE_EVERY:
            self._pruned = now
            pruning.prune(self.scheduler)

    def data(self, known: int) -> dict[str, Any]:
        """What the page shows. known: so many samples of the history it has already."""
        now = time.time()
        self.workers.look(self.scheduler)
        scheduler = self.scheduler
        return {
            "version": mgraph.__version__,
            "scheduler": scheduler.address,
            "began": round(self.began, 3),
            "time": round(now, 3),
            "interval": self.interval,
            "window": self.interval * self.history.most,
            "tasks": len(scheduler.tasks),
            "clients": len(scheduler.clients.keys() - {"fire-and-forget"}),
            "memory": psutil.Process().memory_info().rss,
            "samples": self.history.count,
            "history": self.history.since(known, now),
            "totals": {name: self.workers.total(name) for name in ("edges", "bytes", "queries")}
            | {"parts": self.jobs.parts_done},
            "rates": {
                name: rounded(self.workers.rate(name, now))
                for name in ("edges", "bytes", "queries")
            },
            "workers": self.workers.rows(scheduler, now)[:ROWS],
            "worker_count": len(scheduler.workers),
            "threads": scheduler.total_nthreads,
            "gpus": gpus(scheduler)[:ROWS],
            **self.jobs.rows(now),
        }


def add_to(client: Any) -> str | None:
    """Add the monitor to a client's scheduler, where it is not yet; a sentence if that fails."""
    try:
        client.register_plugin(Monitor())
    except (ImportError, AttributeError) as error:  # as its pickled name is looked up there
        return (
            "warning: this scheduler shows no /mgraph page, since it cannot load mgraph "
            f"{mgraph.__version__} ({_one_line(error)}); install that version for it, too"
        )
    except Exception as error:  # work goes on without it, whatever it is
        return f"warning: this scheduler shows no /mgraph page ({_one_line(error)})"
    return None


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:ERROR_TEXT]


class _Page(RequestHandler):
    """What both answers have in common."""

    def initialize(self, scheduler: Any) -> None:
        """Tornado's hook."""
        self.scheduler = scheduler

    def set_default_headers(self) -> None:
        """Tornado's hook: nothing is kept, and nothing comes from elsewhere."""
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Security-Policy", POLICY)
        self.set_header("X-Content-Type-Options", "nosniff")


class PageHandler(_Page):
    """``/mgraph``."""

    def get(self) -> None:
        """The page."""
        self.write(_page())


class DataHandler(_Page):
    """``/mgraph/data``: JSON. ``?since=N`` leaves out the first N samples of the history."""

    def get(self) -> None:
        """The figures."""
        since = self.get_query_argument("since", "0")
        known = int(since) if since.isdecimal() and len(since) < 16 else 0
        self.set_header("Content-Type", "application/json; charset=utf-8")
        monitor = self.scheduler.plugins.get(NAME)
        if monitor is None:
            raise HTTPError(404)
        self.write(json.dumps(monitor.data(known), allow_nan=False, separators=(",", ":")))


def _page() -> str:
    return (importlib.resources.files(__package__) / "monitor.html").read_text(encoding="utf-8")
