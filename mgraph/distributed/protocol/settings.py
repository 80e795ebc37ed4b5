"""What schedulers and workers that are started here are told to do otherwise than Dask would."""

import contextlib
from collections.abc import Iterator
from typing import Any

SETTINGS: dict[str, Any] = {
    # Our tasks hold no memory when done, so a worker may have several in advance: a thread that is
    # free need not ask for the next. Without a limit, 10,000 parts would flood the workers.
    "distributed.scheduler.worker-saturation": 4.0,
    # Parts that only waited on a worker that was killed count as suspects, too.
    "distributed.scheduler.allowed-failures": 10,
    # A cluster on this machine gives up a worker that is not back within 15 s, for good; where the
    # machine is busy a process takes longer to start, and the run would wait for ever.
    "distributed.deploy.lost-worker-timeout": "1 hour",
    # The profiler holds the interpreter while it looks at every thread; each 10 ms is too often for
    # the many threads of a GPU's worker. Of each cycle it keeps 0.3 MB, and so many of them.
    "distributed.worker.profile.interval": "100ms",
    "distributed.worker.profile.cycle": "10s",
    "distributed.admin.low-level-log-length": 100,
    # What else grows on a cluster that stays up: events of workers and clients that are gone,
    # samples of the machine (each half second: ten minutes of them), and lines of logs.
    "distributed.scheduler.events-cleanup-delay": "60s",
    "distributed.admin.system-monitor.log-length": 1200,
    "distributed.admin.log-length": 1000,
}
_TLS = "distributed.comm.tls"
_TLS_KEYS = [f"{_TLS}.ca-file"] + [
    f"{_TLS}.{role}.{what}"
    for role in ("scheduler", "worker", "client")
    for what in ("cert", "key")
]
_ENCRYPTION = "distributed.comm.require-encryption"


def settings() -> dict[str, Any]:
    """``SETTINGS`` without what the user has set in Dask's configuration, which counts."""
    import dask
    import distributed  # noqa: F401  brings its defaults

    defaults = dask.config.merge(*dask.config.defaults)
    return {
        key: value
        for key, value in SETTINGS.items()
        if dask.config.get(key, None) in (value, dask.config.get(key, None, config=defaults))
    }


@contextlib.contextmanager
def in_force() -> Iterator[None]:
    """``settings`` for the length of a block, in which a scheduler and workers are started."""
    import dask

    with dask.config.set(settings()):
        yield


def encrypted(ca: str, cert: str, key: str) -> dict[str, Any]:
    """Dask's configuration for TLS in every role with one certificate; the arguments are paths."""
    paths = {"ca-file": ca, "cert": cert, "key": key}
    return {_ENCRYPTION: True} | {name: paths[name.rpartition(".")[2]] for name in _TLS_KEYS}


def environment(tls: dict[str, Any] | None = None) -> dict[str, str]:
    """Variables (``DASK_…``) that give a process ``settings`` and this process's TLS certificates.

    tls: certificates other than those of Dask's configuration, as ``encrypted`` names them.
    """
    import dask

    if tls is None:
        found = {key: dask.config.get(key, None) for key in [_ENCRYPTION, *_TLS_KEYS]}
        tls = {key: value for key, value in found.items() if value is not None}
    return {_variable(key): str(value) for key, value in (settings() | tls).items()}


def _variable(key: str) -> str:
    return "DASK_" + key.upper().replace(".", "__").replace("-", "_")


def certificates_are_set() -> bool:
    """Whether Dask's configuration names a certificate for clients and an authority to trust."""
    import dask

    return all(dask.config.get(f"{_TLS}.{name}", None) for name in ("ca-file", "client.cert"))


def encryption_is_required() -> bool:
    """Whether Dask's configuration wants TLS."""
    import dask

    return bool(dask.config.get(_ENCRYPTION, None))
