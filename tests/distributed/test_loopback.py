"""The servers that a command starts for itself listen on this machine alone."""

import contextlib
import os

import psutil


def listening(pid):
    process = psutil.Process(pid)
    found = set()
    for one in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            connections = one.net_connections("inet")
            found |= {c.laddr.ip for c in connections if c.status == psutil.CONN_LISTEN}
    return found


def test_scheduler_workers_and_dashboards_listen_on_loopback(cluster):
    assert cluster.client.dashboard_link.startswith("http://127.0.0.1:")
    assert listening(os.getpid()) == {"127.0.0.1"}
    for address in cluster.client.scheduler_info(n_workers=-1)["workers"]:
        assert address.startswith("tcp://127.0.0.1:")
