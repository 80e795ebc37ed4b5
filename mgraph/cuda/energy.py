"""Energy and power of a GPU, by NVIDIA's management library (NVML).

The counter counts millijoules since the driver was loaded (Volta and later). It moves in steps of
some 20 to 100 ms, so what is measured should last a second at least.
"""

import time
from typing import Any

from mgraph.errors import DeviceError


def _handle() -> Any:
    """NVML and its handle of the current device. Raises DeviceError where it offers nothing."""
    try:
        import cupy
        import pynvml
    except ImportError as error:
        raise DeviceError(f"energy is measured with CuPy and nvidia-ml-py ({error})") from error
    try:
        pynvml.nvmlInit()
        address = cupy.cuda.Device().pci_bus_id
        handle = pynvml.nvmlDeviceGetHandleByPciBusId(address.encode())
        pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    except pynvml.NVMLError as error:
        raise DeviceError(f"NVML tells no energy here: {error}") from error
    return pynvml, handle


class EnergyMeter:
    """Measures the energy of a ``with`` block on the current device, from the counter's edges.

    Afterwards ``joules``, ``seconds`` and ``watts`` (the mean) hold what was used. The device is
    synchronised at both ends. Raises DeviceError where NVML offers no energy counter.
    """

    def __init__(self) -> None:
        """Find the counter."""
        self._nvml, self._device = _handle()
        self.joules = self.seconds = 0.0

    @property
    def watts(self) -> float:
        """The mean power."""
        return self.joules / self.seconds if self.seconds else 0.0

    def _read(self) -> float:
        return float(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._device)) / 1000

    def __enter__(self) -> "EnergyMeter":
        """Begin."""
        import cupy

        cupy.cuda.Device().synchronize()
        self._began, self._joules = time.perf_counter(), self._read()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        import cupy

        cupy.cuda.Device().synchronize()
        self.joules = self._read() - self._joules
        self.seconds = time.perf_counter() - self._began


def idle_watts(seconds: float = 2.0) -> float:
    """The current device's mean power while this process asks nothing of it."""
    with EnergyMeter() as meter:
        time.sleep(seconds)
    return meter.watts
