"""What ``mgraph doctor`` runs in the processes of a cluster.

These functions are sent by value, since a worker may have another mgraph or none: they use the
standard library, and what else they need inside a ``try``. They return what is plain, no classes.
"""

import asyncio
import ctypes
import importlib
import importlib.metadata
import os
import shutil
import sys
import time
from typing import Any

PACKAGES = ("mgraph", "dask", "distributed", "numpy", "numba", "pyarrow", "cupy")
LOOK_SECONDS = 4.0  # a network's file system shows a new file after a while


async def examine(
    out: str | None = None,
    probe: str | None = None,
    token: str = "",
    dask_worker: Any = None,
    dask_scheduler: Any = None,
) -> dict[str, Any]:
    """Everything about this process. probe: a file in ``out`` that the client wrote ``token`` to.

    A file system that hangs holds a thread up, and not the process.
    """
    return await asyncio.to_thread(examined, out, probe, token, dask_worker)


def examined(
    out: str | None = None, probe: str | None = None, token: str = "", worker: Any = None
) -> dict[str, Any]:
    """``examine``, in the caller's thread."""
    began = time.time()
    found = {
        "python": ".".join(map(str, sys.version_info[:3])),
        "packages": {name: version_of(name) for name in PACKAGES},
        **cores(),
        **memory(worker),
        "gpus": gpus(),
    }
    if worker is not None:
        found["disk"] = free_disk(worker.local_directory)
        found["folder"] = worker.local_directory
    if out is not None and probe is not None:
        found["out"] = exchanged(out, probe, token)
    return found | {"began": began, "ended": time.time()}


def version_of(name: str) -> str | None:
    """A package's version, None where it is not installed, or why it cannot be loaded."""
    names = ("cupy", "cupy-cuda12x", "cupy-cuda13x", "cupy-cuda11x") if name == "cupy" else (name,)
    if name == "mgraph":  # perhaps not installed, but found all the same
        try:
            module = importlib.import_module(name)
            return str(getattr(module, "__version__", None) or f"another project's {module}")
        except ModuleNotFoundError:
            return None
        except Exception as error:
            return f"broken ({error})"
    for distribution in names:
        try:
            return importlib.metadata.version(distribution)
        except importlib.metadata.PackageNotFoundError:
            continue
    return None


def gpus() -> list[str]:
    """The names of the CUDA devices that this process sees; asks the driver, takes no memory."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return []
    count, device, name = ctypes.c_int(0), ctypes.c_int(0), ctypes.create_string_buffer(96)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return []
    names = []
    for number in range(count.value):
        driver.cuDeviceGet(ctypes.byref(device), number)
        driver.cuDeviceGetName(name, len(name), device)
        names.append(name.value.decode(errors="replace"))
    return names


def cores() -> dict[str, Any]:
    """The cores that this process may use, and why so many."""
    try:
        found = importlib.import_module("mgraph.core.host").measure_cores()
        return {"cores": int(found.amount), "cores_reason": str(found.reason)}
    except Exception:  # there is no mgraph, or another
        known = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
        return {"cores": known, "cores_reason": ""}


def memory(worker: Any) -> dict[str, Any]:
    """Bytes that a worker, or this process, may still take, and why so many; None: not known."""
    limit = getattr(getattr(worker, "memory_manager", None), "memory_limit", None)
    try:
        host = importlib.import_module("mgraph.core.host")
        found, left = host.measure_memory(), host.available_memory(limit)
        reason = found.reason if left >= found.amount else "of the worker's own limit"
        return {"memory": int(min(left, found.amount)), "memory_reason": str(reason)}
    except Exception:  # there is no mgraph, or another
        return {"memory": _free_of_machine(limit), "memory_reason": ""}


def _free_of_machine(limit: int | None) -> int | None:
    try:
        psutil = importlib.import_module("psutil")
        free = int(psutil.virtual_memory().available)
        if limit:
            free = min(free, max(0, int(limit) - int(psutil.Process().memory_info().rss)))
        return free
    except Exception:
        return None


def free_disk(folder: str) -> int | None:
    """Bytes free in the file system of a folder, or of the nearest above it that exists."""
    while not os.path.exists(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def exchanged(out: str, probe: str, token: str) -> dict[str, Any]:
    """Read the client's file in ``out``, and write one of our own for the client to see."""
    found: dict[str, Any] = {"free": None if "://" in out else free_disk(out)}
    deadline = time.monotonic() + LOOK_SECONDS
    while True:
        try:
            content = read(out, probe)
            found["sees"] = "" if content == token else "it holds something else"
        except Exception as error:
            found["sees"] = f"{type(error).__name__}: {error}"
        if not found["sees"] or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    mine = f"{probe}-{os.urandom(6).hex()}"
    try:
        if not found["sees"]:
            write(out, mine, token)
            found["wrote"] = mine
    except Exception as error:
        found["refused"] = f"{type(error).__name__}: {error}"
    return found


def opened(folder: str) -> tuple[Any, str]:
    """The file system of an address in a store, and the path in it: as mgraph opens it, if here."""
    try:
        address = importlib.import_module("mgraph.io.address").parse(folder)
        return importlib.import_module("mgraph.io.store").open_store(address), address.path
    except ImportError:
        found: tuple[Any, str] = importlib.import_module("pyarrow.fs").FileSystem.from_uri(folder)
        return found


def read(folder: str, name: str) -> str:
    """A small file of a folder, or of a URI that PyArrow knows."""
    if "://" not in folder:
        with open(os.path.join(folder, name)) as stream:
            return stream.read(1000)
    store, path = opened(folder)
    with store.open_input_stream(f"{path}/{name}") as stream:
        return str(stream.read(1000).decode())


def write(folder: str, name: str, content: str) -> None:
    """A new small file in a folder."""
    if "://" not in folder:
        with open(os.path.join(folder, name), "x") as stream:
            stream.write(content)
        return
    store, path = opened(folder)
    with store.open_output_stream(f"{path}/{name}") as stream:
        stream.write(content.encode())


def remove(folder: str, name: str) -> str:
    """Remove a file; returns why that did not work, or nothing."""
    try:
        if "://" in folder:
            store, path = opened(folder)
            store.delete_file(f"{path}/{name}")
        else:
            os.unlink(os.path.join(folder, name))
    except FileNotFoundError:
        pass
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""


async def try_kernel() -> dict[str, Any]:
    """Compile and run one of mgraph's kernels on this process's GPU."""
    return await asyncio.to_thread(tried_kernel)


def tried_kernel() -> dict[str, Any]:
    """``try_kernel``, in the caller's thread."""
    began = time.time()
    try:
        mgraph = importlib.import_module("mgraph")
        model = mgraph.CopyModel(1000, 4)
        same = model.edges(backend="gpu").checksum == model.edges(backend="cpu").checksum
        free = importlib.import_module("mgraph.cuda.memory").free_bytes()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    if not same:
        return {"error": "its edges are not those of a CPU"}
    return {"error": "", "seconds": time.time() - began, "free": int(free)}
