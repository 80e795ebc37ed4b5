"""Energy and power of a GPU, by NVIDIA's management library (NVML).

The counter counts millijoules since the driver was loaded (Volta and later). It is updated every 20
to 100 ms, so a measurement should last at least a second. Reading it takes milliseconds.
"""

import time
from typing import Any

from mgraph.errors import DeviceError
from mgraph.installation import install_command


def open_device() -> tuple[Any, Any]:
    """Return NVML and its handle of the current device; DeviceError without an energy counter."""
    try:
        import cupy
        import pynvml
    except ImportError as error:
        remedy = f"run {install_command('gpu')} (or gpu13)"
        raise DeviceError(
            f"energy is measured with CuPy and nvidia-ml-py ({error}); {remedy}", remedy=remedy
        ) from error
    try:
        pynvml.nvmlInit()
        address = cupy.cuda.Device().pci_bus_id
        handle = pynvml.nvmlDeviceGetHandleByPciBusId(address.encode())
        pynvml.nvmlDeviceGetTotalEnergyConsumption(handle)
    except pynvml.NVMLError as error:
        raise DeviceError(f"NVML has no energy counter for this GPU: {error}") from error
    return pynvml, handle


class EnergyMeter:
    """Measures the energy that the current device uses during a ``with`` block.

    Afterwards ``joules``, ``seconds`` and ``watts`` (the mean) hold the result. The device is
    synchronised at both ends. Raises DeviceError if NVML has no energy counter for the device.
    """

    def __init__(self) -> None:
        """Open the counter."""
        self._nvml, self._device = open_device()
        self.joules = self.seconds = 0.0
        self._start = self._last = (0.0, 0.0)

    @property
    def watts(self) -> float:
        """The mean power."""
        return self.joules / self.seconds if self.seconds else 0.0

    def _read_counter(self) -> tuple[float, float]:
        """Return joules since the driver was loaded, and seconds."""
        joules = self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._device) / 1000
        return joules, time.perf_counter()

    def lap(self) -> tuple[float, float]:
        """Return joules and seconds since the start of the block, or since the last lap."""
        previous, self._last = self._last, self._read_counter()
        return self._since(previous)

    def _since(self, start: tuple[float, float]) -> tuple[float, float]:
        return self._last[0] - start[0], self._last[1] - start[1]

    def __enter__(self) -> "EnergyMeter":
        """Start the measurement."""
        import cupy

        cupy.cuda.Device().synchronize()
        self._start = self._last = self._read_counter()
        return self

    def __exit__(self, *_: object) -> None:
        """End the measurement."""
        import cupy

        cupy.cuda.Device().synchronize()
        self._last = self._read_counter()
        self.joules, self.seconds = self._since(self._start)


def idle_watts(seconds: float = 2.0) -> float:
    """Measure the current device's mean power while this process leaves it idle."""
    with EnergyMeter() as meter:
        time.sleep(seconds)
    return meter.watts
