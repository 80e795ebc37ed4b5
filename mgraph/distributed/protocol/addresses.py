"""Addresses of schedulers, given as text or in a scheduler file, and of dashboards."""

import ipaddress
import os
import re
import socket
import ssl
import time
from collections.abc import Sequence
from typing import Any

from mgraph.errors import ClusterError, UsageError
from mgraph.io import untrusted

SCHEDULER_EXAMPLE = "tcp://host:8786"
DASHBOARD_EXAMPLE = "127.0.0.1:8787"
_PRIVATE_SCHEMES = ("tls", "wss", "inproc")
_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx", "ucxx", "inproc")
_FILE_SECONDS = 1.0  # for a scheduler that is writing its file
_FILE_BYTES = 1 << 24  # of a scheduler file, which also describes the workers


def normalize_address(address: str) -> str:
    """Return a scheduler's address with its scheme, as Dask takes it. Raises UsageError."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        scheme, rest = "tcp", address
    elif scheme not in _SCHEMES:
        raise UsageError(
            f"a scheduler's address must begin with one of {', '.join(_SCHEMES[:-1])}, as in "
            f"{SCHEDULER_EXAMPLE} (got {address!r})"
        )
    if scheme == "inproc" and re.fullmatch(r"[^/]+/\d+/\w+", rest):
        return address
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.%\w]+\]|[^\s/:@\[\]]+):(\d{1,5})/?", rest)
    if match is None or not 0 < int(match[2]) < 1 << 16 or not _is_valid_host(match[1]):
        raise UsageError(
            f"a scheduler's address must be HOST:PORT, as in {SCHEDULER_EXAMPLE} (got {address!r})"
        )
    return f"{scheme}://{rest.rstrip('/')}"


def read_scheduler_file(file: str | os.PathLike[str]) -> str:
    """Return the address in a scheduler file.

    Raises ClusterError for a file that is missing or has no address, UsageError for a folder.
    """
    path = os.fspath(file)
    if not os.path.exists(path):
        raise ClusterError(
            f"scheduler file not found: {path}; start a cluster with mgraph cluster start, or a "
            f"scheduler with dask scheduler --scheduler-file {path}"
        )
    if not os.path.isfile(path):
        raise UsageError(f"{path} is not a file; give the JSON file that a scheduler wrote")
    deadline = time.monotonic() + _FILE_SECONDS
    while True:
        problem = "it is empty"
        try:
            with open(path, encoding="utf-8") as stream:
                text = stream.read(_FILE_BYTES)
            content: Any = untrusted.parse_json(text) if text.strip() else None
            if isinstance(content, dict) and isinstance(content.get("address"), str):
                return normalize_address(content["address"])
            if text.strip():
                problem = "it has no address"
        except UsageError as error:
            raise ClusterError(f"the scheduler file {path} is not usable: {error}") from None
        except ValueError:
            problem = "it is not JSON"
        except OSError as error:
            raise ClusterError(
                f"the scheduler file {path} cannot be read: {error.strerror or error}"
            ) from error
        if time.monotonic() > deadline:  # a scheduler does not write its file atomically
            raise ClusterError(
                f"{path} is not a scheduler file: {problem}; dask scheduler --scheduler-file "
                f"{path} writes one"
            )
        time.sleep(0.05)


def check_dashboard(dashboard: str) -> str:
    """Return HOST:PORT unchanged. Raises UsageError for anything else."""
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\s/]*):(\d{1,5})", dashboard)
    if match is None or int(match[2]) >= 1 << 16 or not _is_valid_host(match[1]):
        raise UsageError(
            f"a dashboard's address must be HOST:PORT, as in {DASHBOARD_EXAMPLE} "
            f"(got {dashboard!r})"
        )
    if dashboard.startswith("["):
        raise UsageError(
            f"Dask has no dashboard at an IPv6 address such as {dashboard}; give an IPv4 address, "
            f"as in {DASHBOARD_EXAMPLE}, or a host name"
        )
    return dashboard


def _is_valid_host(host: str) -> bool:
    """Return whether a name's labels have a length that the domain name system takes."""
    try:
        host.strip("[]").encode("idna")  # as the socket module does
    except UnicodeError:
        return False
    return host.isprintable()


def host_and_port(address: str) -> tuple[str, int]:
    """Split ``scheme://host:port`` or ``host:port``; an empty host means every interface."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    return host.strip("[]"), int(port)


def dashboard_host(listening: Sequence[str], scheduler: str) -> str:
    """Return the host for a dashboard's link, an IPv6 address in brackets.

    listening: the addresses at which the dashboard listens, as far as they are known. scheduler:
    the host at which the scheduler is reached; the dashboard answers there as well if it listens on
    every interface.
    """
    host = scheduler
    if listening and scheduler not in listening and not {"", "::"}.intersection(listening):
        host = listening[0]
        if host == "0.0.0.0":  # every interface, by IPv4
            is_ipv6 = ":" in scheduler
            host = "127.0.0.1" if is_ipv6 and is_loopback(scheduler) else scheduler
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Return whether a host's name or address reaches this machine alone.

    The empty host stands for every interface.
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        entries = socket.getaddrinfo(host or "0.0.0.0", None)
    except OSError:
        return False
    addresses = {str(entry[4][0]).partition("%")[0] for entry in entries}
    return all(ipaddress.ip_address(address).is_loopback for address in addresses)


def scheduler_warning(address: str) -> str | None:
    """Return a warning for a scheduler on the network whose traffic is not encrypted, or None."""
    scheme = address.partition("://")[0]
    if scheme in _PRIVATE_SCHEMES or is_loopback(host_and_port(address)[0]):
        return None
    return (
        f"warning: {address} is not encrypted, and anyone who reaches it can run code on the "
        "workers; use TLS: cluster/security.md"
    )


def dashboard_warning(dashboard: str) -> str | None:
    """Return a warning for a dashboard that other machines can reach, or None."""
    if is_loopback(host_and_port(dashboard)[0]):
        return None
    return (
        f"warning: the dashboard at {dashboard} has no password, and shows anyone who reaches it "
        "what runs here; listen on 127.0.0.1 and use an ssh tunnel: cluster/security.md"
    )


def speaks_tls(address: str, seconds: float = 2.0) -> bool:
    """Return whether the server at an address answers a TLS handshake."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(host_and_port(address), timeout=seconds) as connection,
            context.wrap_socket(connection),
        ):
            return True
    except ssl.SSLError as error:
        return "ALERT" in str(error.reason)
    except OSError:
        return False
