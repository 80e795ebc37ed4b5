"""Dask's dashboard, mounted when somebody first looks at it.

Importing it (Bokeh) takes half a second of a core, a fifth of what a graph of 10^8 edges takes.
"""

from typing import Any


class LazyDashboard:
    """Takes the requests that a scheduler's web server has no page for, and then mounts the pages.

    It stands in the server's list of applications, each of which is asked for a page in turn
    (``distributed.http.routing.RoutingApplication``).
    """

    def __init__(self, scheduler: Any) -> None:
        """Add itself to the scheduler's web server."""
        self._scheduler = scheduler
        scheduler.http_application.add_application(self)

    def find_handler(self, request: Any, **kwargs: Any) -> Any:
        """Mount the dashboard in this object's place and let it answer."""
        from distributed.dashboard.scheduler import connect

        application = self._scheduler.http_application
        application.applications.remove(self)
        connect(application, self._scheduler.http_server, self._scheduler)
        return application.find_handler(request, **kwargs)
