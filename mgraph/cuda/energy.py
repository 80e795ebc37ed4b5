"""Energy and power of a GPU, by NVIDIA's management library (NVML).

The counter counts millijoules since the driver was loaded (Volta and later). It moves in steps of
some 20 to 100 ms, so what is measured should last a second at least; to read it takes milliseconds.
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
    """Measures the energy of a ``with`` block on the current device.

    Afterwards ``joules``, ``seconds`` and ``watts`` (the mean) hold what was used. The device is
    synchronised at both ends. Raises DeviceError where NVML offers no energy counter.
    """

    def __init__(self) -> None:
        """Find the counter."""
        self._nvml, self._device = _handle()
        self.joules = self.seconds = 0.0
        self._begun = self._last = (0.0, 0.0)

    @property
    def watts(self) -> float:
        """The mean power."""
        return self.joules / self.seconds if self.seconds else 0.0

    def _now(self) -> tuple[float, float]:
        """Joules since the driver was loaded, and seconds."""
        joules = self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._device) / 1000
        return joules, time.perf_counter()

    def lap(self) -> tuple[float, float]:
        """Joules and seconds since the block began, or since the last lap."""
        before, self._last = self._last, self._now()
        return self._since(before)

    def _since(self, mark: tuple[float, float]) -> tuple[float, float]:
        return self._last[0] - mark[0], self._last[1] - mark[1]

    def __enter__(self) -> "EnergyMeter":
        """Begin."""
        import cupy

        cupy.cuda.Device().synchronize()
        self._begun = self._last = self._now()
        return self

    def __exit__(self, *_: object) -> None:
        """End."""
        import cupy

        cupy.cuda.Device().synchronize()
        self._last = self._now()
        self.joules, self.seconds = self._since(self._begun)


def idle_watts(seconds: float = 2.0) -> float:
    """The current device's mean power while this process asks nothing of it."""
    with EnergyMeter() as meter:
        time.sleep(seconds)
    return meter.watts
