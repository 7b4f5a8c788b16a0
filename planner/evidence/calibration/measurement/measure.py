"""Microbenchmarks of one device, about two minutes: multiplications, attention, copy, power.

What is measured is what the constants mean: large multiplications at the clock that the power
limit leaves (each runs for a second before it counts), causal attention forward and backward,
a copy of a large buffer, collectives where the program runs on several devices, and the power of
four states: idle, multiplying, copying, and waiting in a kernel that does nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from frozen_records import dataclass
from models_db import Model
from planner.base.progress import Progress
from planner.base.units import MIB
from planner.evidence.calibration.logs.gemm_log import GemmTime
from planner.evidence.calibration.logs.nccl_log import CollectiveTime

STATES = ("idle", "gemm", "copy", "wait")
"""States whose power is measured."""
_COPY_BYTES = 2048 * MIB
_COLLECTIVES = ("all_gather", "reduce_scatter", "all_reduce", "alltoall")
_SIZES = tuple(size * MIB for size in (0.0625, 1.0, 16.0, 256.0))
_TOKENS = 8192


class Device(Protocol):
    """One accelerator under measurement; times are means over many repetitions, in seconds.

    Attributes:
        name: As its driver calls it.
        dtype: The 16-bit format that is measured.
        ranks, nodes: Devices and hosts of the job that this one is part of.
    """

    name: str
    dtype: str
    ranks: int
    nodes: int

    def gemm_s(self, m: int, n: int, k: int) -> float:
        """Seconds of (m x k) @ (k x n)."""

    def attention_s(
        self, batch: int, heads: int, seq_len: int, head_dim: int, kernel: str
    ) -> float | None:
        """Seconds of causal attention, forward and backward; None where the kernel is missing.

        Args:
            batch: Sequences.
            heads: Query heads, as many of keys and values.
            seq_len: Tokens per sequence.
            head_dim: Dimension of a head.
            kernel: `flash` or `cudnn`.
        """

    def copy_s(self, size_bytes: float) -> float:
        """Seconds to copy a buffer of so many bytes within the device's memory."""

    def collective_s(self, collective: str, size_bytes: float) -> float:
        """Seconds of a collective over all ranks; see `nccl_log` for what `size_bytes` means."""

    def power(self, state: str, seconds: float) -> tuple[float, float | None] | None:
        """Mean watts and clock (Hz) of a state held for so long; None where it cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionTime:
    """Causal attention, forward and backward.

    Attributes:
        batch, heads, seq_len, head_dim: Its sizes.
        kernel: `flash` or `cudnn`.
        time_s: How long both passes took.
    """

    batch: int
    heads: int
    seq_len: int
    head_dim: int
    kernel: str
    time_s: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerReading:
    """Mean power of a state.

    Attributes:
        state: One of `STATES`.
        power_w: Mean power.
        clock_hz: Mean clock of the processing elements; None where it cannot be read.
    """

    state: str
    power_w: float
    clock_hz: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a device gave.

    Attributes:
        device: Its name.
        gemms: Multiplications.
        attention: Attention by kernel.
        copy_bytes_per_s: Bytes read and written per second by a copy.
        collectives: Collectives; empty on one device.
        power: Power by state; empty where it cannot be read.
    """

    device: str
    gemms: tuple[GemmTime, ...]
    attention: tuple[AttentionTime, ...]
    copy_bytes_per_s: float
    collectives: tuple[CollectiveTime, ...]
    power: tuple[PowerReading, ...]

    @property
    def count(self) -> int:
        """Measurements taken."""
        return len(self.gemms) + len(self.attention) + len(self.collectives) + len(self.power) + 1


