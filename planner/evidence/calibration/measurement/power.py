"""Power and clock of a GPU while it works, through NVML or nvidia-smi."""

from __future__ import annotations

import importlib
import shutil
import subprocess
import threading
from collections.abc import Callable
from statistics import mean
from typing import Any

from planner.base.numerals import is_digits

_EVERY_S = 0.1
Reading = tuple[float, float | None]


class PowerMeter:
    """Reads watts and hertz in a thread between `__enter__` and `__exit__`.

    Args:
        read: One reading: watts, and hertz or None.
        every_s: Seconds between readings.
    """

    def __init__(self, read: Callable[[], Reading], every_s: float = _EVERY_S) -> None:
        self._read = read
        self._every_s = every_s
        self._readings: list[Reading] = []
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @staticmethod
    def of(index: int, uuid: str) -> PowerMeter | None:
        """The meter of a device, or None where its power cannot be read."""
        for maker in (_nvml, _nvidia_smi):
            read = maker(index, uuid)
            if read is not None:
                return PowerMeter(read)
        return None

    def __enter__(self) -> PowerMeter:
        self._readings.clear()
        self._stop.clear()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._readings.append(self._read())
            except (RuntimeError, ValueError, OSError, subprocess.SubprocessError):
                return
            self._stop.wait(self._every_s)

    def mean(self) -> Reading | None:
        """Mean power and clock of the last use; None where nothing could be read."""
        if not self._readings:
            return None
        clocks = [clock for _, clock in self._readings if clock is not None]
        return mean(power for power, _ in self._readings), mean(clocks) if clocks else None


def _nvml(index: int, uuid: str) -> Callable[[], Reading] | None:
    """Readings through NVIDIA's management library, if it and its module are there."""
    try:
        nvml: Any = importlib.import_module("pynvml")
        nvml.nvmlInit()
        named = [f"GPU-{uuid.removeprefix('GPU-')}"] if uuid else []
        handle = None
        for name in named:
            try:
                handle = nvml.nvmlDeviceGetHandleByUUID(name)
                break
            except nvml.NVMLError:
                continue
        handle = handle or nvml.nvmlDeviceGetHandleByIndex(index)
        nvml.nvmlDeviceGetPowerUsage(handle)
    except Exception:  # the module raises what it likes where there is no driver
        return None

    def read() -> Reading:
        watts = float(nvml.nvmlDeviceGetPowerUsage(handle)) / 1e3
        return watts, float(nvml.nvmlDeviceGetClockInfo(handle, nvml.NVML_CLOCK_SM)) * 1e6

    return read


def _nvidia_smi(index: int, uuid: str) -> Callable[[], Reading] | None:
    """Readings through the command, if it is there and knows the power."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return None
    which = f"GPU-{uuid.removeprefix('GPU-')}" if uuid else str(index)
    command = [
        program, "-i", which, "--query-gpu=power.draw,clocks.sm", "--format=csv,noheader,nounits",
    ]  # fmt: skip

    def read() -> Reading:
        printed = subprocess.run(command, capture_output=True, text=True, timeout=10, check=True)
        watts, _, mhz = printed.stdout.strip().partition(",")
        return float(watts), float(mhz) * 1e6 if is_digits(mhz.strip().replace(".", "")) else None

    try:
        read()
    except (ValueError, OSError, subprocess.SubprocessError):
        return None
    return read
