"""The functions that ``mgraph doctor`` runs in the processes of a cluster.

They are pickled with their code, since a worker may have another mgraph or none. So they import
the standard library alone, and anything else inside a ``try``; and they return built-in types.
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
SEE_SECONDS = 4.0  # a network file system may show a new file late


async def probe_process(
    out: str | None = None,
    probe: str | None = None,
    token: str = "",
    dask_worker: Any = None,
    dask_scheduler: Any = None,
) -> dict[str, Any]:
    """Return the figures of this process.

    probe: the name of a file in the folder ``out``, into which the client wrote ``token``. A file
    system that hangs blocks a thread, not the process.
    """
    return await asyncio.to_thread(probe_here, out, probe, token, dask_worker)


def probe_here(
    out: str | None = None, probe: str | None = None, token: str = "", worker: Any = None
) -> dict[str, Any]:
    """Do the work of ``probe_process``, in the caller's thread."""
    began = time.time()
    figures = {
        "python": ".".join(map(str, sys.version_info[:3])),
        "packages": {name: version_of(name) for name in PACKAGES},
        **cores(),
        **memory(worker),
        "gpus": gpus(),
    }
    if worker is not None:
        figures["disk"] = free_disk(worker.local_directory)
        figures["folder"] = worker.local_directory
    if out is not None and probe is not None:
        figures["out"] = exchange_files(out, probe, token)
    return figures | {"began": began, "ended": time.time()}


def version_of(name: str) -> str | None:
    """Return a package's version, None if it is not installed, or why it cannot be imported."""
    names = ("cupy", "cupy-cuda12x", "cupy-cuda13x", "cupy-cuda11x") if name == "cupy" else (name,)
    if name == "mgraph":  # it may be on the path without being installed
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
    """Return the names of the visible CUDA devices, from the driver, without device memory."""
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
    """Return the number of cores that this process may use, and the reason."""
    try:
        measured = importlib.import_module("mgraph.core.host").measure_cores()
        return {"cores": int(measured.amount), "cores_reason": str(measured.reason)}
    except Exception:  # mgraph is not installed, or another version
        allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0
        return {"cores": allowed, "cores_reason": ""}


def memory(worker: Any) -> dict[str, Any]:
    """Return the bytes that a worker, or this process, may still use (None: unknown), and why."""
    limit = getattr(getattr(worker, "memory_manager", None), "memory_limit", None)
    try:
        measured = importlib.import_module("mgraph.core.host").measure_memory(limit)
        return {"memory": int(measured.amount), "memory_reason": str(measured.reason)}
    except Exception:  # mgraph is not installed, or another version
        return {"memory": _free_memory(limit), "memory_reason": ""}


def _free_memory(limit: int | None) -> int | None:
    try:
        psutil = importlib.import_module("psutil")
        free = int(psutil.virtual_memory().available)
        if limit:
            free = min(free, max(0, int(limit) - int(psutil.Process().memory_info().rss)))
        return free
    except Exception:
        return None


def free_disk(folder: str) -> int | None:
    """Return the free bytes in the file system of a folder, or of its nearest existing parent."""
    while not os.path.exists(folder) and os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
    try:
        return shutil.disk_usage(folder).free
    except OSError:
        return None


def exchange_files(out: str, probe: str, token: str) -> dict[str, Any]:
    """Read the client's file in ``out``, and write a file for the client to read.

    unseen: why the client's file was not read, or empty. wrote: the file's name. refused: why it
    was not written.
    """
    result: dict[str, Any] = {"free": None if "://" in out else free_disk(out)}
    deadline = time.monotonic() + SEE_SECONDS
    while True:
        try:
            content = read(out, probe)
            result["unseen"] = "" if content == token else "it has other content"
        except Exception as error:
            result["unseen"] = f"{type(error).__name__}: {error}"
        if not result["unseen"] or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    own_name = f"{probe}-{os.urandom(6).hex()}"
    try:
        if not result["unseen"]:
            write(out, own_name, token)
            result["wrote"] = own_name
    except Exception as error:
        result["refused"] = f"{type(error).__name__}: {error}"
    return result


def open_store(folder: str) -> tuple[Any, str]:
    """Open an address's file system, as mgraph does if it is installed; also returns the path."""
    try:
        address = importlib.import_module("mgraph.io.address").parse(folder)
        return importlib.import_module("mgraph.io.store").open_store(address), address.path
    except ImportError:
        opened: tuple[Any, str] = importlib.import_module("pyarrow.fs").FileSystem.from_uri(folder)
        return opened


def read(folder: str, name: str) -> str:
    """Return the text of a small file in a folder, or in a store that PyArrow can open."""
    if "://" not in folder:
        with open(os.path.join(folder, name)) as stream:
            return stream.read(1000)
    store, path = open_store(folder)
    with store.open_input_stream(f"{path}/{name}") as stream:
        return str(stream.read(1000).decode())


def write(folder: str, name: str, content: str) -> None:
    """Write a new small file into a folder."""
    if "://" not in folder:
        with open(os.path.join(folder, name), "x") as stream:
            stream.write(content)
        return
    store, path = open_store(folder)
    with store.open_output_stream(f"{path}/{name}") as stream:
        stream.write(content.encode())


def remove(folder: str, name: str) -> str:
    """Remove a file; returns why that failed, or an empty text."""
    try:
        if "://" in folder:
            store, path = open_store(folder)
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
    return await asyncio.to_thread(try_kernel_here)


def try_kernel_here() -> dict[str, Any]:
    """Do the work of ``try_kernel``, in the caller's thread."""
    began = time.time()
    try:
        mgraph = importlib.import_module("mgraph")
        model = mgraph.CopyModel(1000, 4)
        is_equal = model.edges(backend="gpu").checksum == model.edges(backend="cpu").checksum
        free = importlib.import_module("mgraph.cuda.memory").free_bytes()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    if not is_equal:
        return {"error": "its edges differ from those of the CPU"}
    return {"error": "", "seconds": time.time() - began, "free": int(free)}
