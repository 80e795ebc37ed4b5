"""Become a client of a scheduler that runs, or say in a sentence why not."""

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
from mgraph.distributed.protocol import addresses, dask_internals, settings
from mgraph.errors import ClusterError, UsageError

REFUSED_SECONDS = 2.0  # for a scheduler that is about to listen
_TLS_DOCUMENT = "cluster/security.md"


def located(
    scheduler: str | None, scheduler_file: str | os.PathLike[str] | None
) -> tuple[str, Any, str]:
    """Address, TLS (a ``distributed.Security``, or None for Dask's own) and what to call it.

    The folder of ``mgraph cluster`` has its certificates beside the scheduler's file: those are
    used. Raises UsageError and ClusterError for what is no address or scheduler's file, and where
    there is no certificate for an address of TLS.
    """
    security = None
    if scheduler_file:
        where = os.fspath(scheduler_file)
        address = addresses.in_file(where)
        beside = os.path.join(os.path.dirname(os.path.abspath(where)), "tls")
        if address.startswith("tls://") and (found := certificates.found_in(beside)):
            certificates.told_of(found)
            security = found.security()
    else:
        where = scheduler or ""
        address = addresses.check(where)
    encrypted = address.startswith(("tls://", "wss://"))
    if encrypted and security is None and not settings.certificates_are_set():
        raise ClusterError(
            f"{address} is reached with a certificate, and none is configured; set DASK_CONFIG to "
            "the dask.yaml that mgraph cluster certificates wrote, or give the "
            f"--scheduler-file of mgraph cluster: {_TLS_DOCUMENT}"
        )
    if not encrypted and settings.encryption_is_required() and not address.startswith("inproc"):
        raise UsageError(
            f"Dask's configuration requires encryption, and {address} has none; give its address "
            "as tls://HOST:PORT"
        )
    return address, security, where


def ask(address: str, security: Any, seconds: float, **what: Any) -> Any:
    """One question to the server at an address and its answer; op names the question.

    Raises OSError or TimeoutError where none comes, and what Dask raises for wrong certificates.
    """
    import distributed  # noqa: F401  here, since it sets the levels of loggers

    outcome: list[Any] = []

    def run() -> None:
        try:
            asked = dask_internals.request(address, security, seconds, **what)
            outcome.append(asyncio.run(asyncio.wait_for(asked, seconds)))
        except Exception as error:
            outcome.append(error)

    # A thread of its own, since the caller's may have an event loop, as a notebook's has.
    thread = threading.Thread(target=run, daemon=True, name="mgraph-ask")
    with quiet():
        thread.start()
        thread.join(seconds + 1)
    if not outcome:
        raise TimeoutError(f"no answer within {seconds:g} s")
    if isinstance(outcome[0], Exception):
        raise outcome[0]
    return outcome[0]


@contextlib.contextmanager
def joined(
    scheduler: str | None,
    scheduler_file: str | os.PathLike[str] | None,
    *,
    seconds: float,
    workers_needed: bool,
) -> Iterator[Any]:
    """A ``distributed.Client`` of a running scheduler, which is connected within ``seconds``.

    workers_needed: wait for a worker, within the same time. Raises UsageError and ClusterError.
    """
    from distributed import Client

    deadline = time.monotonic() + seconds
    address, security, where = located(scheduler, scheduler_file)
    _greet(address, security, where, seconds)
    with contextlib.ExitStack() as stack:
        # Later, too: that a connection is lost is told by the errors of those who wait.
        stack.enter_context(_of_clients())
        try:
            with quiet():
                left = max(1.0, deadline - time.monotonic())
                client = stack.enter_context(Client(address, security=security, timeout=left))
        except (OSError, ValueError, ImportError) as error:
            raise ClusterError(_unreachable(where, seconds, error)) from error
        if workers_needed:
            try:
                client.wait_for_workers(1, timeout=max(0.5, deadline - time.monotonic()))
            except TimeoutError:
                raise ClusterError(
                    f"the scheduler at {where} has no workers; start some with dask worker, or "
                    "all anew with mgraph cluster stop and start"
                ) from None
        yield client


