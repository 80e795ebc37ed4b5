"""The page ``/mgraph`` on the scheduler's own web server, its figures, and Prometheus metrics.

The monitor is a plugin of the scheduler: ``mgraph.connect`` registers it, and ``dask scheduler
--preload mgraph.distributed.scheduler_preload`` loads it at the start. ``/mgraph`` is one file that
loads nothing else; it requests ``/mgraph/data`` every second. Both are read-only.
"""

import importlib.resources
import json
import time
from typing import Any

import psutil
from distributed import SchedulerPlugin
from tornado.ioloop import IOLoop
from tornado.web import HTTPError, RequestHandler

import mgraph
from mgraph.distributed.monitoring import metrics, pruning
from mgraph.distributed.monitoring.counters import partial_counts
from mgraph.distributed.monitoring.jobs import ERROR_LENGTH, Jobs, Run, rounded
from mgraph.distributed.monitoring.workers import History, Workers, gpu_rows
from mgraph.distributed.protocol import dask_internals
from mgraph.errors import MgraphError
from mgraph.io.run_folder import RunFolder

NAME = "mgraph-monitor"
TOPIC = "mgraph"
PRUNE_SECONDS = 10.0  # between two times
MAX_SAMPLES = 100_000  # 30 MB
LOG_BYTES = 1 << 17  # of a workflow's output, on its page
MAX_ROWS = 256  # of workers, and of GPUs, in one answer
POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'"
)


class Monitor(SchedulerPlugin):
    """Holds the page's data, from the moment when a scheduler starts the plugin."""

    name = NAME
    idempotent = True

    async def start(self, scheduler: Any) -> None:
        """Read the scheduler's events and tasks so far, and add the pages and the metrics."""
        from mgraph.distributed.protocol import configuration

        self.scheduler = scheduler
        self.began = time.time()
        self.interval = float(configuration.get_setting("monitor.interval"))
        self.jobs, self.workers = Jobs(), Workers()
        samples = configuration.get_setting("monitor.history") / self.interval
        self.history = History(min(round(samples), MAX_SAMPLES))
        self._pruned = self.began
        self.jobs.replay(scheduler.get_events(TOPIC), scheduler.clients)
        for key, task in scheduler.tasks.items():
            if task.state == "memory" and type(key) is tuple:
                self._record_part(key, failed=False)
        dask_internals.ignore_forgotten_spans(scheduler)
        options = {"scheduler": scheduler}
        handlers = {"mgraph/?": PageHandler, "mgraph/data": DataHandler, "mgraph/log": LogHandler}
        pages = [(path, handler, options) for path, handler in handlers.items()]
        dask_internals.add_pages(scheduler, NAME, pages)
        metrics.start_serving(self)
        dask_internals.start_periodic_callback(scheduler, NAME, self.sample, self.interval)

    async def close(self) -> None:
        """Stop sampling, and serving metrics."""
        dask_internals.stop_periodic_callback(self.scheduler, NAME)
        metrics.stop_serving(self)

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """Record finished and failed tasks; called by the scheduler on each transition."""
        if start == "processing" and type(key) is tuple and finish in ("memory", "erred"):
            self._record_part(key, failed=finish == "erred")

    def _record_part(self, key: Any, *, failed: bool) -> None:
        if type(key) is tuple and len(key) == 2:
            self.jobs.record_part(key[0], key[1], failed)

    def log_event(self, topic: str, msg: Any) -> None:
        """Record an operation's or run's event; called by the scheduler when a client logs one."""
        if topic == TOPIC:
            self.jobs.receive(msg)

    def remove_client(self, scheduler: Any, client: str) -> None:
        """Record lost operations; called by the scheduler when a client has disconnected."""
        self.jobs.remove_client(client)

    def remove_worker(self, scheduler: Any, worker: str, **kwargs: Any) -> None:
        """Forget a worker; called by the scheduler when it is gone."""
        self.workers.remove(worker)

    def sample(self) -> None:
        """Take a sample; called every ``interval`` seconds."""
        now = time.time()
        self._take_heartbeats()
        self.history.sample(self.scheduler, self.workers, now, self.jobs.progress())
        self.jobs.end_stale(self.scheduler)
        if now - self._pruned > PRUNE_SECONDS:
            self._pruned = now
            pruning.prune(self.scheduler)

    def _take_heartbeats(self) -> None:
        """Take the figures of the workers' last heartbeats."""
        self.workers.update(self.scheduler)
        workers = self.scheduler.workers.values()
        self.jobs.record_counts(partial_counts(worker.metrics for worker in workers))

    def data(self, known: int) -> dict[str, Any]:
        """Return the page's data. known: the number of samples that the page has already."""
        now = time.time()
        self._take_heartbeats()
        scheduler = self.scheduler
        return {
            "version": mgraph.__version__,
            "scheduler": scheduler.address,
            "began": round(self.began, 3),
            "time": round(now, 3),
            "interval": self.interval,
            "window": self.interval * self.history.capacity,
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
            "workers": self.workers.rows(scheduler, now)[:MAX_ROWS],
            "worker_count": len(scheduler.workers),
            "threads": scheduler.total_nthreads,
            "gpus": gpu_rows(scheduler)[:MAX_ROWS],
            **self.jobs.rows(now),
        }


