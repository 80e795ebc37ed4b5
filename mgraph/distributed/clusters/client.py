"""Connect a client to a running scheduler, or say in a sentence why that is not possible."""

import asyncio
import contextlib
import logging
import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

from mgraph.distributed.clusters import certificates
from mgraph.distributed.clusters.dask_objects import OWN_CLIENTS
from mgraph.distributed.protocol import addresses, dask_internals, settings
from mgraph.errors import ClusterError, UsageError

REFUSED_SECONDS = 2.0  # for a scheduler that is about to listen
_TLS_DOCUMENT = "cluster/security.md"


def resolve_scheduler(
    scheduler: str | None, scheduler_file: str | os.PathLike[str] | None, security: Any = None
) -> tuple[str, Any, str]:
    """Return a scheduler's address, its TLS settings, and its name in messages.

    The TLS settings are a ``distributed.Security``, or None for those of Dask's configuration;
    security: given ones. The folder of ``mgraph cluster`` has certificates beside the scheduler
    file, which are used. Raises UsageError and ClusterError for what is not an address or a
    scheduler file, and for an encrypted address without a certificate.
    """
    if scheduler_file:
        name = os.fspath(scheduler_file)
        address = addresses.read_scheduler_file(name)
        folder = os.path.join(os.path.dirname(os.path.abspath(name)), "tls")
        if address.startswith("tls://") and (own := certificates.find(folder)):
            certificates.expiry_warning(own)
            security = own.security()
    else:
        name = scheduler or ""
        address = addresses.normalize_address(name)
    is_encrypted = address.startswith(("tls://", "wss://"))
    if is_encrypted and security is None and not settings.certificates_are_set():
        raise ClusterError(
            f"{address} requires a client with a certificate, and none is configured; set "
            "DASK_CONFIG to the dask.yaml that mgraph cluster certificates wrote, or give the "
            f"scheduler file of mgraph cluster (`scheduler_file=FILE`): {_TLS_DOCUMENT}"
        )
    if not is_encrypted and settings.encryption_is_required() and not address.startswith("inproc"):
        raise UsageError(
            f"Dask's configuration requires encryption, and {address} has none; give an address "
            "such as tls://HOST:PORT"
        )
    return address, security, name


def request(address: str, security: Any, seconds: float, **message: Any) -> Any:
    """Send one request to the server at an address and return its reply; ``op`` names a handler.

    Raises OSError or TimeoutError without a reply, and what Dask raises for wrong certificates.
    """
    import distributed  # noqa: F401  here, since it sets the levels of loggers

    outcome: list[Any] = []

    def run() -> None:
        try:
            reply = dask_internals.request(address, security, seconds, **message)
            outcome.append(asyncio.run(asyncio.wait_for(reply, seconds)))
        except Exception as error:
            outcome.append(error)

    # The request has its own thread: the caller's may run an event loop, as in a notebook.
    thread = threading.Thread(target=run, daemon=True, name="mgraph-request")
    with quiet_logs():
        thread.start()
        thread.join(seconds + 1)
    if not outcome:
        raise TimeoutError(f"no answer within {seconds:g} s")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


@contextlib.contextmanager
def open_client(
    scheduler: str | None,
    scheduler_file: str | os.PathLike[str] | None,
    *,
    seconds: float,
    workers_needed: bool,
    silent: bool,
    security: Any = None,
) -> Iterator[Any]:
    """Connect a ``distributed.Client`` to a running scheduler within ``seconds``.

    workers_needed: also wait for a worker, within the same time. security: the TLS settings; by
    default those of the scheduler file, or of Dask's configuration. silent: do not print what tasks
    give to ``distributed.print`` and ``warn``, which reaches every client. Raises UsageError,
    ClusterError.
    """
    from distributed import Client

    deadline = time.monotonic() + seconds
    address, security, name = resolve_scheduler(scheduler, scheduler_file, security)
    _handshake(address, security, name, seconds)
    with contextlib.ExitStack() as stack:
        # For as long as the client: an operation reports a lost connection in its own error.
        stack.enter_context(_quiet_client_logs())
        try:
            remaining = max(1.0, deadline - time.monotonic())
            make_client = _make_silent_client if silent else Client
            with quiet_logs():
                client = make_client(address, security=security, timeout=remaining)
                OWN_CLIENTS.add(client)
                stack.enter_context(client)
            dask_internals.close_stream_with(client)
        except (OSError, ValueError, ImportError) as error:
            raise ClusterError(_unreachable(name, seconds, error)) from error
        if workers_needed:
            try:
                client.wait_for_workers(1, timeout=max(0.5, deadline - time.monotonic()))
            except TimeoutError:
                raise ClusterError(
                    f"the scheduler at {name} has no workers; start some with dask worker, or "
                    "start the whole cluster again with mgraph cluster stop and start"
                ) from None
        yield client


