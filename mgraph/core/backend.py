"""Which backends this process has.

``auto`` is decided by ``open_cluster`` (distributed/clusters/connect.py) for operations, and by
``_choose_backend`` of shortest_paths/sssp.py and steiner/steiner_tree.py for one query.
"""

import ctypes
import importlib.util

from mgraph.core.choices import Backend, Device, check_choice
from mgraph.errors import DeviceError
from mgraph.installation import install_command

BACKENDS = ("auto", "cpu", "gpu")


def gpu_count() -> int:
    """Count the CUDA devices that this process may use; 0 without CuPy, a driver or a device.

    The driver itself is queried, which takes no device memory and does not import CuPy.
    """
    if importlib.util.find_spec("cupy") is None:
        return 0
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return 0
    count = ctypes.c_int(0)
    if driver.cuInit(0) != 0 or driver.cuDeviceGetCount(ctypes.byref(count)) != 0:
        return 0
    return count.value


def resolve(backend: Backend) -> Device:
    """Turn ``auto`` into ``gpu`` where this process sees a device, else into ``cpu``.

    Raises UsageError for an unknown backend, DeviceError for ``gpu`` without a device.
    """
    check_choice("backend", backend, BACKENDS)
    if backend == "cpu":
        return "cpu"
    if gpu_count():
        return "gpu"
    if backend == "gpu":
        remedy = (
            f"on a machine with an NVIDIA GPU run {install_command('gpu')} (or gpu13), which "
            'installs CuPy; elsewhere pass `backend="cpu"`'
        )
        raise DeviceError(
            f"backend gpu was requested, and no CUDA device with CuPy is visible here; {remedy}",
            parameter="backend",
            remedy=remedy,
        )
    return "cpu"
