"""Addresses: of schedulers, given or in a scheduler's file, and of dashboards."""

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

EXAMPLE = "tcp://host:8786"
DASHBOARD_EXAMPLE = "127.0.0.1:8787"
_PRIVATE = ("tls", "wss", "inproc")
_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx", "ucxx", "inproc")
_FILE_SECONDS = 1.0
_MOST_BYTES = 1 << 24  # a file tells of its scheduler's workers, too


def check(address: str) -> str:
    """An address as Dask takes it, with its scheme. Raises UsageError for anything else."""
    scheme, separator, rest = address.partition("://")
    if not separator:
        scheme, rest = "tcp", address
    elif scheme not in _SCHEMES:
        raise UsageError(
            f"a scheduler's address begins with {', '.join(_SCHEMES[:-1])}, as {EXAMPLE}, and is "
            f"{address!r}"
        )
    if scheme == "inproc" and re.fullmatch(r"[^/]+/\d+/\w+", rest):
        return address
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.%\w]+\]|[^\s/:@\[\]]+):(\d{1,5})/?", rest)
    if found is None or not 0 < int(found[2]) < 1 << 16 or not _may_be_host(found[1]):
        raise UsageError(f"a scheduler's address is HOST:PORT, as {EXAMPLE}, not {address!r}")
    return f"{scheme}://{rest.rstrip('/')}"


def in_file(file: str | os.PathLike[str]) -> str:
    """The address in a scheduler's file.

    Raises ClusterError for a file that is missing or holds none, UsageError for what is no file.
    """
    where = os.fspath(file)
    if not os.path.exists(where):
        raise ClusterError(
            f"there is no scheduler file {where}; dask scheduler --scheduler-file {where} writes it"
        )
    if not os.path.isfile(where):
        raise UsageError(f"{where} is no file; a scheduler file is the JSON that a scheduler wrote")
    deadline = time.monotonic() + _FILE_SECONDS
    while True:
        wrong = "it is empty"
        try:
            with open(where, encoding="utf-8") as stream:
                text = stream.read(_MOST_BYTES)
            content: Any = untrusted.parse_json(text) if text.strip() else None
            if isinstance(content, dict) and isinstance(content.get("address"), str):
                return check(content["address"])
            if text.strip():
                wrong = "it has no address"
        except UsageError as error:
            raise ClusterError(f"the scheduler file {where} is not usable: {error}") from None
        except ValueError:
            wrong = "it is no JSON"
        except OSError as error:
            raise ClusterError(
                f"the scheduler file {where} cannot be read: {error.strerror or error}"
            ) from error
        if time.monotonic() > deadline:  # a scheduler writes it in place
            raise ClusterError(
                f"{where} is no scheduler file: {wrong}; dask scheduler --scheduler-file {where} "
                "writes one"
            )
        time.sleep(0.05)


def check_dashboard(dashboard: str) -> str:
    """HOST:PORT as it came. Raises UsageError for anything else."""
    found = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\s/]*):(\d{1,5})", dashboard)
    if found is None or int(found[2]) >= 1 << 16 or not _may_be_host(found[1]):
        raise UsageError(
            f"a dashboard's address is HOST:PORT, as {DASHBOARD_EXAMPLE}, not {dashboard!r}"
        )
    if dashboard.startswith("["):
        raise UsageError(
            f"Dask has no dashboard at an IPv6 address such as {dashboard}; give one of IPv4, as "
            f"{DASHBOARD_EXAMPLE}, or a host's name"
        )
    return dashboard


def _may_be_host(host: str) -> bool:
    """Whether a name's labels are of the length that the domain name system takes."""
    try:
        host.strip("[]").encode("idna")  # as the socket module does
    except UnicodeError:
        return False
    return host.isprintable()


def host_and_port(address: str) -> tuple[str, int]:
    """The two parts of ``scheme://host:port`` or ``host:port``; an empty host is every one."""
    host, _, port = address.rpartition("://")[2].rpartition(":")
    return host.strip("[]"), int(port)


def dashboard_host(listening: Sequence[str], scheduler: str) -> str:
    """The host of a dashboard's link, an IPv6 address in brackets.

    listening: the addresses at which it listens, as far as is known. scheduler: the host at which
    the scheduler is reached, which answers where the dashboard listens on every interface.
    """
    host = scheduler
    if listening and scheduler not in listening and not {"", "::"}.intersection(listening):
        host = listening[0]
        if host == "0.0.0.0":  # every interface, by IPv4
            is_six = ":" in scheduler
            host = "127.0.0.1" if is_six and is_loopback(scheduler) else scheduler
    return f"[{host}]" if ":" in host else host


def is_loopback(host: str) -> bool:
    """Whether a host's name or address leads to this machine alone; "" is every interface."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        pass
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host or "0.0.0.0", None)}
    except OSError:
        return False
    return all(ipaddress.ip_address(one.partition("%")[0]).is_loopback for one in found)


def warning_of_scheduler(address: str) -> str | None:
    """What there is to know of a scheduler that speaks in plain and is not on this machine."""
    scheme = address.partition("://")[0]
    if scheme in _PRIVATE or is_loopback(host_and_port(address)[0]):
        return None
    return (
        f"warning: {address} is not encrypted, and anyone who reaches it can run code on the "
        "workers; use TLS: cluster/security.md"
    )


def warning_of_dashboard(dashboard: str) -> str | None:
    """What there is to know of a dashboard that other machines reach."""
    if is_loopback(host_and_port(dashboard)[0]):
        return None
    return (
        f"warning: the dashboard at {dashboard} has no password, and shows anyone who reaches it "
        "what runs here; listen on 127.0.0.1 and use an ssh tunnel: cluster/security.md"
    )


def speaks_tls(address: str, seconds: float = 2.0) -> bool:
    """Whether what listens at an address answers a TLS client's first words."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        with (
            socket.create_connection(host_and_port(address), timeout=seconds) as plain,
            context.wrap_socket(plain),
        ):
            return True
    except ssl.SSLError as error:
        return "ALERT" in str(error.reason)
    except OSError:
        return False