def _make_silent_client(*arguments: Any, **options: Any) -> Any:
    """Make a client that never subscribes to the topics whose events every client prints."""
    from distributed import Client

    class SilentClient(Client):
        def subscribe_topic(self, topic: str, handler: Any) -> None:
            if topic not in ("print", "warn"):
                super().subscribe_topic(topic, handler)

    return SilentClient(*arguments, **options)


def _handshake(address: str, security: Any, name: str, seconds: float) -> None:
    """Raise ClusterError unless a Dask scheduler answers at an address."""
    if address.startswith("tcp://"):
        _check_not_refused(address, name)
    try:
        reply = request(address, security, seconds, op="identity", n_workers=0)
        # A worker's handler of the same name takes no ``n_workers``.
        if isinstance(reply, dict) and reply.get("status") == "uncaught-error":
            reply = request(address, security, seconds, op="identity")
        server = reply.get("type") if isinstance(reply, dict) else None
    except (OSError, TimeoutError) as error:
        if address.startswith("tcp://") and addresses.speaks_tls(address):
            raise ClusterError(
                f"the scheduler at {name} speaks TLS, and this is an unencrypted tcp:// address; "
                f"use tls:// and a certificate: {_TLS_DOCUMENT}"
            ) from error
        raise ClusterError(_unreachable(name, seconds, error)) from error
    except Exception as error:  # the server speaks another protocol, or another version of Dask's
        raise ClusterError(f"no Dask scheduler answers at {name}, but something else ({error})"
                           ) from error  # fmt: skip
    if server in ("Worker", "Nanny"):
        raise ClusterError(
            f"a {server.lower()} answers at {name}; give the address of its scheduler"
        )


def _check_not_refused(address: str, name: str) -> None:
    """Raise ClusterError if nothing listens at an address: Dask would retry until its timeout."""
    deadline = time.monotonic() + REFUSED_SECONDS
    while True:
        try:
            socket.create_connection(addresses.host_and_port(address), timeout=1).close()
            return
        except ConnectionRefusedError as error:
            if time.monotonic() > deadline:
                raise ClusterError(_unreachable(name, REFUSED_SECONDS, error)) from error
            time.sleep(0.1)
        except OSError:
            return  # Dask's own attempt to connect reports it


def _unreachable(name: str, seconds: float, error: Exception) -> str:
    cause = _first_cause(error)
    reason = str(cause).strip() or type(cause).__name__
    if "CERTIFICATE" in reason or "_ALERT_" in reason:
        return (
            f"the scheduler at {name} and this client do not trust each other's certificates "
            f"({reason}); use the same valid certificate: {_TLS_DOCUMENT}"
        )
    return (
        f"no Dask scheduler answers at {name} within {seconds:g} s ({reason}); start one with "
        "mgraph cluster start, or leave the scheduler out to use this machine"
    )


def _first_cause(error: BaseException) -> BaseException:
    """Return the error of the operating system or of TLS that a chain of errors begins with."""
    while isinstance(error.__cause__, (OSError, TimeoutError)) and str(error.__cause__):
        error = error.__cause__
    return error


class _LogLevels:
    """A context that holds loggers at a level; contexts may overlap, in several threads."""

    def __init__(self, level: int, *names: str) -> None:
        """Change nothing yet."""
        self._level, self._names = level, names
        self._lock = threading.Lock()
        self._contexts = 0
        self._before: list[int] = []

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """Set the level on the first entry, and restore the former levels on the last exit."""
        loggers = [logging.getLogger(name) for name in self._names]
        with self._lock:
            if not self._contexts:
                self._before = [logger.level for logger in loggers]
                for logger in loggers:
                    logger.setLevel(self._level)
            self._contexts += 1
        try:
            yield
        finally:
            with self._lock:
                self._contexts -= 1
                if not self._contexts:
                    for logger, level in zip(loggers, self._before, strict=True):
                        logger.setLevel(level)


# Hides Dask's log lines on a failure that an error of mgraph is about to report.
quiet_logs = _LogLevels(logging.CRITICAL + 1, "distributed", "tornado", "asyncio")
_quiet_client_logs = _LogLevels(logging.CRITICAL, "distributed.client", "distributed.batched")