def register(client: Any) -> str | None:
    """Add the monitor to a client's scheduler if it has none; returns a warning if that fails."""
    try:
        client.register_plugin(Monitor())
    except (ImportError, AttributeError) as error:  # the scheduler looks up the plugin's class
        return (
            "warning: this scheduler shows no /mgraph page, since it cannot load mgraph "
            f"{mgraph.__version__} ({_one_line(error)}); install that version for it, too"
        )
    except Exception as error:  # operations work without the page
        return f"warning: this scheduler shows no /mgraph page ({_one_line(error)})"
    return None


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:ERROR_LENGTH]


class _Page(RequestHandler):
    """What both handlers have in common."""

    def initialize(self, scheduler: Any) -> None:
        """Store the handler's options; called by Tornado."""
        self.scheduler = scheduler

    def set_default_headers(self) -> None:
        """Set headers so that browsers store nothing and load no other files; called by Tornado."""
        self.set_header("Cache-Control", "no-store")
        self.set_header("Content-Security-Policy", POLICY)
        self.set_header("X-Content-Type-Options", "nosniff")


class PageHandler(_Page):
    """``/mgraph``."""

    def get(self) -> None:
        """Send the page."""
        self.write(_page())


class DataHandler(_Page):
    """``/mgraph/data``: JSON. ``?since=N`` leaves out the first N samples of the history."""

    def get(self) -> None:
        """Send the figures."""
        since = self.get_query_argument("since", "0")
        known = int(since) if since.isdecimal() and len(since) < 16 else 0
        self.set_header("Content-Type", "application/json; charset=utf-8")
        monitor = self.scheduler.plugins.get(NAME)
        if monitor is None:
            raise HTTPError(404)
        self.write(json.dumps(monitor.data(known), allow_nan=False, separators=(",", ":")))


class LogHandler(_Page):
    """``/mgraph/log?run=ID``: the end of what a submitted workflow has printed, as text."""

    async def get(self) -> None:
        """Send it, or say where it lies."""
        self.set_header("Content-Type", "text/plain; charset=utf-8")
        monitor = self.scheduler.plugins.get(NAME)
        run = monitor and monitor.jobs.run(self.get_query_argument("run", ""))
        if not run:
            raise HTTPError(404)
        output = await IOLoop.current().run_in_executor(None, _read_output, run)
        if output is None:
            host = f" of {run.host}" if run.host else ""
            self.write(
                f"The output of {run.name} lies on a disk{host} that the scheduler does not read.\n"
                f"`mgraph logs {run.name}` shows it.\n"
            )
            return
        self.write(output.decode("utf-8", "replace") or "The workflow has printed nothing yet.\n")


def _read_output(run: Run) -> bytes | None:
    """Return the end of a run's output, from whole lines; None if its folder is elsewhere."""
    try:
        folder = RunFolder(run.folder or "", run.name)
        if not run.folder or not folder.path.is_dir():
            return None
        output = folder.output(-LOG_BYTES)
    except (MgraphError, OSError):
        return None
    cut = output.find(b"\n") + 1 if len(output) == LOG_BYTES else 0
    return output[cut:]


def _page() -> str:
    return (importlib.resources.files(__package__) / "monitor.html").read_text(encoding="utf-8")
