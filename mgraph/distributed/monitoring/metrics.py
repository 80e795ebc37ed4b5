"""The monitor's figures for Prometheus, among the scheduler's own at ``/metrics``.

Dask serves prometheus-client's registry; without that package installed there is nothing to serve.
"""

import time
from collections.abc import Iterator
from typing import Any

from mgraph.core.gauges import COUNTERS
from mgraph.distributed.monitoring.workers import gpus

TOLD = {
    "edges": "Edges that tasks have handled",
    "bytes": "Bytes of Parquet files that tasks have written",
    "queries": "Queries that tasks have answered",
}
GPU_TOLD = {
    "use": ("mgraph_gpu_use_percent", "Share of the time in which a kernel ran"),
    "memory": ("mgraph_gpu_memory_bytes", "Memory of the GPU in use"),
    "limit": ("mgraph_gpu_memory_limit_bytes", "Memory of the GPU"),
    "watts": ("mgraph_gpu_watts", "Power that the GPU takes"),
}
LEVELS_TOLD = {
    "set_point": "Arcs an iteration that running self-tuning searches aim at",
    "parallelism": "Arcs of the last iteration of running self-tuning searches",
}


class Collector:
    """Tells the figures of the monitor that is served: a process may have one after another."""

    monitor: Any = None
    registered = False

    def collect(self) -> Iterator[Any]:
        """Called by the registry for each request."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        monitor = self.monitor
        if monitor is None:
            return
        scheduler, jobs, workers = monitor.scheduler, monitor.jobs, monitor.workers
        workers.look(scheduler)
        for name in COUNTERS:
            yield CounterMetricFamily(f"mgraph_{name}", TOLD[name], value=workers.total(name))
        told = "Those that run, and those that ended since the scheduler began"
        for what, running, ended in (
            ("operations", jobs.operations, jobs.counts),
            ("runs", jobs.runs, jobs.run_counts),
        ):
            family = GaugeMetricFamily(f"mgraph_{what}", told, labels=["state"])
            family.add_metric(["running"], len(running))
            for state, count in ended.items():
                family.add_metric([state], count)
            yield family
        yield GaugeMetricFamily(
            "mgraph_parts_done", "Parts finished since the scheduler began", value=jobs.parts_done
        )
        rows = workers.rows(scheduler, time.time())
        for name, text in LEVELS_TOLD.items():
            family = GaugeMetricFamily(f"mgraph_{name}", text, labels=["worker"])
            for row in rows:
                if row[name] is not None:
                    family.add_metric([row["address"]], row[name])
            yield family
        devices = gpus(scheduler)
        for what, (name, text) in GPU_TOLD.items():
            family = GaugeMetricFamily(name, text, labels=["gpu", "host", "name"])
            for gpu in devices:
                if gpu[what] is not None:
                    family.add_metric([gpu["uuid"], gpu["host"], gpu["name"]], gpu[what])
            yield family


_collector = Collector()


def serve(monitor: Any) -> None:
    """Have ``/metrics`` tell a monitor's figures, in place of those of one before."""
    try:
        import prometheus_client
    except ImportError:
        return
    _collector.monitor = None
    if not _collector.registered:
        prometheus_client.REGISTRY.register(_collector)
        _collector.registered = True
    _collector.monitor = monitor


def leave(monitor: Any) -> None:
    """Stop telling them."""
    if _collector.monitor is monitor:
        _collector.monitor = None
