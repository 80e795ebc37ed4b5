"""The printed address of the dashboard is one at which the dashboard answers."""

import io
import socket
import urllib.request

import pytest

import mgraph
from mgraph.distributed.clusters import background_cluster
from mgraph.distributed.clusters.cluster_status import status
from mgraph.distributed.protocol import addresses


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


needs_ipv6 = pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")


def answers(link):
    with urllib.request.urlopen(link.replace("/status", "/mgraph"), timeout=20) as page:
        return page.status == 200


@pytest.mark.parametrize(
    ("host", "dashboard", "begins"),
    [
        ("127.0.0.1", "127.0.0.1:0", "http://127.0.0.1:"),
        ("127.0.0.1", ":0", "http://127.0.0.1:"),
        pytest.param("::1", "127.0.0.1:0", "http://127.0.0.1:", marks=needs_ipv6),
        pytest.param("::1", ":0", "http://127.0.0.1:", marks=needs_ipv6),
    ],
)
def test_the_link_of_a_cluster_in_the_background(tmp_path, host, dashboard, begins):
    home = background_cluster.start(
        workers=1, backend="cpu", host=host, dashboard=dashboard, folder=tmp_path
    )
    try:
        stream = io.StringIO()
        with mgraph.connect(scheduler_file=home.scheduler_file, announce=stream) as cluster:
            link = cluster.dashboard
            assert answers(link)
        assert status(home.path).dashboard == link
        assert link.startswith(begins)
        assert link.endswith("/status")
        assert f"dashboard {link}\n" in stream.getvalue()
    finally:
        background_cluster.stop(home.path)


@pytest.mark.parametrize("dashboard", ["[::1]:0", "[::]:8787"])
def test_a_dashboard_at_an_ipv6_address_is_refused(tmp_path, dashboard):
    for start in (
        lambda: mgraph.connect(workers=1, backend="cpu", dashboard=dashboard).__enter__(),
        lambda: background_cluster.start(dashboard=dashboard, folder=tmp_path, backend="cpu"),
    ):
        with pytest.raises(mgraph.UsageError, match="no dashboard at an IPv6 address"):
            start()


@pytest.mark.parametrize(
    ("listening", "scheduler", "host"),
    [
        ([], "10.0.0.1", "10.0.0.1"),
        ([], "::1", "[::1]"),
        (["10.0.0.1"], "10.0.0.1", "10.0.0.1"),
        (["127.0.0.1"], "10.0.0.1", "127.0.0.1"),
        (["0.0.0.0"], "10.0.0.1", "10.0.0.1"),
        (["0.0.0.0", "::"], "fd00::7", "[fd00::7]"),
        (["::"], "10.0.0.1", "10.0.0.1"),
        ([""], "::1", "[::1]"),
        (["0.0.0.0"], "::1", "127.0.0.1"),
        (["127.0.0.1"], "::1", "127.0.0.1"),
        (["fd00::7"], "10.0.0.1", "[fd00::7]"),
        (["node-3"], "10.0.0.1", "node-3"),
    ],
)
def test_the_host_of_a_link(listening, scheduler, host):
    assert addresses.dashboard_host(listening, scheduler) == host