def _greet(address: str, security: Any, where: str, seconds: float) -> None:
    """See that a Dask scheduler answers at an address."""
    if address.startswith("tcp://"):
        _check_not_refused(address, where)
    try:
        found = ask(address, security, seconds, op="identity", n_workers=0)
        if isinstance(found, dict) and found.get("status") == "uncaught-error":  # of a worker
            found = ask(address, security, seconds, op="identity")
        kind = found.get("type") if isinstance(found, dict) else None
    except (OSError, TimeoutError) as error:
        if address.startswith("tcp://") and addresses.speaks_tls(address):
            raise ClusterError(
                f"the scheduler at {where} speaks TLS, and this is a plain tcp:// address; use "
                f"tls:// and a certificate: {_TLS_DOCUMENT}"
            ) from error
        raise ClusterError(_unreachable(where, seconds, error)) from error
    except Exception as error:  # whatever speaks there, it is not Dask as we know it
        raise ClusterError(f"what answers at {where} is no Dask scheduler ({error})") from error
    if kind in ("Worker", "Nanny"):
        raise ClusterError(
            f"a {kind.lower()} answers at {where}; give the address of its scheduler"
        )


def _check_not_refused(address: str, where: str) -> None:
    """Nothing listens there: Dask would knock again and again, for all of its time."""
    deadline = time.monotonic() + REFUSED_SECONDS
    while True:
        try:
            socket.create_connection(addresses.host_and_port(address), timeout=1).close()
            return
        except ConnectionRefusedError as error:
            if time.monotonic() > deadline:
                raise ClusterError(_unreachable(where, REFUSED_SECONDS, error)) from error
            time.sleep(0.1)
        except OSError:
            return  # Dask tells what it is


def _unreachable(where: str, seconds: float, error: Exception) -> str:
    cause = _cause(error)
    reason = str(cause).strip() or type(cause).__name__
    if "CERTIFICATE" in reason or "_ALERT_" in reason:
        return (
            f"the scheduler at {where} and this client do not trust each other's certificates "
            f"({reason}); use those of one authority that are valid still: {_TLS_DOCUMENT}"
        )
    return (
        f"no Dask scheduler answers at {where} within {seconds:g} s ({reason}); start one with "
        "mgraph cluster start, or leave the scheduler out to use this machine"
    )


def _cause(error: BaseException) -> BaseException:
    """What the operating system or TLS said at first."""
    while isinstance(error.__cause__, (OSError, TimeoutError)) and str(error.__cause__):
        error = error.__cause__
    return error


class _Quiet:
    """Context managers in which loggers are held at a level; they may overlap, in many threads."""

    def __init__(self, level: int, *names: str) -> None:
        """Change nothing yet."""
        self._level, self._names = level, names
        self._lock = threading.Lock()
        self._open = 0
        self._before: list[int] = []

    @contextlib.contextmanager
    def __call__(self) -> Iterator[None]:
        """The first to enter sets the level, the last to leave restores those that were before."""
        loggers = [logging.getLogger(name) for name in self._names]
        with self._lock:
            if not self._open:
                self._before = [logger.level for logger in loggers]
                for logger in loggers:
                    logger.setLevel(self._level)
            self._open += 1
        try:
            yield
        finally:
            with self._lock:
                self._open -= 1
                if not self._open:
                    for logger, level in zip(loggers, self._before, strict=True):
                        logger.setLevel(level)


# Dask's log lines on what does not work, which is about to be told in a sentence, are lost.
quiet = _Quiet(logging.CRITICAL + 1, "distributed", "tornado", "asyncio")
_of_clients = _Quiet(logging.CRITICAL, "distributed.client", "distributed.batched")
