"""The clocks of a GPU's cores and memory, by NVIDIA's management library (NVML)."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from mgraph.cuda.energy import open_device
from mgraph.errors import DeviceError, UsageError


class Clocks(NamedTuple):
    """Frequencies of the cores and of the memory, in MHz."""

    core: int
    memory: int

    def __str__(self) -> str:
        """Return ``852/924``."""
        return f"{self.core}/{self.memory}"


def parse_clocks(text: str) -> Clocks:
    """Parse ``852/924``: MHz of the cores and of the memory. Raises UsageError."""
    core, _, memory = text.partition("/")
    try:
        clocks = Clocks(int(core), int(memory))
    except ValueError:
        clocks = Clocks(0, 0)
    if min(clocks) < 1:
        raise UsageError(f"clocks are two whole MHz, as in 1200/2619 (got {text!r})")
    return clocks


def read_clocks() -> Clocks:
    """Return the current device's clocks at this moment.

    Raises DeviceError if NVML has none for it.
    """
    nvml, device = open_device()
    try:
        core = nvml.nvmlDeviceGetClockInfo(device, nvml.NVML_CLOCK_SM)
        memory = nvml.nvmlDeviceGetClockInfo(device, nvml.NVML_CLOCK_MEM)
    except nvml.NVMLError as error:
        raise DeviceError(f"NVML has no clocks of this GPU: {error}") from error
    return Clocks(int(core), int(memory))


@contextlib.contextmanager
def locked_clocks(clocks: Clocks | None) -> Iterator[None]:
    """Fix the current device's clocks while the ``with`` block lasts; None: leave them alone.

    The device takes the nearest clocks that it has. Raises DeviceError where this process may not
    set them, or the GPU has no such setting; then they are as before.
    """
    if clocks is None:
        yield
        return
    nvml, device = open_device()
    with contextlib.ExitStack() as undone:
        _set(
            nvml, undone, nvml.nvmlDeviceSetGpuLockedClocks, nvml.nvmlDeviceResetGpuLockedClocks,
            device, clocks.core,
        )  # fmt: skip
        _set(
            nvml, undone, nvml.nvmlDeviceSetMemoryLockedClocks,
            nvml.nvmlDeviceResetMemoryLockedClocks, device, clocks.memory,
        )  # fmt: skip
        yield


def _set(
    nvml: Any, undone: contextlib.ExitStack, set_clock: Callable[..., Any],
    reset: Callable[..., Any], device: Any, megahertz: int,
) -> None:  # fmt: skip
    try:
        set_clock(device, megahertz, megahertz)
    except nvml.NVMLError as error:
        raise DeviceError(f"this GPU's clocks cannot be set here: {error}") from error
    undone.callback(reset, device)
