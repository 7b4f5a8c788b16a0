"""A GPU measured through PyTorch, which is needed only for this."""

from __future__ import annotations

import importlib
import os
import time
import warnings
from collections.abc import Callable
from typing import Any

from planner.base.errors import InputError
from planner.base.libraries import library
from planner.evidence.calibration.measurement.power import PowerMeter

_WARM_S = 1.0  # a kernel runs so long before it counts: clocks and power settle
_LEAST_S = 0.5
_MOST_CALLS = 20_000
_SPIN_CYCLES = 50_000_000
_SETTLE_S = 1.5  # power sensors average over about a second
_COOL_S = 5.0  # until clocks have fallen


def open_device() -> TorchDevice:
    """The GPU of this process; under torchrun, the one of its local rank.

    Raises:
        InputError: PyTorch or a GPU is missing.
    """
    torch = library(
        "torch",
        "measure: PyTorch is not installed; install it, or give logs with --gemm and --nccl",
    )
    if not torch.cuda.is_available():
        raise InputError(
            "measure: PyTorch finds no GPU here; run it on a machine that has one, or give logs "
            "with --gemm and --nccl"
        )
    return TorchDevice(torch)


class TorchDevice:
    """The `Device` of `planner.evidence.calibration.measurement.measure` on CUDA and ROCm.

    Args:
        torch: The module; passed in so that tests can stand in for it.
    """

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self.rank = int(os.environ.get("RANK", "0"))
        self.ranks = int(os.environ.get("WORLD_SIZE", "1"))
        self.nodes = max(1, self.ranks // int(os.environ.get("LOCAL_WORLD_SIZE", self.ranks)))
        local = int(os.environ.get("LOCAL_RANK", "0"))
        torch.cuda.set_device(local)
        if self.ranks > 1:
            torch.distributed.init_process_group("nccl")
        properties = torch.cuda.get_device_properties(local)
        self.name = str(torch.cuda.get_device_name(local))
        wide = torch.cuda.get_device_capability(local)[0] >= 8
        self.dtype = "bf16" if wide else "fp16"
        self._format = torch.bfloat16 if wide else torch.float16
        self._meter = PowerMeter.of(local, str(getattr(properties, "uuid", "")))

    def close(self) -> None:
        """Leaves the job that torchrun started."""
        if self.ranks > 1:
            self._torch.distributed.destroy_process_group()

    def gemm_s(self, m: int, n: int, k: int) -> float:
        """See `Device`."""
        a, b = self._random(m, k), self._random(k, n)
        out = self._torch.empty(m, n, dtype=self._format, device="cuda")
        return self._seconds(lambda: self._torch.mm(a, b, out=out))

    def attention_s(
        self, batch: int, heads: int, seq_len: int, head_dim: int, kernel: str
    ) -> float | None:
        """See `Device`."""
        torch = self._torch
        attention = importlib.import_module("torch.nn.attention")
        names = {"flash": "FLASH_ATTENTION", "cudnn": "CUDNN_ATTENTION"}
        backend = getattr(attention.SDPBackend, names[kernel], None)
        if backend is None:
            return None
        shape = (batch, heads, seq_len, head_dim)
        q, k, v = (self._random(*shape).requires_grad_() for _ in range(3))
        gradient = self._random(*shape)

        def both() -> None:
            product = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
            torch.autograd.grad(product, (q, k, v), gradient)

        try:
            with warnings.catch_warnings(), attention.sdpa_kernel(backend):
                warnings.simplefilter("ignore")  # PyTorch lists why other kernels are not used
                return self._seconds(both)
        except RuntimeError:  # this kernel does not exist for the device or the shape
            return None

    def copy_s(self, size_bytes: float) -> float:
        """See `Device`."""
        free = self._torch.cuda.mem_get_info()[0]
        used = int(min(size_bytes, free / 4)) // 4 * 4
        source = self._torch.empty(used // 4, dtype=self._torch.int32, device="cuda").zero_()
        target = self._torch.empty_like(source)
        return self._seconds(lambda: target.copy_(source)) * size_bytes / used

    def collective_s(self, collective: str, size_bytes: float) -> float:
        """See `Device`; every rank of the job must call it."""
        dist, per_rank = self._torch.distributed, int(size_bytes) // 2 // self.ranks
        whole = self._random(per_rank * self.ranks)
        part = self._random(per_rank)
        other = self._torch.empty_like(whole)
        calls: dict[str, Callable[[], object]] = {
            "all_reduce": lambda: dist.all_reduce(whole),
            "all_gather": lambda: dist.all_gather_into_tensor(whole, part),
            "reduce_scatter": lambda: dist.reduce_scatter_tensor(part, whole),
            "alltoall": lambda: dist.all_to_all_single(other, whole),
        }
        return self._seconds(calls[collective], calls_fixed=50)

    def power(self, state: str, seconds: float) -> tuple[float, float | None] | None:
        """See `Device`."""
        if self._meter is None:
            return None
        work = self._work(state)
        self._busy(work, _COOL_S if work is None else _SETTLE_S)
        with self._meter as meter:
            self._busy(work, seconds)
        return meter.mean()

    def _work(self, state: str) -> Callable[[], object] | None:
        """Something that takes milliseconds and keeps the device in a state; None: nothing."""
        torch = self._torch
        if state == "gemm":
            a, b = self._random(8192, 8192), self._random(8192, 8192)
            out = torch.empty_like(a)
            return lambda: torch.mm(a, b, out=out)
        if state == "copy":
            source = self._random(2**28)
            target = torch.empty_like(source)
            return lambda: target.copy_(source)
        if state == "wait":
            return lambda: torch.cuda._sleep(_SPIN_CYCLES)
        return None

    def _busy(self, work: Callable[[], object] | None, seconds: float) -> None:
        self._torch.cuda.synchronize()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if work is None:
                time.sleep(0.05)
                continue
            for _ in range(8):
                work()
            self._torch.cuda.synchronize()

    def _random(self, *shape: int) -> Any:
        return self._torch.randn(*shape, dtype=self._format, device="cuda")

    def _seconds(self, call: Callable[[], object], calls_fixed: int | None = None) -> float:
        """Mean seconds of a call: the median of five batches of at least a tenth of a second.

        Args:
            call: Launches the work.
            calls_fixed: Calls per batch, where all ranks must make the same number.
        """
        torch = self._torch
        for _ in range(3):
            call()
        torch.cuda.synchronize()
        once = self._timed(call, 3) / 3
        count = calls_fixed or min(_MOST_CALLS, max(3, int(_LEAST_S / 5 / once)))
        if calls_fixed is None:
            self._timed(call, min(_MOST_CALLS, max(3, int(_WARM_S / once))))
        batches = sorted(self._timed(call, count) / count for _ in range(5))
        return batches[2]

    def _timed(self, call: Callable[[], object], count: int) -> float:
        """Seconds of so many calls, by the device's own clock."""
        start, end = (self._torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(count):
            call()
        end.record()
        self._torch.cuda.synchronize()
        return float(start.elapsed_time(end)) / 1e3
