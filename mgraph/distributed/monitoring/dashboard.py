"""Dask's dashboard: its address, and how it is mounted when somebody first looks at it.

Importing it (Bokeh) takes half a second of a core, a fifth of what a graph of 10^8 edges takes.
"""

from typing import Any

from mgraph.distributed.protocol import dask_internals
from mgraph.distributed.protocol.addresses import dashboard_host, host_and_port
from mgraph.distributed.protocol.broadcast import on_scheduler

ASK_SECONDS = 3.0


def link_of(client: Any) -> str | None:
    """The address of the dashboard of a client's scheduler, where it listens; None without one.

    Dask would take the scheduler's host, which may be another, and cuts an IPv6 address.
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
        found = on_scheduler(client, function, seconds=ASK_SECONDS)
    except Exception:  # a scheduler that is busy, or of another version
        found = []
    return dask_internals.dashboard_link(dashboard_host(found, host), port)


class LazyDashboard:
    """Takes the requests that a scheduler's web server has no page for, and then mounts the pages.

    It stands in the server's list of applications, each of which is asked for a page in turn
    (``distributed.http.routing.RoutingApplication``).
    """

    def __init__(self, scheduler: Any) -> None:
        """Add itself to the scheduler's web server."""
        self._scheduler = scheduler
        dask_internals.add_application(scheduler, self)

    def find_handler(self, request: Any, **kwargs: Any) -> Any:
        """Mount the dashboard in this object's place and let it answer."""
        application = dask_internals.replace_with_dashboard(self._scheduler, self)
        return application.find_handler(request, **kwargs)
