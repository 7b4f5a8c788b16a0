"""What a profiler trace says of the time of a step: kernels by kind, collectives, idling.

Time is divided without counting any of it twice. A moment in which kernels of several streams run
belongs to the first of multiplication, attention, other kernels, collective; the seconds of
collectives that are left are those that nothing hides. What no kernel fills is idle: launches,
the host, other ranks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.base.units import plural

COMMUNICATION, ATTENTION, GEMM, OTHER = "communication", "attention", "gemm", "other"
_KINDS = (
    (COMMUNICATION, r"nccl|rccl|nvshmem|deep_?ep|^gloo:|^c10d::"),
    (ATTENTION, r"flash|fmha|sdpa|scaled_dot_product|_attention|attn_|mha_"),
    (GEMM, r"gemm|gemv|nvjet|cutlass|xmma|wgmma|^Cijk_|matmul|"
           r"^aten::(?:add|b|badd)?b?mm(?:_|$)|^aten::linear$"),
)  # fmt: skip
"""Kinds of kernels by their names, the first that fits; names of cuBLAS, cuDNN, CUTLASS,
FlashAttention, Transformer Engine, Tensile and PyTorch's own."""
MOST_DEVICES = 1024
"""Of a trace, which is of one node."""
_ROUNDING = 1e-6
_ORDER = (COMMUNICATION, ATTENTION, GEMM, OTHER)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spans:
    """Kernels of one device.

    Attributes:
        kinds: (n,) as `kinds_of` gives them.
        start_s, end_s: (n,) seconds, from any origin.
    """

    kinds: IntArray
    start_s: FloatArray
    end_s: FloatArray

    def by_clock(self, at_s: FloatArray, shows_s: FloatArray) -> Spans:
        """The kernels by a clock, which stands still before the first and behind the last time.

        Args:
            at_s: (n,) times, ascending.
            shows_s: (n,) what the clock shows at them; between two of them it goes evenly.
        """
        return replace(
            self,
            start_s=np.interp(self.start_s, at_s, shows_s),
            end_s=np.interp(self.end_s, at_s, shows_s),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceTime:
    """Seconds of one step on one device.

    Attributes:
        gemm_s, attention_s, other_s: Kernels; an element-wise one beside a multiplication is free.
        communication_s: Collectives, hidden or not.
        exposed_s: Collectives while no other kernel runs.
        idle_s: No kernel runs.
    """

    gemm_s: float
    attention_s: float
    other_s: float
    communication_s: float
    exposed_s: float
    idle_s: float

    @property
    def step_s(self) -> float:
        """The whole step."""
        return self.gemm_s + self.attention_s + self.other_s + self.exposed_s + self.idle_s


def kind_of(name: str) -> str:
    """The kind of a kernel.

    >>> kind_of("ncclDevKernel_AllGather_RING_LL"), kind_of("nvjet_tst_192x192_64x4_2x1_v_bz_TNN")
    ('communication', 'gemm')
    >>> kind_of("void flash_fwd_kernel<...>"), kind_of("vectorized_elementwise_kernel")
    ('attention', 'other')
    """
    return next((kind for kind, words in _KINDS if re.search(words, name)), OTHER)


def kinds_of(names: Sequence[str]) -> IntArray:
    """(n,) the kinds of n kernels as whole numbers; each different name is looked at once."""
    by_name = {name: _ORDER.index(kind_of(name)) for name in set(names)}
    return np.array([by_name[name] for name in names], dtype=np.int64)


def device_time(spans: Spans, label: str, steps: int, window_s: float | None = None) -> DeviceTime:
    """The time of a step from the kernels of some steps.

    Args:
        spans: Kernels.
        label: What messages call the trace.
        steps: Steps that they are of.
        window_s: How long the steps took; None: from the first kernel to the last.

    Raises:
        InputError: There is no kernel, or none that takes time, or they take longer than the steps.
    """
    if not (spans.end_s > spans.start_s).any():
        raise InputError(f"{label}: has no kernel")

    def length(*wanted: str) -> float:
        at = np.isin(spans.kinds, [_ORDER.index(kind) for kind in wanted])
        return _covered_s(spans.start_s[at], spans.end_s[at]) / steps

    gemm, dense, compute = length(GEMM), length(GEMM, ATTENTION), length(GEMM, ATTENTION, OTHER)
    busy = length(GEMM, ATTENTION, OTHER, COMMUNICATION)
    whole = float(spans.end_s.max() - spans.start_s.min()) if window_s is None else window_s
    if busy * steps > whole * (1 + _ROUNDING):
        raise InputError(
            f"{label}: kernels take {busy * steps:.6g} s, its {plural(steps, 'step')} {whole:.6g} s"
        )
    return DeviceTime(
        gemm_s=gemm,
        attention_s=dense - gemm,
        other_s=compute - dense,
        communication_s=length(COMMUNICATION),
        exposed_s=busy - compute,
        idle_s=max(whole / steps - busy, 0.0),
    )


def mean_time(times: Sequence[DeviceTime]) -> DeviceTime:
    """The mean over devices, at least one."""
    names = DeviceTime.__dataclass_fields__
    return DeviceTime(**{n: sum(getattr(one, n) for one in times) / len(times) for n in names})


def _covered_s(start: FloatArray, end: FloatArray) -> float:
    """Length of the union of intervals."""
    if not len(start):
        return 0.0
    order = np.argsort(start)
    start, end = start[order], end[order]
    before = np.concatenate([[-np.inf], np.maximum.accumulate(end)[:-1]])
    return float(np.maximum(end - np.maximum(start, before), 0.0).sum())
