"""What the workers of a cluster offer, and whether they have this version of mgraph."""

from dataclasses import dataclass
from typing import Any

import mgraph
from mgraph.core import backend as backends
from mgraph.core.host import available_memory
from mgraph.distributed.protocol.broadcast import on_workers, run_coroutine
from mgraph.distributed.protocol.dask_internals import thread_and_memory_limits
from mgraph.distributed.protocol.failures import explained
from mgraph.errors import ClusterError
from mgraph.installation import install_command

SURVEY_SECONDS = 60  # a GPU's worker may have to initialize CUDA and CuPy


@dataclass(frozen=True)
class Survey:
    """What one worker offers: threads, free bytes of host and device memory, GPUs, its version."""

    threads: int
    host_bytes: int
    device_bytes: int
    gpus: int
    version: str


def survey(with_devices: bool, dask_worker: Any) -> Survey:
    """Runs on each worker: return what it offers.

    with_devices: measure a GPU's memory, which starts the device: half a gigabyte, a third second.
    """
    gpus = backends.gpu_count()
    device_bytes = 0
    if gpus and with_devices:
        from mgraph.cuda.memory import free_bytes

        device_bytes = free_bytes()
    threads, limit = thread_and_memory_limits(dask_worker)
    return Survey(
        threads=threads,
        host_bytes=available_memory(limit),
        device_bytes=device_bytes,
        gpus=gpus,
        version=mgraph.__version__,
    )


def survey_workers(client: Any, with_devices: bool) -> dict[str, Survey]:
    """Return what each worker offers. Raises ClusterError for other versions, and no answer."""

    async def ask() -> Any:
        return await client.run(survey, with_devices, asynchronous=True)

    try:
        surveys: dict[str, Survey] = run_coroutine(client, ask, seconds=SURVEY_SECONDS)
    except TimeoutError as error:
        raise ClusterError(
            f"not every worker answered within {SURVEY_SECONDS} s; run mgraph doctor with the same "
            "scheduler to see which did not"
        ) from error
    except (ImportError, AttributeError) as error:
        raise _cannot_load(error) from error
    except Exception as error:
        raise explained(error, "the survey of the workers") from error
    if not surveys:
        raise ClusterError("the cluster has lost its workers; see their logs, and start them again")
    _check_versions({worker.version for worker in surveys.values()})
    return surveys


def _version() -> str:
    """Runs on each worker."""
    return mgraph.__version__


def check_workers(client: Any) -> None:
    """Raise ClusterError if a worker that answers has no mgraph, or another version."""
    answers = list(on_workers(client, _version).values())
    for answer in answers:
        if isinstance(answer, Exception):
            raise _cannot_load(answer) from answer
    _check_versions(set(answers))


def _cannot_load(error: Exception) -> ClusterError:
    return ClusterError(
        f"the cluster's workers cannot load mgraph {mgraph.__version__} ({error}); install the "
        f"same version on every worker: {install_command()}. (The mgraph of PyPI is another "
        "project.)"
    )


def _check_versions(versions: set[str]) -> None:
    others = versions - {mgraph.__version__}
    if others:
        raise ClusterError(
            f"this is mgraph {mgraph.__version__}, the workers have {', '.join(sorted(others))}; "
            "install the same version everywhere"
        )
