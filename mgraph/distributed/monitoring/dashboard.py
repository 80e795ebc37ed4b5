"""The address of Dask's dashboard, and a dashboard that is mounted on the first request.

Importing it (Bokeh) takes half a second of a core, a fifth of the time for a graph of 10^8 edges.
"""

from typing import Any

from mgraph.distributed.protocol import dask_internals
from mgraph.distributed.protocol.addresses import dashboard_host, host_and_port
from mgraph.distributed.protocol.broadcast import on_scheduler

ANSWER_SECONDS = 3.0


def find_link(client: Any) -> str | None:
    """Return the address at which the dashboard of a client's scheduler listens, or None.

    Dask's own link has the scheduler's host, which may be another one, and cuts an IPv6 address.
    """
    try:
        port = client.scheduler_info(n_workers=0)["services"].get("dashboard")
        address = client.scheduler.address
    except (AttributeError, KeyError, OSError, TypeError):  # the client is closed
        return None
    if not port:
        return None
    host = "localhost" if address.startswith("inproc") else host_and_port(address)[0]
    try:
        function = dask_internals.listening_hosts_on_scheduler()
        hosts = on_scheduler(client, function, seconds=ANSWER_SECONDS)
    except Exception:  # the scheduler is busy, or of another version
        hosts = []
    return dask_internals.dashboard_link(dashboard_host(hosts, host), port)


class LazyDashboard:
    """Mounts Dask's dashboard on the first request that the scheduler has no other page for.

    It stands in the web server's list of applications, each of which is asked for a page in turn.
    """

    def __init__(self, scheduler: Any) -> None:
        """Add itself to the scheduler's web server."""
        self._scheduler = scheduler
        dask_internals.add_application(scheduler, self)

    def find_handler(self, request: Any, **kwargs: Any) -> Any:
        """Mount the dashboard in this object's place and let it answer the request."""
        application = dask_internals.replace_with_dashboard(self._scheduler, self)
        return application.find_handler(request, **kwargs)