def gemm_shapes(model: Model | None, *, quick: bool) -> list[tuple[int, int, int]]:
    """(m, n, k) of the multiplications: two cubes, an MLP, and, unless `quick`, what tells shapes.

    Args:
        model: Whose MLP is measured; default one of 4096 x 14336.
        quick: Only those three.
    """
    hidden, width = 4096, 14336
    if model is not None:
        hidden = int(model.hidden)
        inner = model.mlp.hidden or (model.moe.expert_hidden if model.moe else width)
        width = int(inner) * (2 if model.mlp.gated else 1)
    shapes = [(4096, 4096, 4096), (8192, 8192, 8192), (_TOKENS, width, hidden)]
    if not quick:
        shapes += [(2048, 2048, 2048), (8192, 8192, 512), (8192, 512, 8192), (1024, 1024, 1024)]
    return list(dict.fromkeys(shapes))


def measure(
    device: Device,
    model: Model | None = None,
    *,
    quick: bool = False,
    on_progress: Progress | None = None,
) -> Measured:
    """Everything, one after the other.

    Args:
        device: The device.
        model: Whose MLP and attention are measured; default those of an 8-billion model.
        quick: Fewer shapes, shorter power readings.
        on_progress: Called with (what, done, of).
    """
    shapes = gemm_shapes(model, quick=quick)
    kernels = ("flash",) if quick else ("flash", "cudnn")
    sizes = _SIZES if device.ranks > 1 else ()
    pairs = [(name, size) for name in _COLLECTIVES for size in sizes]
    of = len(shapes) + len(kernels) + 1 + len(pairs) + len(STATES)
    done = 0

    def step(what: str) -> None:
        nonlocal done
        if on_progress is not None:
            on_progress(what, done, of)
        done += 1

    gemms = _gemms(device, shapes, step)
    attention = []
    for kernel in kernels:
        step("attention")
        attention += _attention(device, model, kernel)
    step("memory")
    copy_s = device.copy_s(_COPY_BYTES)
    return Measured(
        device=device.name,
        gemms=tuple(gemms),
        attention=tuple(attention),
        copy_bytes_per_s=2 * _COPY_BYTES / copy_s,
        collectives=tuple(_collectives(device, pairs, step)),
        power=tuple(_power(device, 3.0 if quick else 8.0, step)),
    )


def _gemms(
    device: Device, shapes: Sequence[tuple[int, int, int]], step: Callable[[str], None]
) -> list[GemmTime]:
    found = []
    for m, n, k in shapes:
        step("matrix multiplications")
        time_s = device.gemm_s(m, n, k)
        found.append(GemmTime(m=m, n=n, k=k, dtype=device.dtype, time_s=time_s))
    return found


def _collectives(
    device: Device, pairs: Sequence[tuple[str, float]], step: Callable[[str], None]
) -> list[CollectiveTime]:
    found = []
    for name, size in pairs:
        step("collectives")
        time_s = device.collective_s(name, size)
        found.append(
            CollectiveTime(
                collective=name,
                ranks=device.ranks,
                nodes=device.nodes,
                size_bytes=size,
                time_s=time_s,
            )
        )
    return found


def _attention(device: Device, model: Model | None, kernel: str) -> list[AttentionTime]:
    heads, head_dim, seq_len = 32, 128, 4096
    if model is not None and model.heads:
        heads, head_dim = int(model.heads), int(model.head_dim)
        seq_len = min(int(model.seq_len), 8192)
    batch = max(1, _TOKENS // seq_len)
    time_s = device.attention_s(batch, heads, seq_len, head_dim, kernel)
    if time_s is None:
        return []
    return [
        AttentionTime(
            batch=batch,
            heads=heads,
            seq_len=seq_len,
            head_dim=head_dim,
            kernel=kernel,
            time_s=time_s,
        )
    ]


def _power(device: Device, seconds: float, step: Callable[[str], None]) -> Sequence[PowerReading]:
    readings = []
    for state in STATES:
        step("power")
        found = device.power(state, seconds)
        if found is not None:
            readings.append(PowerReading(state=state, power_w=found[0], clock_hz=found[1]))
    return readings
