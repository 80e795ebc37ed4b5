"""Dask's settings that mgraph changes for the schedulers and workers that it starts."""

import contextlib
from collections.abc import Iterator
from typing import Any

SETTINGS: dict[str, Any] = {
    # A finished task of ours holds no memory, so a worker may have several tasks in advance: a free
    # thread then need not ask for the next one. Without a limit, 10,000 parts would flood workers.
    "distributed.scheduler.worker-saturation": 4.0,
    # A part that only waited on a worker that was killed counts as a suspect, too.
    "distributed.scheduler.allowed-failures": 10,
    # A cluster on this machine gives up a worker that is not back within 15 s, for ever; on a busy
    # machine a process takes longer to start, and the run would wait for it without end.
    "distributed.deploy.lost-worker-timeout": "1 hour",
    # The profiler holds the interpreter's lock while it samples every thread; every 10 ms is too
    # often for the many threads of a GPU's worker. It keeps 0.3 MB per cycle.
    "distributed.worker.profile.interval": "100ms",
    "distributed.worker.profile.cycle": "10s",
    "distributed.admin.low-level-log-length": 100,
    # What else grows in a cluster that stays up: events of workers and clients that are gone,
    # samples of the machine (one per half second, for ten minutes), and lines of logs.
    "distributed.scheduler.events-cleanup-delay": "60s",
    "distributed.admin.system-monitor.log-length": 1200,
    "distributed.admin.log-length": 1000,
}
_TLS = "distributed.comm.tls"
_TLS_KEYS = [f"{_TLS}.ca-file"] + [
    f"{_TLS}.{role}.{file}"
    for role in ("scheduler", "worker", "client")
    for file in ("cert", "key")
]
_ENCRYPTION = "distributed.comm.require-encryption"


def settings() -> dict[str, Any]:
    """Return ``SETTINGS`` without those that the user has set in Dask's configuration."""
    import dask
    import distributed  # noqa: F401  it adds its defaults to the configuration

    defaults = dask.config.merge(*dask.config.defaults)
    return {
        key: value
        for key, value in SETTINGS.items()
        if dask.config.get(key, None) in (value, dask.config.get(key, None, config=defaults))
    }


@contextlib.contextmanager
def applied() -> Iterator[None]:
    """Apply ``settings`` for the length of a block, in which a scheduler and workers start."""
    import dask

    with dask.config.set(settings()):
        yield


def tls_settings(ca: str, cert: str, key: str) -> dict[str, Any]:
    """Return Dask's settings for TLS with one certificate in every role, from the files' paths."""
    paths = {"ca-file": ca, "cert": cert, "key": key}
    return {_ENCRYPTION: True} | {name: paths[name.rpartition(".")[2]] for name in _TLS_KEYS}


def environment(tls: dict[str, Any] | None = None) -> dict[str, str]:
    """Return variables ``DASK_…`` that give a process ``settings`` and this process's certificates.

    tls: in place of the certificates in Dask's configuration, what ``tls_settings`` returns.
    """
    import dask

    if tls is None:
        values = {key: dask.config.get(key, None) for key in [_ENCRYPTION, *_TLS_KEYS]}
        tls = {key: value for key, value in values.items() if value is not None}
    return {_variable(key): str(value) for key, value in (settings() | tls).items()}


def _variable(key: str) -> str:
    return "DASK_" + key.upper().replace(".", "__").replace("-", "_")


def certificates_are_set() -> bool:
    """Return whether Dask's configuration names a client's certificate and what it trusts."""
    import dask

    return all(dask.config.get(f"{_TLS}.{name}", None) for name in ("ca-file", "client.cert"))


def encryption_is_required() -> bool:
    """Return whether Dask's configuration requires TLS."""
    import dask

    return bool(dask.config.get(_ENCRYPTION, None))
