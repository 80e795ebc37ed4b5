"""The monitor's figures for Prometheus, among the scheduler's own at ``/metrics``.

Dask serves the registry of prometheus-client; nothing is served if that package is not installed.
"""

import time
from collections.abc import Iterator
from typing import Any

from mgraph.core.gauges import COUNTERS
from mgraph.distributed.monitoring.workers import gpu_rows

COUNTER_HELP = {
    "edges": "Edges that tasks have handled",
    "bytes": "Bytes of Parquet files that tasks have written",
    "queries": "Queries that tasks have answered",
}
GPU_METRICS = {
    "use": ("mgraph_gpu_use_percent", "Share of the time in which a kernel ran"),
    "memory": ("mgraph_gpu_memory_bytes", "Memory of the GPU in use"),
    "limit": ("mgraph_gpu_memory_limit_bytes", "Memory of the GPU"),
    "watts": ("mgraph_gpu_watts", "Power that the GPU takes"),
}
LEVEL_HELP = {
    "set_point": "Arcs per iteration that running self-tuning searches aim at",
    "parallelism": "Arcs of the last iteration of running self-tuning searches",
}


class Collector:
    """Yields the figures of the current monitor: a process may have one after another."""

    monitor: Any = None
    is_registered = False

    def collect(self) -> Iterator[Any]:
        """Yield the metrics; called by the registry for each request."""
        from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

        monitor = self.monitor
        if monitor is None:
            return
        scheduler, jobs, workers = monitor.scheduler, monitor.jobs, monitor.workers
        workers.update(scheduler)
        for name in COUNTERS:
            yield CounterMetricFamily(
                f"mgraph_{name}", COUNTER_HELP[name], value=workers.total(name)
            )
        text = "By state; ended ones since the scheduler started"
        for name, running, ended in (
            ("operations", jobs.operations, jobs.counts),
            ("runs", jobs.runs, jobs.run_counts),
        ):
            family = GaugeMetricFamily(f"mgraph_{name}", text, labels=["state"])
            family.add_metric(["running"], len(running))
            for state, count in ended.items():
                family.add_metric([state], count)
            yield family
        yield GaugeMetricFamily(
            "mgraph_parts_done", "Parts finished since the scheduler started", value=jobs.parts_done
        )
        rows = workers.rows(scheduler, time.time())
        for name, text in LEVEL_HELP.items():
            family = GaugeMetricFamily(f"mgraph_{name}", text, labels=["worker"])
            for row in rows:
                if row[name] is not None:
                    family.add_metric([row["address"]], row[name])
            yield family
        devices = gpu_rows(scheduler)
        for figure, (name, text) in GPU_METRICS.items():
            family = GaugeMetricFamily(name, text, labels=["gpu", "host", "name"])
            for gpu in devices:
                if gpu[figure] is not None:
                    family.add_metric([gpu["uuid"], gpu["host"], gpu["name"]], gpu[figure])
            yield family


_collector = Collector()


def start_serving(monitor: Any) -> None:
    """Serve a monitor's figures at ``/metrics``, in place of those of an earlier monitor."""
    try:
        import prometheus_client
    except ImportError:
        return
    _collector.monitor = None
    if not _collector.is_registered:
        prometheus_client.REGISTRY.register(_collector)
        _collector.is_registered = True
    _collector.monitor = monitor


def stop_serving(monitor: Any) -> None:
    """Stop serving a monitor's figures."""
    if _collector.monitor is monitor:
        _collector.monitor = None
